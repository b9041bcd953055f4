#include "traces/export/chrome.h"

#include <fmt/format.h>

#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>
#include <ostream>

namespace moeblaze {
namespace {

/// `text` as a JSON string. Bytes that are not UTF-8 become U+FFFD.
std::string json(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

/// `ns` in µs, which Chrome's format counts in, with three decimals.
std::string microseconds(int64_t ns) {
  const auto size = ns < 0 ? 0 - static_cast<uint64_t>(ns) : static_cast<uint64_t>(ns);
  return fmt::format("{}{}.{:03}", ns < 0 ? "-" : "", size / 1000, size % 1000);
}

/// `value` as a JSON number; infinity and NaN, which JSON does not have, become null.
std::string number(double value) { return std::isfinite(value) ? fmt::format("{}", value) : "null"; }

class ChromeExport {
 public:
  ChromeExport(const Trace& trace, std::ostream& out) : trace_(trace), out_(out) {}

  void run() {
    write("{{\"displayTimeUnit\":\"ns\",\"otherData\":{}", "{");
    writeOther();
    write("}},\"traceEvents\":[");
    nameRows();
    for (const Span& span : trace_.spans) writeSpan(span);
    for (size_t i = 0; i < trace_.allocations.size(); ++i) writeAllocation(trace_.allocations[i], i);
    for (size_t i = 0; i < trace_.tracks.size(); ++i) writeCurve(static_cast<TrackId>(i));
    for (const Counter& counter : trace_.counters) writeCounter(counter);
    write("\n]}}\n");
  }

 private:
  template <typename... Args>
  void write(fmt::format_string<Args...> format, Args&&... args) {
    line_.clear();
    fmt::format_to(std::back_inserter(line_), format, std::forward<Args>(args)...);
    out_.write(line_.data(), static_cast<std::streamsize>(line_.size()));
  }

  /// Writes one event on `track`; the formatted fields follow its process and thread.
  template <typename... Args>
  void event(TrackId track, fmt::format_string<Args...> format, Args&&... args) {
    write("{}\n{{\"pid\":{},\"tid\":{},", firstEvent_ ? "" : ",", process(track), row(track));
    firstEvent_ = false;
    write(format, std::forward<Args>(args)...);
    write("}}");
  }

  /// The process id of a track. Ids start at 1, because Perfetto takes process 0 for the kernel; 1 is the host, whose
  /// device is -1.
  int64_t process(TrackId track) const {
    return track == TrackId::none ? 1 : int64_t{trace_.tracks[index(track)].device} + 2;
  }
  static size_t row(TrackId track) { return track == TrackId::none ? 0 : index(track) + 1; }

  void writeOther() {
    std::string_view comma;
    for (const auto& [key, value] : trace_.meta) {
      write("{}{}:{}", comma, json(key), json(value));
      comma = ",";
    }
    write("{}\"losses\":[", comma);
    comma = "";
    for (const Loss& loss : trace_.losses) {
      write("{}{{\"what\":{},\"count\":{}}}", comma, json(loss.what), loss.count);
      comma = ",";
    }
    write("]");
  }

  std::string deviceName(int32_t id) const {
    for (const Device& device : trace_.devices)
      if (device.id == id && !device.name.empty()) return device.name;
    return id < 0 ? "host" : fmt::format("device {}", id);
  }

  void nameRows() {
    for (size_t i = 0; i < trace_.tracks.size(); ++i) {
      const auto track = static_cast<TrackId>(i);
      event(track, "\"ph\":\"M\",\"name\":\"process_name\",\"args\":{{\"name\":{}}}",
            json(deviceName(trace_.tracks[i].device)));
      event(track, "\"ph\":\"M\",\"name\":\"thread_name\",\"args\":{{\"name\":{}}}", json(trace_.tracks[i].name));
      event(track, "\"ph\":\"M\",\"name\":\"thread_sort_index\",\"args\":{{\"sort_index\":{}}}", i);
    }
  }

  void writeSpan(const Span& span) {
    event(span.track, "\"ph\":\"X\",\"cat\":\"span\",\"name\":{},\"ts\":{},\"dur\":{},\"args\":{{\"step\":{}}}",
          json(trace_.strings[span.name]), microseconds(span.startNs), microseconds(span.durationNs),
          static_cast<int32_t>(span.step));
  }

  void writeAllocation(const Allocation& a, size_t id) {
    const std::string name = json(a.name == StringId::empty ? "allocation" : trace_.strings[a.name]);
    const std::string requested = a.freeRequestedNs == kNever ? "null" : microseconds(a.freeRequestedNs);
    event(a.track,
          "\"ph\":\"b\",\"cat\":\"allocation\",\"id\":{},\"name\":{},\"ts\":{},\"args\":{{\"bytes\":{},"
          "\"requested bytes\":{},\"role\":{},\"address\":\"{:#x}\",\"stream\":{},\"step\":{},\"older\":{},"
          "\"freed\":{},\"free requested\":{},\"stack\":{}}}",
          id, name, microseconds(a.allocNs), a.bytes, a.requestedBytes, json(moeblaze::name(a.role)), a.address,
          a.stream, static_cast<int32_t>(a.step), a.older, a.freeNs != kNever, requested, stack(a.stack));
    if (a.freeNs == kNever) return;
    event(a.track, "\"ph\":\"e\",\"cat\":\"allocation\",\"id\":{},\"name\":{},\"ts\":{}", id, name,
          microseconds(a.freeNs));
  }

  std::string stack(StackId id) const {
    std::string lines;
    for (const Frame& frame : trace_.stacks[id]) {
      const std::string place =
          fmt::format("{} ({}:{})", trace_.strings[frame.function], trace_.strings[frame.file], frame.line);
      lines += lines.empty() ? "" : ",";
      lines += json(place);
    }
    return fmt::format("[{}]", lines);
  }

  void writeCurve(TrackId id) {
    const Track& track = trace_.tracks[index(id)];
    const std::string name = json(track.name);
    const std::string_view series = track.kind == TrackKind::segments ? "reserved" : "allocated";
    const MemoryCurve curve(trace_, id);
    for (const MemoryCurve::Point& point : curve.points()) {
      event(id, "\"ph\":\"C\",\"cat\":\"memory\",\"name\":{},\"ts\":{},\"args\":{{\"{}\":{}}}", name,
            microseconds(point.timeNs), series, point.bytes);
    }
  }

  void writeCounter(const Counter& counter) {
    const std::string track = counter.track == TrackId::none ? "" : trace_.tracks[index(counter.track)].name + ": ";
    const std::string name = json(track + trace_.strings[counter.name]);
    const std::string unit = json(counter.unit == StringId::empty ? "value" : trace_.strings[counter.unit]);
    for (const auto& [timeNs, value] : counter.points) {
      event(counter.track, "\"ph\":\"C\",\"cat\":\"counter\",\"name\":{},\"ts\":{},\"args\":{{{}:{}}}", name,
            microseconds(timeNs), unit, number(value));
    }
  }

  const Trace& trace_;
  std::ostream& out_;
  std::string line_;
  bool firstEvent_ = true;
};

}  // namespace

void exportChrome(const Trace& trace, std::ostream& out) { ChromeExport(trace, out).run(); }

}  // namespace moeblaze
