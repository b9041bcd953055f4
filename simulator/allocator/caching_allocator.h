#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <unordered_map>
#include <vector>

namespace moeblaze {

// Sizes in bytes of PyTorch's native allocator (c10/cuda/CUDACachingAllocator.cpp). Comments in this file and in
// caching_allocator.cpp give PyTorch's own names.

/// kMinBlockSize: every block is a multiple of this.
inline constexpr int64_t kBlockUnit = 512;
/// kSmallSize: requests up to this size are served from the small pool.
inline constexpr int64_t kSmallRequest = int64_t{1} << 20;
/// kSmallBuffer: the size of a segment of the small pool.
inline constexpr int64_t kSmallSegment = int64_t{2} << 20;
/// kLargeBuffer: the size of a segment of the large pool for requests below kOwnSegmentRequest.
inline constexpr int64_t kLargeSegment = int64_t{20} << 20;
/// kMinLargeAlloc: requests from this size on get a segment of their own.
inline constexpr int64_t kOwnSegmentRequest = int64_t{10} << 20;
/// kRoundLarge: the size of such a segment is a multiple of this.
inline constexpr int64_t kSegmentUnit = int64_t{2} << 20;
inline constexpr int64_t kUnlimited = std::numeric_limits<int64_t>::max();

/// The size of a block for a request: the next multiple of 512 bytes (round_size, without roundup_power2_divisions).
int64_t roundedBytes(int64_t bytes);
/// Size in bytes of the segment taken from the device for a block of `rounded` bytes (get_allocation_size).
int64_t segmentBytesFor(int64_t rounded);

enum class BlockState : uint8_t {
  free,
  used,
  pending,  ///< the program let go of it, but another stream may still use it
};

/// A part of a segment, which serves one request or is free.
struct AllocatorBlock {
  uint64_t address = 0;
  int64_t bytes = 0;           ///< with what was too small to split off
  int64_t requestedBytes = 0;  ///< 0 for a free block
  BlockState state = BlockState::free;
};

/// Memory that was taken from the device in one piece.
struct AllocatorSegment {
  uint64_t address = 0;
  int64_t bytes = 0;
  int64_t stream = 0;
  bool small = false;                  ///< belongs to the small pool
  std::vector<AllocatorBlock> blocks;  ///< ascending by address, without gaps
};

/// A segment was taken from the device, or given back to it.
struct SegmentEvent {
  bool taken = false;
  uint64_t address = 0;
  int64_t bytes = 0;
  int64_t stream = 0;
};

/// A block that exists when the model starts.
struct OlderBlock {
  size_t id = 0;
  uint64_t address = 0;
  int64_t requestedBytes = 0;
};

/// What the model cannot know by itself.
struct CachingAllocatorOptions {
  int64_t capacityBytes = kUnlimited;  ///< the most it may reserve: the device's memory without what others hold
  int64_t maxSplitBytes = kUnlimited;  ///< max_split_size_mb; must be more than 20 MiB
  /// Gives the address of the next segment from its bytes and stream. Blocks of the same size are chosen by address,
  /// and only a recording knows where the driver put them. When it is empty or returns 0, the segment lies above all
  /// others.
  std::function<uint64_t(int64_t bytes, int64_t stream)> segmentAddress = {};
  std::function<void(const SegmentEvent& event)> observer =
      {};  ///< called for every segment taken or given back after the start
};

/// A model of PyTorch's native CUDA caching allocator for one device (c10/cuda/CUDACachingAllocator.cpp, 2.x). It
/// leaves out what is off by default: expandable segments, garbage collection, power-of-two rounding and the private
/// pools of CUDA graphs. The caller chooses an id for each block.
class CachingAllocator {
 public:
  /// Throws InputError when maxSplitBytes is not more than 20 MiB, which PyTorch refuses too.
  explicit CachingAllocator(CachingAllocatorOptions options);

  /// Adds a segment that exists when the model starts, without telling the observer. What `blocks` leave of it is free.
  /// Throws InputError when the segment overlaps another, or a block overlaps another or leaves the segment.
  void adoptSegment(uint64_t address, int64_t bytes, int64_t stream, std::vector<OlderBlock> blocks);

  /// Takes a block of at least `bytes` for `stream` and returns its address. The block is the smallest free one that
  /// fits, of several the one with the lowest address. Without one a new segment is taken from the device, if necessary
  /// after cached segments were given back; nothing is returned when that fails too. A request of 0 bytes takes no
  /// memory and gets address 0.
  std::optional<uint64_t> allocate(size_t id, int64_t bytes, int64_t stream);
  /// The program lets go of `id`: its block no longer counts as allocated, but cannot be used again yet. Ids without a
  /// block are ignored.
  void requestFree(size_t id);
  /// Makes the block of `id` free and joins it with free neighbours. requestFree() need not have been called.
  void free(size_t id);
  /// Makes pending blocks free, then gives every segment without a used block back to the device
  /// (torch.cuda.empty_cache).
  void emptyCache();

  int64_t allocatedBytes() const { return allocated_; }  ///< of used blocks (allocated_bytes)
  int64_t reservedBytes() const { return reserved_; }    ///< of all segments (reserved_bytes)
  int64_t requestedBytes() const { return requested_; }  ///< requested for used and pending blocks (requested_bytes)
  /// The address of the block of `id`; nothing when it has none.
  std::optional<uint64_t> addressOf(size_t id) const;
  /// All segments with their blocks, by address.
  std::vector<AllocatorSegment> segments() const;

 private:
  struct Segment {
    int64_t bytes = 0;
    int64_t stream = 0;
    bool small = false;
  };
  struct Block {
    uint64_t segment = 0;  ///< its address
    int64_t bytes = 0;
    int64_t requestedBytes = 0;
    size_t id = 0;
    BlockState state = BlockState::free;
  };
  /// A free block, ordered as best fit searches (BlockComparatorSize).
  struct FreeBlock {
    int64_t stream = 0;
    int64_t bytes = 0;
    uint64_t address = 0;
    auto operator<=>(const FreeBlock&) const = default;
  };
  using Pool = std::set<FreeBlock>;
  using BlockAt = std::map<uint64_t, Block>::iterator;

  Pool& poolOf(const Segment& segment) { return segment.small ? small_ : large_; }
  bool splits(const Segment& segment, int64_t blockBytes, int64_t bytes) const;
  std::optional<FreeBlock> findFree(const Pool& pool, int64_t bytes, int64_t stream) const;
  std::optional<FreeBlock> addSegment(int64_t rounded, int64_t stream);
  void insertFree(BlockAt block);
  void eraseFree(BlockAt block);
  uint64_t take(BlockAt block, size_t id, int64_t rounded, int64_t requested);
  void joinNext(BlockAt block);
  void complete(BlockAt block);
  bool overlapsSegment(uint64_t address, int64_t bytes) const;
  bool isWhole(const FreeBlock& block) const;
  void giveBack(FreeBlock block);
  void giveBackWhole(Pool& pool);
  bool giveBackOversized(Pool& pool, int64_t rounded, int64_t stream);

  CachingAllocatorOptions options_;
  std::map<uint64_t, Segment> segments_;  ///< by address
  std::map<uint64_t, Block> blocks_;      ///< the blocks of all segments, by address
  Pool small_, large_;
  std::unordered_map<size_t, uint64_t> addresses_;  ///< of the blocks, by id
  uint64_t nextAddress_ = uint64_t{1} << 40;        ///< lies above every segment so far
  int64_t allocated_ = 0, reserved_ = 0, requested_ = 0;
};

}  // namespace moeblaze
