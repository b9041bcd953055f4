#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "core/trace/trace.h"
#include "simulator/allocator/caching_allocator.h"

namespace moeblaze {

/// Who serves the requests of a track.
enum class AllocatorModel : uint8_t {
  exact,    ///< nobody: the sum of the bytes alive, as MemoryCurve has it, and nothing reserved beyond it
  pytorch,  ///< PyTorch's native caching allocator: CachingAllocator
  /// A stream-ordered memory pool that keeps what it has (cudaMallocAsync as c10/cuda/CUDAMallocAsyncAllocator.cpp sets
  /// it up). Assumed: used bytes are requests rounded to 512; reserved grows in steps of 32 MiB as they need it and
  /// never shrinks; the pool remaps pages, so nothing else is lost to fragmentation.
  pool,
};
std::string_view name(AllocatorModel model);
/// Throws InputError, with the nearest name; `option` is what the text was given for.
AllocatorModel parseAllocatorModel(std::string_view text, std::string_view option);

struct AllocatorOptions {
  AllocatorModel model = AllocatorModel::pytorch;
  int64_t capacityBytes = kUnlimited;  ///< most that may be reserved
  int64_t maxSplitBytes = kUnlimited;  ///< of pytorch: CachingAllocatorOptions
};

/// Bytes at one instant.
struct AllocatorPoint {
  int64_t timeNs = 0;     ///< from here to the next point
  int64_t allocated = 0;  ///< blocks in use
  int64_t reserved = 0;   ///< taken from the device
  int64_t fragmentation() const { return reserved - allocated; }
};

/// A segment the replay took from the device.
struct ReplayedSegment {
  int64_t timeNs = 0;
  int64_t bytes = 0;
  int64_t stream = 0;
  uint64_t address = 0;     ///< 0 of a pool's growth
  int64_t freeNs = kNever;  ///< when it was given back
};

/// A request that could not be served, and what was held then even without caches. The replay ends there.
struct OutOfMemory {
  int64_t timeNs = 0;
  size_t allocation = 0;  ///< index into the trace's allocations
  int64_t requestedBytes = 0;
  int64_t allocatedBytes = 0;
  int64_t reservedBytes = 0;
};

/// What an allocator made of a track's requests.
struct AllocatorReplay {
  std::vector<ReplayedSegment> segments;  ///< in the order taken; those older than the trace are not among them
  std::vector<AllocatorPoint> points;     ///< ascending in time, one per instant at which something changed
  AllocatorPoint allocatedPeak;           ///< the first instant of the most allocated, frees of an instant coming first
  AllocatorPoint reservedPeak;            ///< the first instant of the most reserved
  std::optional<OutOfMemory> outOfMemory;
};

/// Feeds the requests of one track to an allocator. At one instant what is older exists, then what began earlier is
/// freed, then allocations come in the trace's order, then what began at that instant is freed: allocators are
/// sensitive to order, so a recording should give every event a time of its own. A request is let go of at
/// freeRequestedNs and reusable at freeNs; only pytorch knows the former.
///
/// With pytorch, the device's `segments` track adds what requests do not tell: older segments, with the older
/// allocations inside them, are where the replay starts; new segments get the recorded address of the next segment of
/// the same bytes and stream, so that equally good blocks are told apart as they were; and where recorded segments are
/// freed the program is taken to have emptied the cache. Throws InputError when older segments contradict themselves.
AllocatorReplay replayAllocator(const Trace& trace, TrackId requests, const AllocatorOptions& options);

}  // namespace moeblaze
