#include "traces/import/kineto/kineto_events.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/trace/trace_limits.h"
#include "traces/formats/json_tree.h"

namespace moeblaze {
namespace {

/// What the object or list that is being read stands for.
enum class Place : uint8_t { outside, top, events, event, args, devices, device, other };

constexpr std::array<std::pair<std::string_view, KinetoArg>, static_cast<size_t>(KinetoArg::count)> kArgs{{
    {"Bytes", KinetoArg::bytes},
    {"Addr", KinetoArg::address},
    {"Total Allocated", KinetoArg::totalAllocated},
    {"Total Reserved", KinetoArg::totalReserved},
    {"Device Id", KinetoArg::memoryDevice},
    {"Device Type", KinetoArg::deviceType},
    {"Ev Idx", KinetoArg::order},
    {"device", KinetoArg::device},
    {"stream", KinetoArg::stream},
}};

/// A value that is neither an object nor a list.
struct Scalar {
  std::string_view text;  ///< the string itself, or a number as written
  bool isString = false;
  std::optional<int64_t> integer{};  ///< the value of a number without a fraction
};

/// Turns the calls of nlohmann's parser into those of a visitor. Neither this class nor the parser recurses.
class KinetoReader : public nlohmann::json_sax<nlohmann::json> {
 public:
  /// `size` is that of the text, in bytes.
  KinetoReader(size_t size, std::string_view source, KinetoVisitor& visitor)
      : size_(size), source_(source), visitor_(visitor) {}

  bool null() override { return scalar({"null"}); }
  bool boolean(bool value) override { return scalar({value ? "true" : "false"}); }
  bool number_integer(number_integer_t value) override { return integer(value, value); }
  bool number_unsigned(number_unsigned_t value) override {
    const bool fits = std::in_range<int64_t>(value) || key_ == "Addr";  // all 64 bits of an address count
    return integer(value, fits ? std::optional(static_cast<int64_t>(value)) : std::nullopt);
  }
  bool number_float(number_float_t, const string_t& text) override { return scalar({text}); }
  bool string(string_t& value) override { return scalar({value, true}); }
  bool binary(binary_t&) override { return true; }  // never called for JSON text

  bool key(string_t& value) override {
    std::swap(key_, value);
    return true;
  }
  bool start_object(size_t) override { return open(true); }
  bool start_array(size_t) override { return open(false); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool parse_error(size_t byte, const std::string& token, const nlohmann::detail::exception& error) override {
    constexpr int kNumberOverflow = 406;
    if (error.id == kNumberOverflow) {
      refuse(source_, "byte {} holds a number beyond {:.1e}", byte, std::numeric_limits<double>::max());
    }
    if (byte > size_) refuse(source_, "the JSON ends early, after {} bytes; allowed: a whole file", size_);
    const size_t from = token.size() > kShown ? token.size() - kShown : 0;
    refuse(source_, "not valid JSON at byte {} near {}", byte, quote(std::string_view(token).substr(from)));
  }

  bool foundEvents() const { return foundEvents_; }

 private:
  static constexpr size_t kShown = 40;

  template <typename Number>
  bool integer(Number written, std::optional<int64_t> value) {
    std::array<char, 24> digits;
    const auto end = std::to_chars(digits.begin(), digits.end(), written).ptr;
    return scalar({std::string_view(digits.begin(), end), false, value});
  }

  Place place() const { return places_.empty() ? Place::outside : places_.back(); }

  Place childPlace(bool isObject) const {
    switch (place()) {
      case Place::outside:
        return isObject ? Place::top : Place::other;
      case Place::top:
        if (!isObject && key_ == "traceEvents") return Place::events;
        return !isObject && key_ == "deviceProperties" ? Place::devices : Place::other;
      case Place::events:
        return isObject ? Place::event : Place::other;
      case Place::event:
        return isObject && key_ == "args" ? Place::args : Place::other;
      case Place::devices:
        return isObject ? Place::device : Place::other;
      default:
        return Place::other;
    }
  }

  bool open(bool isObject) {
    if (places_.size() >= kMaxJsonLevels)
      refuse(source_, "is nested too deep; allowed: up to {} levels", kMaxJsonLevels);
    const Place child = childPlace(isObject);
    if (place() == Place::events && child == Place::other) visitor_.malformed();
    if (child == Place::events) foundEvents_ = true;
    if (child == Place::event) clearEvent();
    if (child == Place::device) device_ = {};
    places_.push_back(child);
    return true;
  }

  bool close() {
    if (place() == Place::event) visitor_.event(event_);
    if (place() == Place::device) visitor_.device(device_);
    places_.pop_back();
    return true;
  }

  bool scalar(const Scalar& value) {
    switch (place()) {
      case Place::top:
        visitor_.meta(key_, value.text);
        break;
      case Place::events:
        visitor_.malformed();
        break;
      case Place::event:
        eventField(value);
        break;
      case Place::args:
        for (const auto& [name, arg] : kArgs)
          if (key_ == name) event_.args[static_cast<size_t>(arg)] = value.integer;
        break;
      case Place::device:
        if (key_ == "id") device_.id = value.integer;
        if (key_ == "totalGlobalMem") device_.memoryBytes = value.integer;
        if (key_ == "name" && value.isString) device_.name = value.text;
        break;
      default:
        break;
    }
    return true;
  }

  void eventField(const Scalar& value) {
    if (key_ == "ts") event_.startNs = value.isString ? std::nullopt : microsecondsToNs(value.text);
    if (key_ == "dur") event_.durationNs = value.isString ? std::nullopt : microsecondsToNs(value.text);
    if (key_ == "pid") event_.process = value.text;
    if (key_ == "tid") event_.thread = value.text;
    if (!value.isString) return;
    if (key_ == "ph") event_.phase = value.text;
    if (key_ == "cat") event_.category = value.text;
    if (key_ == "name") event_.name = value.text;
  }

  /// Empties the event but keeps the memory of its texts, because events follow one another by the million.
  void clearEvent() {
    for (std::string* text : {&event_.phase, &event_.category, &event_.name, &event_.process, &event_.thread})
      text->clear();
    event_.startNs.reset();
    event_.durationNs.reset();
    event_.args.fill({});
  }

  size_t size_;
  std::string_view source_;
  KinetoVisitor& visitor_;
  std::vector<Place> places_;  ///< one for each object or list that is open
  std::string key_;            ///< the last one read
  KinetoEvent event_;
  KinetoDevice device_;
  bool foundEvents_ = false;
};

}  // namespace

std::optional<int64_t> microsecondsToNs(std::string_view text) {
  constexpr size_t kDigits = 16;  // digits of whole microseconds, enough for kMaxTimeNs
  constexpr std::array<int64_t, 4> kScale{1000, 100, 10, 1};
  const bool negative = text.starts_with('-');
  const std::string_view digits = text.substr(negative ? 1 : 0);
  const size_t point = std::min(digits.find('.'), digits.size());
  const bool plain = digits.find_first_not_of("0123456789.") == std::string_view::npos && point > 0;
  double approximate = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), approximate);
  if (read.ec != std::errc() || read.ptr != text.data() + text.size()) return {};
  if (!(std::abs(approximate) * 1e3 < static_cast<double>(kMaxTimeNs))) return {};
  if (!plain || point > kDigits) return std::llround(approximate * 1e3);

  int64_t ns = 0;
  for (char digit : digits.substr(0, point)) ns = ns * 10 + (digit - '0');
  const std::string_view fraction = digits.substr(std::min(point + 1, digits.size()));
  for (char digit : fraction.substr(0, 3)) ns = ns * 10 + (digit - '0');
  ns *= kScale[std::min<size_t>(fraction.size(), 3)];
  if (fraction.size() > 3 && fraction[3] >= '5') ++ns;
  return negative ? -ns : ns;
}

void readKineto(std::string_view text, std::string_view source, KinetoVisitor& visitor, const ReadProgress& progress) {
  KinetoReader reader(text.size(), source, visitor);
  const auto [begin, end] = watched(text, progress);
  nlohmann::json::sax_parse(begin, end, &reader);
  if (!reader.foundEvents()) refuse(source, "holds no list 'traceEvents'; allowed: a trace of PyTorch's profiler");
}

}  // namespace moeblaze
