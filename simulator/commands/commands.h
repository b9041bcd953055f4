#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <ostream>

namespace moeblaze {

/// A command adds itself to the program and returns what to run when it was chosen.
using CommandBody = std::function<void(std::ostream& out)>;

CommandBody addSimulate(CLI::App& app);
CommandBody addCompare(CLI::App& app);
CommandBody addPaper(CLI::App& app);
CommandBody addList(CLI::App& app);

/// moeblaze-sim's main, callable from tests.
int runSimulator(int argc, const char* const* argv, std::ostream& out, std::ostream& err);

}  // namespace moeblaze
