#pragma once

#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

namespace moeblaze {

/// What a program printed, and its exit status.
struct Ran {
  int status = 0;
  std::string out, err;

  nlohmann::json json() const { return nlohmann::json::parse(out); }
};

/// Runs `program`, which has the form of a main function with streams, in this process. `name` is its argv[0].
template <typename Program>
Ran run(Program program, const std::string& name, const std::vector<std::string>& arguments) {
  std::vector<const char*> argv{name.c_str()};
  for (const std::string& argument : arguments) argv.push_back(argument.c_str());
  std::ostringstream out, err;
  const int status = program(static_cast<int>(argv.size()), argv.data(), out, err);
  return {status, out.str(), err.str()};
}

}  // namespace moeblaze
