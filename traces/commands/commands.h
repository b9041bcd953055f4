#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <ostream>

namespace moeblaze {

/// What runs when a command was chosen. Each function below adds its command to the program and returns it.
using TraceCommand = std::function<void(std::ostream& out)>;

TraceCommand addInfo(CLI::App& app);
TraceCommand addExport(CLI::App& app);
TraceCommand addImport(CLI::App& app);
TraceCommand addDiff(CLI::App& app);
TraceCommand addBench(CLI::App& app);

/// The main function of moeblaze-trace, which tests can call too. Returns the exit status.
int runTraces(int argc, const char* const* argv, std::ostream& out, std::ostream& err);

}  // namespace moeblaze
