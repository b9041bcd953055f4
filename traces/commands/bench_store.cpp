#include "traces/commands/bench_store.h"

#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <queue>
#include <random>
#include <utility>
#include <vector>

#include "traces/store/store.h"

namespace moeblaze {
namespace {

constexpr size_t kNames = 4096, kStacks = 1000;

/// The events of a job. They are made beforehand, so that only storing them is timed.
struct Events {
  struct Event {
    bool isFree = false;
    int64_t id = 0;
    int64_t timeNs = 0;
  };
  std::vector<Event> order;
  std::vector<Allocation> allocations;  ///< their names and stacks are those that `fill` adds
};

Allocation makeAllocation(std::mt19937_64& random, int64_t timeNs) {
  const auto below = [&](uint64_t bound) { return random() % bound; };
  const uint64_t kind = below(kNames) * below(kNames) / kNames;  // some names are far more frequent than others
  Allocation allocation;
  allocation.track = TrackId{0};
  allocation.name = static_cast<StringId>(1 + kind);
  allocation.stack = static_cast<StackId>(1 + kind % kStacks);
  allocation.role = static_cast<Role>(kind % 9);
  allocation.bytes = static_cast<int64_t>(512 * (1 + (kind * 7919) % 8192 + (below(4) == 0 ? below(512) : 0)));
  allocation.requestedBytes = allocation.bytes - static_cast<int64_t>(below(2) * below(512));
  allocation.allocNs = timeNs;
  allocation.address = 0x7f0000000000 + 512 * below(uint64_t{1} << 27);
  allocation.stream = below(8) == 0 ? 7 : 0;
  return allocation;
}

Events makeEvents(int64_t count) {
  std::mt19937_64 random(1);
  Events events;
  using End = std::pair<int64_t, int64_t>;  // event number, allocation
  std::priority_queue<End, std::vector<End>, std::greater<>> ends;
  int64_t timeNs = 0;
  for (int64_t i = 0; i < count; ++i) {
    timeNs += static_cast<int64_t>(200 + random() % 4000);
    if (!ends.empty() && ends.top().first <= i) {
      events.order.push_back({true, ends.top().second, timeNs});
      ends.pop();
      continue;
    }
    const int64_t id = std::ssize(events.allocations);
    events.allocations.push_back(makeAllocation(random, timeNs));
    events.order.push_back({false, id, timeNs});
    const uint64_t lifetime = random() % 100;
    const uint64_t mean = lifetime < 60 ? 16 : lifetime < 95 ? 2000 : 100'000;
    ends.emplace(i + 1 + static_cast<int64_t>(random() % (2 * mean)), id);
  }
  return events;
}

void fill(TraceWriter& writer) {
  writer.addTrack({"GPU 0", TrackKind::observed, 0});
  for (size_t i = 0; i < kNames; ++i) writer.addString(fmt::format("aten::operation_{}", i));
  for (int32_t i = 0; i < static_cast<int32_t>(kStacks); ++i) {
    std::vector<Frame> frames;
    for (int32_t depth = 0; depth < 20; ++depth)
      frames.push_back({static_cast<StringId>(1 + (i * 31 + depth) % 500), StringId{1}, i / (depth + 1)});
    writer.addStack(frames);
  }
}

void record(const Events& events, const std::string& path) {
  TraceWriter writer(path);
  fill(writer);
  for (const Events::Event& event : events.order) {
    if (event.isFree)
      writer.addFree(AllocationId{event.id}, event.timeNs, event.timeNs - event.id % 3 * 1000);
    else
      writer.addAllocation(events.allocations[static_cast<size_t>(event.id)]);
  }
  writer.finish();
}

template <typename Work>
double secondsOf(Work work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

StoreFigures benchStore(int64_t events, const std::string& path) {
  StoreFigures figures{.events = events};
  {
    const Events made = makeEvents(events);
    figures.writeSeconds = secondsOf([&] { record(made, path); });
  }
  figures.eventsPerSecond = static_cast<double>(events) / figures.writeSeconds;
  figures.bytesPerEvent = static_cast<double>(std::filesystem::file_size(path)) / static_cast<double>(events);
  figures.summarySeconds = secondsOf([&] { summarize(path); });
  Trace trace;
  figures.readSeconds = secondsOf([&] { trace = readTrace(path); });
  figures.wholeWriteSeconds = secondsOf([&] { writeTrace(trace, path); });
  return figures;
}

}  // namespace moeblaze
