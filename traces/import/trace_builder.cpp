#include "traces/import/trace_builder.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/error.h"
#include "core/trace/trace_limits.h"

namespace moeblaze {
namespace {

// A trace holds so many allocations, frees, spans and points.
constexpr size_t kMaxEvents = 4 * size_t{kMaxTraceRows};

}  // namespace

void TraceBuilder::device(int32_t id, std::string_view name, int64_t memoryBytes) {
  auto found = std::find_if(trace().devices.begin(), trace().devices.end(),
                            [&](const Device& device) { return device.id == id; });
  if (found == trace().devices.end()) {
    if (trace().devices.size() >= kMaxImportedDevices)
      return lose(fmt::format("devices beyond the first {}", kMaxImportedDevices));
    found = trace().devices.insert(found, {id, {}, 0});
  }
  if (found->name.empty()) found->name = name.substr(0, kMaxNameBytes);
  if (found->memoryBytes == 0) found->memoryBytes = memoryBytes;
}

TrackId TraceBuilder::track(const std::string& name, int32_t device) {
  if (const auto found = tracks_.find(name); found != tracks_.end()) return found->second;
  if (trace().tracks.size() >= kMaxImportedTracks) return TrackId::none;
  const TrackId id{static_cast<int32_t>(trace().tracks.size())};
  trace().tracks.push_back({name, TrackKind::observed, device});
  tracks_.emplace(name, id);
  this->device(device, device < 0 ? "host" : "", 0);
  return id;
}

StringId TraceBuilder::text(std::string_view text) {
  if (text.size() <= kMaxNameBytes) return import_.text(text);
  lose(fmt::format("names cut to {} bytes", kMaxNameBytes));
  size_t end = kMaxNameBytes;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;  // do not cut within a character
  return import_.text(text.substr(0, end));
}

void TraceBuilder::span(TrackId track, std::string_view name, int64_t startNs, int64_t durationNs) {
  if (!countEvent(track, startNs)) return;
  trace().spans.push_back({track, text(name), startNs, durationNs});
}

void TraceBuilder::memory(TrackId track, const AddressEvent& event) {
  if (countEvent(track, event.timeNs)) memory_[track].add(event);
}

void TraceBuilder::counterPoint(TrackId track, std::string_view name, std::string_view unit, int64_t timeNs,
                                double value) {
  if (!countEvent(track, timeNs)) return;
  const auto [entry, isNew] = counters_.try_emplace({track, text(name)}, trace().counters.size());
  if (isNew) trace().counters.push_back({track, text(name), text(unit), {}});
  trace().counters[entry->second].points.emplace_back(timeNs, value);
}

bool TraceBuilder::countEvent(TrackId track, int64_t timeNs) {
  if (track == TrackId::none) {
    lose(fmt::format("events on tracks beyond the first {}", kMaxImportedTracks));
    return false;
  }
  if (++events_ > kMaxEvents) refuse(import_.source(), "holds too many events; allowed: up to {}", kMaxEvents);
  firstNs_ = std::min(firstNs_, timeNs);
  return true;
}

Trace TraceBuilder::finish() {
  const auto inOrder = [](const auto& a, const auto& b) { return a.first < b.first; };
  for (Span& span : trace().spans) span.startNs -= firstNs_;
  std::stable_sort(trace().spans.begin(), trace().spans.end(),
                   [](const Span& a, const Span& b) { return a.startNs < b.startNs; });
  for (Counter& counter : trace().counters) {
    for (auto& [timeNs, value] : counter.points) timeNs -= firstNs_;
    std::stable_sort(counter.points.begin(), counter.points.end(), inOrder);
  }
  for (auto& [track, log] : memory_) log.finish(import_, track, firstNs_);
  if (events_ > 0) trace().meta.emplace_back("firstEventNanoseconds", std::to_string(firstNs_));
  return std::move(trace());
}

}  // namespace moeblaze
