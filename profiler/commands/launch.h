#pragma once

#include <functional>
#include <string>
#include <vector>

namespace moeblaze::profiler {

/// How a program ended.
struct Ended {
  int status = 0;   ///< its exit status, or 128 plus the signal that killed it
  int signal = 0;   ///< 0: it exited by itself
  int32_t pid = 0;  ///< its process number
};

/// Starts `command` and waits until it has ended. Its environment is this process's plus the "NAME=value" texts of
/// `environment(pid)`. Ctrl-C reaches the program directly, and this process ignores it; a request to terminate or to
/// hang up is passed on to the program. Calls `tick` about four times a second. Throws InputError when the program
/// cannot be started.
Ended launch(const std::vector<std::string>& command,
             const std::function<std::vector<std::string>(int32_t pid)>& environment,
             const std::function<void()>& tick);

}  // namespace moeblaze::profiler
