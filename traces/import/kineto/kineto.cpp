#include "traces/import/kineto/kineto.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <set>
#include <string>

#include "core/base/error.h"
#include "core/trace/trace_limits.h"
#include "traces/formats/gzip.h"
#include "traces/import/file_kind.h"
#include "traces/import/kineto/kineto_events.h"
#include "traces/import/memory_log.h"
#include "traces/import/trace_builder.h"

namespace moeblaze {
namespace {

/// How the tracks of one of Kineto's categories are named.
struct Lane {
  std::string_view category, name;
  bool onDevice = false;
};
constexpr std::array<Lane, 6> kLanes{{
    {"kernel", "kernels", true},
    {"gpu_memcpy", "copies", true},
    {"gpu_memset", "memsets", true},
    {"gpu_user_annotation", "gpu annotations", true},
    {"user_annotation", "annotations"},
    {"cpu_op", "cpu ops"},
}};

std::optional<int32_t> toDevice(std::optional<int64_t> id) {
  return TraceBuilder::isDevice(id) ? std::optional(static_cast<int32_t>(*id)) : std::nullopt;
}

std::optional<int64_t> toInteger(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

class KinetoImport : public KinetoVisitor {
 public:
  explicit KinetoImport(std::string_view source) : builder_(source) {
    builder_.trace().meta = {{"source", "kineto"}, {"file", std::string(source)}};
  }

  void event(const KinetoEvent& event) override {
    if (event.phase == "M") return;  // metadata: only names and order of Chrome's rows
    if (event.name == "[memory]" && event.phase == "i") return memory(event);
    const auto lane =
        std::find_if(kLanes.begin(), kLanes.end(), [&](const Lane& known) { return known.category == event.category; });
    if (event.phase == "X" && lane != kLanes.end()) return span(event, *lane);
    loseCategory(event.category);
  }

  void device(const KinetoDevice& device) override {
    const std::optional<int32_t> id = toDevice(device.id);
    if (!id) return builder_.lose("device descriptions without a usable id");
    builder_.device(*id, device.name, std::clamp<int64_t>(device.memoryBytes.value_or(0), 0, kMaxAllocationBytes));
  }

  void meta(std::string_view key, std::string_view value) override {
    constexpr std::array<std::string_view, 3> kKept{"baseTimeNanoseconds", "trace_id", "traceName"};
    auto& all = builder_.trace().meta;
    const bool known = std::any_of(all.begin(), all.end(), [&](const auto& entry) { return entry.first == key; });
    if (!known && std::find(kKept.begin(), kKept.end(), key) != kKept.end())
      all.emplace_back(key, value.substr(0, 256));
  }

  void malformed() override { builder_.lose("entries of traceEvents that are not objects"); }

  Trace finish() { return builder_.finish(); }

 private:
  /// Counts an event as lost under its category. A file may have any number of categories, so only the first ones are
  /// counted apart.
  void loseCategory(const std::string& category) {
    constexpr size_t kMaxCategories = 32;
    if (foreign_.size() < kMaxCategories) foreign_.insert(category);
    builder_.lose(foreign_.contains(category) ? fmt::format("events of category {}, not imported", quote(category))
                                              : "events of other categories, not imported");
  }

  void memory(const KinetoEvent& event) {
    const auto& bytes = event[KinetoArg::bytes];
    const auto& address = event[KinetoArg::address];
    const bool onHost = event[KinetoArg::deviceType] == 0;
    const std::optional<int32_t> device = onHost ? kHostDevice : toDevice(event[KinetoArg::memoryDevice]);
    if (!bytes || !address || !event.startNs || !device || *bytes > kMaxAllocationBytes ||
        *bytes < -kMaxAllocationBytes) {
      return builder_.lose("malformed [memory] events");
    }
    const TrackId track = builder_.track(onHost ? "memory, host" : fmt::format("memory, device {}", *device), *device);
    const auto total = [&](KinetoArg arg) {
      return std::clamp<int64_t>(event[arg].value_or(-1), -1, kMaxAllocationBytes);
    };
    builder_.memory(track, {.timeNs = *event.startNs,
                            .order = event[KinetoArg::order].value_or(0),
                            .address = static_cast<uint64_t>(*address),
                            .bytes = *bytes < 0 ? -*bytes : *bytes,
                            .isFree = *bytes < 0,
                            .totalAllocated = total(KinetoArg::totalAllocated),
                            .totalReserved = total(KinetoArg::totalReserved)});
  }

  void span(const KinetoEvent& event, const Lane& lane) {
    if (!event.startNs || !event.durationNs || *event.durationNs < 0 || *event.durationNs > kMaxTimeNs) {
      return builder_.lose(fmt::format("malformed events of category '{}'", lane.category));
    }
    if (!lane.onDevice) {
      const std::string name = fmt::format("{}, thread {}", lane.name, quotedUnlessNumber(event.thread));
      return builder_.span(builder_.track(name, kHostDevice), event.name, *event.startNs, *event.durationNs);
    }
    // Annotations do not state device and stream; Kineto writes them as the process and the thread instead.
    const std::optional<int64_t> device =
        event[KinetoArg::device] ? event[KinetoArg::device] : toInteger(event.process);
    const std::optional<int64_t> stream = event[KinetoArg::stream] ? event[KinetoArg::stream] : toInteger(event.thread);
    if (!toDevice(device) || !stream) {
      return builder_.lose(fmt::format("events of category '{}' without device and stream", lane.category));
    }
    const std::string name = fmt::format("{}, device {}, stream {}", lane.name, *device, *stream);
    builder_.span(builder_.track(name, *toDevice(device)), event.name, *event.startNs, *event.durationNs);
  }

  static std::string quotedUnlessNumber(std::string_view text) {
    return toInteger(text) ? std::string(text) : quote(text);
  }

  TraceBuilder builder_;
  std::set<std::string> foreign_;  ///< categories whose events are counted apart
};

}  // namespace

Trace importKineto(std::string_view bytes, std::string_view source, const ReadProgress& progress) {
  std::string storage;
  KinetoImport import(source);
  readKineto(gunzip(bytes, storage, source), source, import, progress);
  return import.finish();
}

FileKind kinetoFile() {
  return {
      .name = "Kineto trace",
      .brief = "Kineto JSON or JSON.gz",
      .allowed = "a Kineto trace (JSON or JSON.gz)",
      .recognises =
          [](const FileHead& head) { return isGzip(head.bytes) || head.firstMark() == '{' || head.firstMark() == '['; },
      .read = [](const std::string& path,
                 const ReadProgress& progress) { return importKineto(contentOf(path), path, progress); }};
}

}  // namespace moeblaze
