#pragma once

#include <functional>
#include <string>
#include <vector>

namespace moeblaze::profiler {

/// How a program ended: its exit status, or 128 and the signal that killed it.
struct Ended {
  int status = 0;
  int signal = 0;  ///< 0: it exited
  int32_t pid = 0;
};

/// Starts `command` with `environment(pid)` added to this process's and waits until it has ended; a Ctrl-C is the
/// program's to act on, requests to terminate or to hang up are passed on. `tick` is called about four times a second.
/// Throws InputError when the program cannot be started.
Ended launch(const std::vector<std::string>& command,
             const std::function<std::vector<std::string>(int32_t pid)>& environment,
             const std::function<void()>& tick);

}  // namespace moeblaze::profiler
