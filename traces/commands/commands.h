#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <ostream>

namespace moeblaze {

/// A command adds itself to the program and returns what to run when it was chosen.
using TraceCommand = std::function<void(std::ostream& out)>;

TraceCommand addInfo(CLI::App& app);
TraceCommand addExport(CLI::App& app);
TraceCommand addImport(CLI::App& app);
TraceCommand addDiff(CLI::App& app);
TraceCommand addBench(CLI::App& app);

/// moeblaze-trace's main, callable from tests.
int runTraces(int argc, const char* const* argv, std::ostream& out, std::ostream& err);

}  // namespace moeblaze
