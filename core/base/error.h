#pragma once

#include <fmt/format.h>

#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace moeblaze {

/// Exit statuses every program uses.
inline constexpr int kExitInternal = 1;
inline constexpr int kExitWrongInput = 2;
inline constexpr int kExitMissingDevice = 3;

/// What the user gave is wrong. The text is one line naming file, field, value and what is allowed; programs print it
/// and exit with kExitWrongInput.
class InputError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A device or permission is missing. The text says what and how to mend it; programs exit with kExitMissingDevice.
class DeviceError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Throws InputError "<source>: <formatted text>".
template <typename... Args>
[[noreturn]] void refuse(std::string_view source, fmt::format_string<Args...> format, Args&&... args) {
  throw InputError(fmt::format("{}: {}", source, fmt::format(format, std::forward<Args>(args)...)));
}

/// The candidate with the smallest edit distance to `word`, ignoring case; empty when none is close enough to suggest.
std::string nearestName(std::string_view word, std::span<const std::string_view> candidates);

/// "; did you mean 'conf3'?" or an empty string: the tail of an error about an unknown name.
std::string didYouMean(std::string_view word, std::span<const std::string_view> candidates);

/// "a, b, c": what an error lists as allowed.
std::string listNames(std::span<const std::string_view> names);

/// `text` as one printable line of bounded length: what an error may quote from a foreign file.
std::string quote(std::string_view text);

}  // namespace moeblaze
