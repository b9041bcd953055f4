#include "traces/store/whole_trace.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <new>
#include <vector>

#include "core/base/error.h"
#include "core/trace/trace_limits.h"
#include "traces/formats/sqlite.h"
#include "traces/store/recorder.h"
#include "traces/store/trace_loader.h"

namespace moeblaze {

using namespace store;

namespace {

/// Ids of the allocations in the order of `time(allocation)`. With `freedOnly`, only of those with a free.
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

void addTables(TraceTables& tables, const Trace& trace) {
  for (const auto& [key, value] : trace.meta) tables.addMeta(key, value);
  for (const Device& device : trace.devices) tables.add(device);
  for (const Track& track : trace.tracks) tables.add(track);
  // A trace holds each text and stack once, so they get the same ids in the file.
  for (size_t i = 0; i < trace.strings.size(); ++i) tables.add(trace.strings[static_cast<StringId>(i)]);
  for (size_t i = 0; i < trace.stacks.size(); ++i) tables.add(trace.stacks[static_cast<StackId>(i)]);
  for (const Loss& loss : trace.losses) tables.add(loss);
}

void addEvents(Recorder& recorder, const Trace& trace) {
  const auto begins = orderBy(trace, false, [](const Allocation& allocation) { return allocation.allocNs; });
  const auto ends = orderBy(trace, true, [](const Allocation& allocation) { return allocation.freeNs; });
  // Events go in by time, so that chunks do not overlap in time. At one instant allocations go before frees, because an
  // allocation must come before its own free.
  for (size_t begin = 0, end = 0; begin < begins.size() || end < ends.size();) {
    const bool isEnd = begin == begins.size() || (end < ends.size() && trace.allocations[ends[end]].freeNs <
                                                                           trace.allocations[begins[begin]].allocNs);
    const uint32_t id = isEnd ? ends[end++] : begins[begin++];
    const Allocation& allocation = trace.allocations[id];
    if (isEnd)
      recorder.addFree({id, allocation.bytes, allocation.freeNs, allocation.freeRequestedNs});
    else
      recorder.addAllocation(id, allocation);
  }
  for (const Span& span : trace.spans) recorder.addSpan(span);
  for (const Counter& counter : trace.counters) {
    const CounterId id = recorder.tables().add(counter);
    for (const PointRow& point : counter.points) recorder.addPoint(id, point);
  }
}

}  // namespace

void writeTrace(const Trace& trace, const std::string& path) {
  if (trace.allocations.size() > static_cast<size_t>(kMaxTraceRows))
    refuse(path, "{} allocations, must be at most {}", trace.allocations.size(), kMaxTraceRows);
  const std::string temporary = fmt::format("{}.{}.tmp", path, getpid());
  std::error_code error;
  try {
    Recorder recorder(temporary, path, Mode::whole);
    addTables(recorder.tables(), trace);
    addEvents(recorder, trace);
    recorder.finish();
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

Trace readTrace(const std::string& path, const ReadProgress& progress) {
  try {
    TraceLoader loader(path);
    loader.advance(progress);
    return loader.take();
  } catch (const std::bad_alloc&) {
    refuse(path, "does not fit into memory");
  }
}

bool isTraceFile(const std::string& path) {
  // SQLite is asked, rather than the file's first bytes: while a file is recorded, its application id may still be in
  // the log beside it.
  return sqlite::Database::openToRead(path).integer("PRAGMA application_id") == kApplicationId;
}

}  // namespace moeblaze
