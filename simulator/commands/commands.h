#pragma once

#include "core/command/command.h"

namespace moeblaze {

/// The main function of moeblaze-sim, which tests call too.
int runSimulator(int argc, const char* const* argv, std::ostream& out, std::ostream& err);

/// Adds `simulate`: what one system's layer needs, and when.
CommandBody addSimulate(CLI::App& app);
/// Adds `compare`: systems side by side.
CommandBody addCompare(CLI::App& app);
/// Adds `paper`: the shapes of the MoEBlaze paper beside its printed figures and measured peers.
CommandBody addPaper(CLI::App& app);
/// Adds `list`: the built-in configs, systems or machines.
CommandBody addList(CLI::App& app);

}  // namespace moeblaze
