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

// Sizes in bytes of PyTorch's native allocator (c10/cuda/CUDACachingAllocator.cpp; the names there are in the
// comments).
inline constexpr int64_t kBlockUnit = 512;                        ///< kMinBlockSize: every block is a multiple
inline constexpr int64_t kSmallRequest = int64_t{1} << 20;        ///< kSmallSize: up to here from the small pool
inline constexpr int64_t kSmallSegment = int64_t{2} << 20;        ///< kSmallBuffer
inline constexpr int64_t kLargeSegment = int64_t{20} << 20;       ///< kLargeBuffer: below kOwnSegmentRequest
inline constexpr int64_t kOwnSegmentRequest = int64_t{10} << 20;  ///< kMinLargeAlloc: from here its own segment
inline constexpr int64_t kSegmentUnit = int64_t{2} << 20;         ///< kRoundLarge: which is a multiple of this
inline constexpr int64_t kUnlimited = std::numeric_limits<int64_t>::max();

/// `bytes` as a block holds them: at least 512, a multiple of 512 (round_size, without roundup_power2_divisions).
int64_t roundedBytes(int64_t bytes);
/// Size in bytes of the segment taken from the device for a block of `rounded` bytes (get_allocation_size).
int64_t segmentBytesFor(int64_t rounded);

/// What a part of a segment is. `pending`: let go of by the program, while another stream may still use it.
enum class BlockState : uint8_t { free, used, pending };

/// A part of a segment.
struct AllocatorBlock {
  uint64_t address = 0;
  int64_t bytes = 0;           ///< with what was too little to split off
  int64_t requestedBytes = 0;  ///< 0 of a free block
  BlockState state = BlockState::free;
};

/// Memory taken from the device at once.
struct AllocatorSegment {
  uint64_t address = 0;
  int64_t bytes = 0;
  int64_t stream = 0;
  bool small = false;                  ///< serves the small pool
  std::vector<AllocatorBlock> blocks;  ///< ascending, without gaps
};

/// A segment taken from the device or given back.
struct SegmentEvent {
  bool taken = false;
  uint64_t address = 0;
  int64_t bytes = 0;
  int64_t stream = 0;
};

/// A block that existed before the model starts.
struct OlderBlock {
  size_t id = 0;
  uint64_t address = 0;
  int64_t requestedBytes = 0;
};

/// What the model does not follow of its own.
struct CachingAllocatorOptions {
  int64_t capacityBytes = kUnlimited;  ///< most it may reserve: the device's memory, less what others hold
  int64_t maxSplitBytes = kUnlimited;  ///< max_split_size_mb; more than 20 MiB
  /// Address of the next segment, given its bytes and stream; 0 or empty: one above all before. Blocks of the same size
  /// are chosen by address, and only a recording knows where the driver put them.
  std::function<uint64_t(int64_t bytes, int64_t stream)> segmentAddress = {};
  std::function<void(const SegmentEvent& event)> observer = {};  ///< told of every segment after the start
};

/// PyTorch's native CUDA caching allocator for one device (c10/cuda/CUDACachingAllocator.cpp, 2.x):
/// expandable segments, garbage collection, power-of-two rounding and private pools of CUDA graphs are left out, as
/// they are off by default. Blocks are named by ids the caller chooses.
class CachingAllocator {
 public:
  /// Throws InputError when maxSplitBytes is not more than 20 MiB, as PyTorch does.
  explicit CachingAllocator(CachingAllocatorOptions options);

  /// Starts with a segment that exists: what `blocks` leave of it is free. Not told to the observer. Throws InputError
  /// when it overlaps a known segment, or a block leaves the segment or overlaps another.
  void adoptSegment(uint64_t address, int64_t bytes, int64_t stream, std::vector<OlderBlock> blocks);

  /// The address of a block of at least `bytes` for `stream`: the smallest free one that fits, of equals the lowest;
  /// else from a new segment, if need be after giving back cached ones; nothing when memory is out. 0 bytes take no
  /// memory and get address 0.
  std::optional<uint64_t> allocate(size_t id, int64_t bytes, int64_t stream);
  /// The program lets go of `id`: no longer allocated, not yet reusable. Ids without a block are ignored.
  void requestFree(size_t id);
  /// The block of `id` is free again and joins its free neighbours; lets go of it first if need be.
  void free(size_t id);
  /// Gives back every segment that holds no block, after completing what is pending (torch.cuda.empty_cache).
  void emptyCache();

  int64_t allocatedBytes() const { return allocated_; }  ///< blocks in use (allocated_bytes)
  int64_t reservedBytes() const { return reserved_; }    ///< all segments (reserved_bytes)
  int64_t requestedBytes() const { return requested_; }  ///< asked for, of blocks in use or pending (requested_bytes)
  /// Where the block of `id` lies; nothing when it has none.
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
    uint64_t segment = 0;  ///< address of
    int64_t bytes = 0;
    int64_t requestedBytes = 0;
    size_t id = 0;
    BlockState state = BlockState::free;
  };
  /// A free block in the order best fit searches (BlockComparatorSize).
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
  std::map<uint64_t, Block> blocks_;      ///< by address, of all segments
  Pool small_, large_;
  std::unordered_map<size_t, uint64_t> addresses_;  ///< of ids
  uint64_t nextAddress_ = uint64_t{1} << 40;        ///< above every segment so far
  int64_t allocated_ = 0, reserved_ = 0, requested_ = 0;
};

}  // namespace moeblaze
