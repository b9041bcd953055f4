#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <ostream>
#include <string>
#include <vector>

namespace moeblaze::profiler {

/// A command adds itself to the program and returns what to run when it was chosen: the program's exit status.
using ProfilerCommand = std::function<int(std::ostream& out)>;

ProfilerCommand addRun(CLI::App& app);
ProfilerCommand addValidate(CLI::App& app);
/// `program` is what stood after --, which is not this program's to parse.
ProfilerCommand addRecord(CLI::App& app, std::vector<std::string> program);
ProfilerCommand addDoctor(CLI::App& app);
ProfilerCommand addBench(CLI::App& app);

/// moeblaze-prof's main, callable from tests.
int runProfiler(int argc, const char* const* argv, std::ostream& out, std::ostream& err);

}  // namespace moeblaze::profiler
