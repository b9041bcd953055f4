#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <ostream>
#include <string>
#include <vector>

namespace moeblaze::profiler {

/// Runs a command and returns the program's exit status.
using ProfilerCommand = std::function<int(std::ostream& out)>;

/// Each of these adds a command to the program and returns what to run when the user chose it.
ProfilerCommand addRun(CLI::App& app);
ProfilerCommand addValidate(CLI::App& app);
/// `program` is the command line of the program to record: the words after --.
ProfilerCommand addRecord(CLI::App& app, std::vector<std::string> program);
ProfilerCommand addDoctor(CLI::App& app);
ProfilerCommand addBench(CLI::App& app);

/// The main function of moeblaze-prof, callable from tests. Returns the exit status.
int runProfiler(int argc, const char* const* argv, std::ostream& out, std::ostream& err);

}  // namespace moeblaze::profiler
