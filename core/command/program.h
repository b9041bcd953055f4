#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <ostream>
#include <string>

namespace moeblaze {

/// Parses the command line and runs `body`. Returns the exit status: 0, 2 for wrong input or options, 3 for a missing
/// device or permission, 130 when interrupted, 1 for an internal error. Whatever goes wrong is told in one line on
/// `err`. Help and version return 0.
int runProgram(CLI::App& app, int argc, const char* const* argv, std::ostream& out, std::ostream& err,
               const std::function<void()>& body);

/// Adds --version to `app`. It also says which optional libraries this build has.
void addVersion(CLI::App& app);

/// The whole number in [low, high] that an option's text is. Throws InputError, which names the option.
int64_t parseCount(const std::string& option, const std::string& text, int64_t low, int64_t high);

}  // namespace moeblaze
