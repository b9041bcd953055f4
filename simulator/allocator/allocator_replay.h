#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "core/trace/trace.h"
#include "simulator/allocator/caching_allocator.h"

namespace moeblaze {

/// The allocator that serves the requests of a track.
enum class AllocatorModel : uint8_t {
  exact,    ///< none: reserved bytes are the bytes alive, as a MemoryCurve has them
  pytorch,  ///< PyTorch's native caching allocator, see CachingAllocator
  /// A stream-ordered memory pool that keeps what it has (cudaMallocAsync as c10/cuda/CUDAMallocAsyncAllocator.cpp sets
  /// it up). The model assumes that used bytes are requests rounded up to 512, that reserved bytes grow in steps of
  /// 32 MiB when they are needed and never shrink, and that the pool remaps pages, so that it has no fragmentation
  /// beyond that.
  pool,
};
std::string_view name(AllocatorModel model);
/// The model of that name. Throws InputError, which names the `option` that has the text and the nearest model.
AllocatorModel parseAllocatorModel(std::string_view text, std::string_view option);

struct AllocatorOptions {
  AllocatorModel model = AllocatorModel::pytorch;
  int64_t capacityBytes = kUnlimited;  ///< the most that may be reserved
  int64_t maxSplitBytes = kUnlimited;  ///< only for pytorch, see CachingAllocatorOptions
};

/// State of an allocator from one instant to the next, in bytes.
struct AllocatorPoint {
  int64_t timeNs = 0;     ///< the state holds from here to the next point
  int64_t allocated = 0;  ///< blocks in use
  int64_t reserved = 0;   ///< taken from the device
  int64_t fragmentation() const { return reserved - allocated; }
};

/// A segment that the replay took from the device.
struct ReplayedSegment {
  int64_t timeNs = 0;
  int64_t bytes = 0;
  int64_t stream = 0;
  uint64_t address = 0;     ///< 0 when a pool grew
  int64_t freeNs = kNever;  ///< when it was given back
};

/// The request at which the replay ended, since it could not be served, and the bytes held after all caches were given
/// back.
struct OutOfMemory {
  int64_t timeNs = 0;
  size_t allocation = 0;  ///< index into the trace's allocations
  int64_t requestedBytes = 0;
  int64_t allocatedBytes = 0;
  int64_t reservedBytes = 0;
};

/// How an allocator served the requests of a track.
struct AllocatorReplay {
  std::vector<ReplayedSegment> segments;  ///< in the order taken, without those older than the trace
  std::vector<AllocatorPoint> points;     ///< one for each instant at which something changed, ascending in time
  AllocatorPoint allocatedPeak;           ///< the first state with the most allocated
  AllocatorPoint reservedPeak;            ///< the first state with the most reserved
  std::optional<OutOfMemory> outOfMemory;
};

/// Feeds the requests of one track to an allocator. Allocators are sensitive to order, so a recording should give every
/// event a time of its own. Events of one instant are fed in this order: allocations older than the trace, frees of
/// what was allocated earlier, allocations in the order of the trace, frees of what was allocated at that instant. The
/// program lets go of a request at freeRequestedNs, and its memory can be used again from freeNs on; only pytorch uses
/// the former.
///
/// With pytorch, the track of the device's segments adds what requests do not tell. The replay starts from the segments
/// older than the trace, with the older allocations inside them. A new segment gets the recorded address of the next
/// segment with the same bytes and stream, so that the replay chooses among equally good blocks as the program did.
/// Where a recorded segment is freed, the program is taken to have emptied the cache. Throws InputError when older
/// segments overlap or do not hold their blocks.
AllocatorReplay replayAllocator(const Trace& trace, TrackId requests, const AllocatorOptions& options);

}  // namespace moeblaze
