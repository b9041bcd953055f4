#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <ostream>
#include <string>

namespace moeblaze {

/// What a program runs when the user chose a command.
using CommandBody = std::function<void(std::ostream& out)>;

/// Adds a command to the program `app` and returns its body. `Options` is default-constructible; its member function
/// addTo(CLI::App&) declares the command's options, and `run` gets their values.
template <typename Options>
CommandBody addCommand(CLI::App& app, const std::string& name, const std::string& help,
                       void (*run)(const Options& options, std::ostream& out)) {
  const auto options = std::make_shared<Options>();
  options->addTo(*app.add_subcommand(name, help));
  return [options, run](std::ostream& out) { run(*options, out); };
}

}  // namespace moeblaze
