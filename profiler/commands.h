#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <ostream>

namespace moeblaze::profiler {

/// A command adds itself to the program and returns what to run when it was chosen: the program's exit status.
using ProfilerCommand = std::function<int(std::ostream& out)>;

ProfilerCommand addRun(CLI::App& app);
ProfilerCommand addValidate(CLI::App& app);
ProfilerCommand addRecord(CLI::App& app);
ProfilerCommand addDoctor(CLI::App& app);
ProfilerCommand addBench(CLI::App& app);

/// moeblaze-prof's main, callable from tests.
int runProfiler(int argc, const char* const* argv, std::ostream& out, std::ostream& err);

}  // namespace moeblaze::profiler
