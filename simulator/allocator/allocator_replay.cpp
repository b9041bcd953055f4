#include "simulator/allocator/allocator_replay.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <string>
#include <tuple>

#include "core/base/error.h"

namespace moeblaze {
namespace {

constexpr std::array<std::string_view, 3> kModels{"exact", "pytorch", "pool"};
constexpr int64_t kPoolStep = int64_t{32} << 20;  // bytes; see AllocatorModel::pool

/// What happens to the allocator. Events of one instant are replayed in the order of these enumerators;
/// replayAllocator() says why.
enum class Action : uint8_t { exist, requestFree, free, emptyCache, allocate, requestFreeOfInstant, freeOfInstant };

struct Event {
  int64_t timeNs = 0;
  Action action = Action::allocate;
  size_t allocation = 0;  ///< index into the trace's allocations, and the id of the block
};

/// Bytes that the program asked for.
int64_t requestOf(const Allocation& allocation) {
  return allocation.requestedBytes > 0 ? allocation.requestedBytes : allocation.bytes;
}

/// The track of the segments that the allocator behind the track `requests` took from the device; none without one.
TrackId segmentTrackOf(const Trace& trace, TrackId requests) {
  const int32_t device = trace.tracks[index(requests)].device;
  for (size_t i = 0; i < trace.tracks.size(); ++i)
    if (trace.tracks[i].kind == TrackKind::segments && trace.tracks[i].device == device) return static_cast<TrackId>(i);
  return TrackId::none;
}

/// Indices of a track's allocations, ordered by time. Those of one instant keep the order of the trace.
std::vector<size_t> allocationsOf(const Trace& trace, TrackId track) {
  std::vector<size_t> found;
  for (size_t i = 0; i < trace.allocations.size(); ++i)
    if (trace.allocations[i].track == track) found.push_back(i);
  std::stable_sort(found.begin(), found.end(),
                   [&](size_t a, size_t b) { return trace.allocations[a].allocNs < trace.allocations[b].allocNs; });
  return found;
}

/// The events of the allocations `requests` and of the frees of `segments`, in the order of the replay.
std::vector<Event> eventsOf(const Trace& trace, std::span<const size_t> requests, std::span<const size_t> segments) {
  std::vector<Event> events;
  for (size_t i : requests) {
    const Allocation& a = trace.allocations[i];
    events.push_back({a.allocNs, a.older ? Action::exist : Action::allocate, i});
    const auto add = [&](int64_t timeNs, Action earlier, Action ofInstant) {
      if (timeNs != kNever) events.push_back({timeNs, !a.older && timeNs == a.allocNs ? ofInstant : earlier, i});
    };
    add(a.freeRequestedNs, Action::requestFree, Action::requestFreeOfInstant);
    add(a.freeNs, Action::free, Action::freeOfInstant);
  }
  for (size_t i : segments)
    if (trace.allocations[i].freeNs != kNever) events.push_back({trace.allocations[i].freeNs, Action::emptyCache, i});
  std::stable_sort(events.begin(), events.end(), [](const Event& a, const Event& b) {
    return std::tie(a.timeNs, a.action) < std::tie(b.timeNs, b.action);
  });
  return events;
}

/// AllocatorModel::exact and AllocatorModel::pool. It has the functions of CachingAllocator that a replay calls.
class SummingAllocator {
 public:
  SummingAllocator(const Trace& trace, const AllocatorOptions& options,
                   std::function<void(const SegmentEvent& event)> observer)
      : trace_(trace), options_(options), observer_(std::move(observer)) {}

  std::optional<uint64_t> allocate(size_t id, int64_t, int64_t stream) {
    const int64_t used = used_ + bytesOf(id);
    const int64_t reserved = isPool() ? std::max(reserved_, (used + kPoolStep - 1) / kPoolStep * kPoolStep) : used;
    if (reserved > options_.capacityBytes) return std::nullopt;
    if (isPool() && reserved > reserved_) observer_({true, 0, reserved - reserved_, stream});
    used_ = used;
    reserved_ = reserved;
    return 0;
  }
  void requestFree(size_t) {}
  void free(size_t id) {
    used_ -= bytesOf(id);
    if (!isPool()) reserved_ = used_;
  }
  void emptyCache() {}
  int64_t allocatedBytes() const { return used_; }
  int64_t reservedBytes() const { return reserved_; }

 private:
  bool isPool() const { return options_.model == AllocatorModel::pool; }
  int64_t bytesOf(size_t id) const {
    const Allocation& a = trace_.allocations[id];
    if (isPool()) return requestOf(a) > 0 ? roundedBytes(requestOf(a)) : 0;
    return a.freeNs > a.allocNs ? a.bytes : 0;  // a MemoryCurve too leaves out what begins and ends at one instant
  }

  const Trace& trace_;
  const AllocatorOptions& options_;
  std::function<void(const SegmentEvent& event)> observer_;
  int64_t used_ = 0, reserved_ = 0;
};

/// Notes a state of the allocator. Points hold only the last state of an instant, peaks consider every state.
void note(AllocatorReplay& replay, AllocatorPoint now) {
  if (now.allocated > replay.allocatedPeak.allocated) replay.allocatedPeak = now;
  if (now.reserved > replay.reservedPeak.reserved) replay.reservedPeak = now;
  std::vector<AllocatorPoint>& points = replay.points;
  if (!points.empty() && points.back().timeNs == now.timeNs) {
    points.back() = now;
  } else if (points.empty() || points.back().allocated != now.allocated || points.back().reserved != now.reserved) {
    points.push_back(now);
  }
}

/// Notes that a segment was taken or given back at `timeNs`.
void note(AllocatorReplay& replay, const SegmentEvent& event, int64_t timeNs) {
  if (event.taken) {
    replay.segments.push_back({timeNs, event.bytes, event.stream, event.address});
    return;
  }
  const auto segment = std::find_if(replay.segments.rbegin(), replay.segments.rend(), [&](const ReplayedSegment& s) {
    return s.address == event.address && s.freeNs == kNever;
  });
  if (segment != replay.segments.rend()) segment->freeNs = timeNs;
}

/// Feeds `events` to an allocator. `timeNs` is set to the time of each event, for the allocator's observer to read.
template <typename Allocator>
void feed(const Trace& trace, std::span<const Event> events, Allocator& allocator, int64_t& timeNs,
          AllocatorReplay& replay) {
  for (const Event& event : events) {
    timeNs = event.timeNs;
    switch (event.action) {
      case Action::requestFree:
      case Action::requestFreeOfInstant:
        allocator.requestFree(event.allocation);
        break;
      case Action::free:
      case Action::freeOfInstant:
        allocator.free(event.allocation);
        break;
      case Action::emptyCache:
        allocator.emptyCache();
        break;
      case Action::exist:
      case Action::allocate: {
        const Allocation& a = trace.allocations[event.allocation];
        if (allocator.allocate(event.allocation, requestOf(a), a.stream)) break;
        replay.outOfMemory =
            OutOfMemory{timeNs, event.allocation, requestOf(a), allocator.allocatedBytes(), allocator.reservedBytes()};
      }
    }
    note(replay, {timeNs, allocator.allocatedBytes(), allocator.reservedBytes()});
    if (replay.outOfMemory) return;
  }
}

/// The recorded addresses of segments, each given out once.
class RecordedAddresses {
 public:
  RecordedAddresses(const Trace& trace, std::span<const size_t> segments) {
    for (size_t i : segments)
      if (!trace.allocations[i].older) left_.push_back(&trace.allocations[i]);
  }
  /// The address of the next recorded segment with these bytes on this stream; 0 when there is none.
  uint64_t take(int64_t bytes, int64_t stream) {
    const auto next = std::find_if(left_.begin(), left_.end(), [&](const Allocation* segment) {
      return segment->bytes == bytes && segment->stream == stream;
    });
    if (next == left_.end()) return 0;
    const uint64_t address = (*next)->address;
    left_.erase(next);
    return address;
  }

 private:
  std::vector<const Allocation*> left_;
};

/// Gives the allocator the segments older than the trace, with the older blocks inside them, and removes these blocks
/// from `events`.
void adoptOlder(const Trace& trace, std::span<const size_t> segments, CachingAllocator& allocator,
                std::vector<Event>& events) {
  std::vector<bool> adopted(trace.allocations.size(), false);
  std::map<uint64_t, size_t> byAddress;
  for (const Event& event : events) {
    const Allocation& a = trace.allocations[event.allocation];
    if (event.action == Action::exist && a.address != 0) byAddress.emplace(a.address, event.allocation);
  }
  for (size_t i : segments) {
    const Allocation& segment = trace.allocations[i];
    if (!segment.older) continue;
    std::vector<OlderBlock> blocks;
    const uint64_t end = segment.address + static_cast<uint64_t>(segment.bytes);
    for (auto at = byAddress.lower_bound(segment.address); at != byAddress.end() && at->first < end; ++at) {
      blocks.push_back({at->second, at->first, requestOf(trace.allocations[at->second])});
      adopted[at->second] = true;
    }
    allocator.adoptSegment(segment.address, segment.bytes, segment.stream, std::move(blocks));
  }
  std::erase_if(events, [&](const Event& e) { return e.action == Action::exist && adopted[e.allocation]; });
}

}  // namespace

std::string_view name(AllocatorModel model) { return kModels[static_cast<size_t>(model)]; }

AllocatorModel parseAllocatorModel(std::string_view text, std::string_view option) {
  for (size_t i = 0; i < kModels.size(); ++i)
    if (text == kModels[i]) return static_cast<AllocatorModel>(i);
  throw InputError(fmt::format("{} {} is unknown{} (allowed: {})", option, quote(text), didYouMean(text, kModels),
                               listNames(kModels)));
}

AllocatorReplay replayAllocator(const Trace& trace, TrackId requests, const AllocatorOptions& options) {
  AllocatorReplay replay;
  int64_t timeNs = 0;
  const auto observer = [&](const SegmentEvent& event) { note(replay, event, timeNs); };
  const std::vector<size_t> allocations = allocationsOf(trace, requests);
  if (options.model != AllocatorModel::pytorch) {
    SummingAllocator allocator(trace, options, observer);
    feed(trace, eventsOf(trace, allocations, {}), allocator, timeNs, replay);
    return replay;
  }
  const std::vector<size_t> segments = allocationsOf(trace, segmentTrackOf(trace, requests));
  RecordedAddresses addresses(trace, segments);
  CachingAllocator allocator(
      {.capacityBytes = options.capacityBytes,
       .maxSplitBytes = options.maxSplitBytes,
       .segmentAddress = [&](int64_t bytes, int64_t stream) { return addresses.take(bytes, stream); },
       .observer = observer});
  std::vector<Event> events = eventsOf(trace, allocations, segments);
  adoptOlder(trace, segments, allocator, events);
  const int64_t begin = allocations.empty() ? 0 : trace.allocations[allocations.front()].allocNs;
  if (allocator.reservedBytes() > 0) note(replay, {begin, allocator.allocatedBytes(), allocator.reservedBytes()});
  feed(trace, events, allocator, timeNs, replay);
  return replay;
}

}  // namespace moeblaze
