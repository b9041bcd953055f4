#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <ostream>
#include <string>

namespace moeblaze {

/// Parses the command line, runs `body` and turns whatever goes wrong into one line on `err` and the design's exit
/// status: 2 for wrong input, options included, 3 for a missing device or permission, 130 when interrupted. Help and
/// version exit 0.
int runProgram(CLI::App& app, int argc, const char* const* argv, std::ostream& out, std::ostream& err,
               const std::function<void()>& body);

/// Gives `app` its --version, which also says what this build found and lacks.
void addVersion(CLI::App& app);

/// A whole number in [low, high] from an option's text; throws InputError naming the option.
int64_t parseCount(const std::string& option, const std::string& text, int64_t low, int64_t high);

}  // namespace moeblaze
