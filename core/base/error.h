#pragma once

#include <fmt/format.h>

#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace moeblaze {

/// Exit statuses of every program.
inline constexpr int kExitInternal = 1;
inline constexpr int kExitWrongInput = 2;
inline constexpr int kExitMissingDevice = 3;

/// The user's input is wrong. The text is one line that names the file, the field, its value and what is allowed.
/// Programs print it and exit with kExitWrongInput.
class InputError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A device or permission is missing. The text says which and how to get it. Programs print it and exit with
/// kExitMissingDevice.
class DeviceError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Throws InputError "<source>: <formatted text>".
template <typename... Args>
[[noreturn]] void refuse(std::string_view source, fmt::format_string<Args...> format, Args&&... args) {
  throw InputError(fmt::format("{}: {}", source, fmt::format(format, std::forward<Args>(args)...)));
}

/// The candidate that is nearest to `word` by edit distance, without regard to case; empty when none is near enough.
std::string nearestName(std::string_view word, std::span<const std::string_view> candidates);

/// The end of an error about the unknown name `word`: "; did you mean 'conf3'?", or nothing when no candidate is near.
std::string didYouMean(std::string_view word, std::span<const std::string_view> candidates);

/// "a, b, c": the names that an error lists as allowed.
std::string listNames(std::span<const std::string_view> names);

/// `text` in quotation marks, printable and shortened to one line, so that errors can show what files hold.
std::string quote(std::string_view text);

}  // namespace moeblaze
