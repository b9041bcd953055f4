#pragma once

#include <stdexcept>

namespace moeblaze {

/// Ends long work after the user asked to stop. Programs print what they have and exit with kExitInterrupted.
class Interrupted : public std::runtime_error {
 public:
  Interrupted() : std::runtime_error("interrupted") {}
};

inline constexpr int kExitInterrupted = 130;

/// While an InterruptWatch lives, the first SIGINT (Ctrl-C) or SIGTERM is only noted. The next one ends the program.
class InterruptWatch {
 public:
  InterruptWatch();
  ~InterruptWatch();
  InterruptWatch(const InterruptWatch&) = delete;
  InterruptWatch& operator=(const InterruptWatch&) = delete;

  static bool requested();
  /// Returns requested() and forgets the request, so that it does not also stop the saving of the work done so far.
  static bool acknowledge();
  /// Throws Interrupted if a stop was requested.
  static void check() {
    if (requested()) throw Interrupted();
  }
};

}  // namespace moeblaze
