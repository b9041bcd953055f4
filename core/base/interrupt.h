#pragma once

#include <stdexcept>

namespace moeblaze {

/// Thrown out of long work once the user asked to stop; programs print what they have and exit with kExitInterrupted.
class Interrupted : public std::runtime_error {
 public:
  Interrupted() : std::runtime_error("interrupted") {}
};

inline constexpr int kExitInterrupted = 130;

/// While it lives, the first Ctrl-C (or termination) is only noted; the next one ends the program as usual.
class InterruptWatch {
 public:
  InterruptWatch();
  ~InterruptWatch();
  InterruptWatch(const InterruptWatch&) = delete;
  InterruptWatch& operator=(const InterruptWatch&) = delete;

  static bool requested();
  /// The same, and the request counts as heard: what saves the work done so far is not to be stopped by it.
  static bool acknowledge();
  /// Throws Interrupted once a stop was requested.
  static void check() {
    if (requested()) throw Interrupted();
  }
};

}  // namespace moeblaze
