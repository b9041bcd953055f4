#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "core/base/error.h"
#include "traces/store/store.h"
#include "traces/store/store_recorder.h"

namespace moeblaze {

using namespace store;

TraceWriter::TraceWriter(const std::string& path)
    : recorder_(std::make_unique<Recorder>(path, path, Mode::recording)) {}
TraceWriter::TraceWriter(TraceWriter&& other) noexcept = default;

TraceWriter::~TraceWriter() {
  if (!recorder_) return;
  if (!recorder_->isOwn()) {  // closing here would take the parent's locks away
    static_cast<void>(recorder_.release());
    return;
  }
  try {
    recorder_->usable().finish();
  } catch (const std::exception&) {  // finished already, or nothing more can be done
  }
}

void TraceWriter::addMeta(std::string_view key, std::string_view value) { recorder_->usable().addMeta(key, value); }
void TraceWriter::addDevice(const Device& device) { recorder_->usable().addDevice(device); }
TrackId TraceWriter::addTrack(const Track& track) { return recorder_->usable().addTrack(track); }
CounterId TraceWriter::addCounter(TrackId track, StringId name, StringId unit) {
  return recorder_->usable().addCounter(track, name, unit);
}
StringId TraceWriter::addString(std::string_view text) { return recorder_->usable().addString(text); }
StackId TraceWriter::addStack(const std::vector<Frame>& frames) { return recorder_->usable().addStack(frames); }
AllocationId TraceWriter::addAllocation(const Allocation& allocation) {
  const int64_t id = recorder_->nextAllocation();
  recorder_->usable().addAllocation(id, allocation);
  return static_cast<AllocationId>(id);
}
void TraceWriter::addFree(AllocationId id, int64_t freeNs, int64_t freeRequestedNs) {
  recorder_->usable().addFree({static_cast<int64_t>(id), 0, freeNs, freeRequestedNs});
}
void TraceWriter::addSpan(const Span& span) { recorder_->usable().addSpan(span); }
void TraceWriter::addPoint(CounterId counter, int64_t timeNs, double value) {
  recorder_->usable().addPoint(counter, {timeNs, value});
}
void TraceWriter::addLoss(std::string_view what, int64_t count) { recorder_->usable().addLoss(what, count); }
void TraceWriter::flushIfDue() { recorder_->usable().flushIfDue(); }
void TraceWriter::flush() { recorder_->usable().flush(); }
bool TraceWriter::finish() { return recorder_->usable().finish(); }

namespace {

/// Ids of allocations ordered by `time` of each.
template <typename Time>
std::vector<uint32_t> orderBy(const Trace& trace, bool freedOnly, Time time) {
  std::vector<uint32_t> order;
  for (uint32_t i = 0; i < trace.allocations.size(); ++i) {
    const Allocation& allocation = trace.allocations[i];
    if (!freedOnly || allocation.freeNs != kNever || allocation.freeRequestedNs != kNever) order.push_back(i);
  }
  const auto isEarlier = [&](uint32_t a, uint32_t b) {
    return time(trace.allocations[a]) < time(trace.allocations[b]);
  };
  if (!std::is_sorted(order.begin(), order.end(), isEarlier)) std::stable_sort(order.begin(), order.end(), isEarlier);
  return order;
}

void addTables(Recorder& writer, const Trace& trace) {
  for (const auto& [key, value] : trace.meta) writer.addMeta(key, value);
  for (const Device& device : trace.devices) writer.addDevice(device);
  for (const Track& track : trace.tracks) writer.addTrack(track);
  // Texts and stacks are distinct, so they get the ids they have.
  for (size_t i = 0; i < trace.strings.size(); ++i) writer.addString(trace.strings[static_cast<StringId>(i)]);
  for (size_t i = 0; i < trace.stacks.size(); ++i) {
    const auto frames = trace.stacks[static_cast<StackId>(i)];
    writer.addStack({frames.begin(), frames.end()});
  }
  for (const Loss& loss : trace.losses) writer.addLoss(loss.what, loss.count);
}

void addEvents(Recorder& writer, const Trace& trace) {
  const auto begins = orderBy(trace, false, [](const Allocation& allocation) { return allocation.allocNs; });
  const auto ends = orderBy(trace, true, [](const Allocation& allocation) { return allocation.freeNs; });
  // In order of time, so that chunks do not overlap; at one instant an allocation comes before its own end.
  for (size_t begin = 0, end = 0; begin < begins.size() || end < ends.size();) {
    const bool isEnd = begin == begins.size() || (end < ends.size() && trace.allocations[ends[end]].freeNs <
                                                                           trace.allocations[begins[begin]].allocNs);
    const uint32_t id = isEnd ? ends[end++] : begins[begin++];
    const Allocation& allocation = trace.allocations[id];
    if (isEnd)
      writer.addFree({id, allocation.bytes, allocation.freeNs, allocation.freeRequestedNs});
    else
      writer.addAllocation(id, allocation);
  }
  for (const Span& span : trace.spans) writer.addSpan(span);
  for (const Counter& counter : trace.counters) {
    const CounterId id = writer.addCounter(counter.track, counter.name, counter.unit);
    for (const PointRow& point : counter.points) writer.addPoint(id, point);
  }
}

}  // namespace

void writeTrace(const Trace& trace, const std::string& path) {
  if (trace.allocations.size() > static_cast<size_t>(kMaxTraceRows))
    refuse(path, "{} allocations, must be at most {}", trace.allocations.size(), kMaxTraceRows);
  const std::string temporary = fmt::format("{}.{}.tmp", path, getpid());
  std::error_code error;
  try {
    Recorder writer(temporary, path, Mode::whole);
    addTables(writer, trace);
    addEvents(writer, trace);
    writer.finish();
  } catch (...) {
    std::filesystem::remove(temporary, error);
    throw;
  }
  std::filesystem::rename(temporary, path, error);
  if (!error) return;
  const std::string reason = error.message();
  std::filesystem::remove(temporary, error);
  refuse(path, "cannot be written: {}", reason);
}

}  // namespace moeblaze
