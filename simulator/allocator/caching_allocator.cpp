#include "simulator/allocator/caching_allocator.h"

#include <algorithm>
#include <iterator>

#include "core/base/error.h"

namespace moeblaze {
namespace {

constexpr int64_t roundUp(int64_t bytes, int64_t unit) { return (bytes + unit - 1) / unit * unit; }
constexpr uint64_t after(uint64_t address, int64_t bytes) { return address + static_cast<uint64_t>(bytes); }

}  // namespace

int64_t roundedBytes(int64_t bytes) { return std::max(kBlockUnit, roundUp(bytes, kBlockUnit)); }

int64_t segmentBytesFor(int64_t rounded) {
  if (rounded <= kSmallRequest) return kSmallSegment;
  return rounded < kOwnSegmentRequest ? kLargeSegment : roundUp(rounded, kSegmentUnit);
}

CachingAllocator::CachingAllocator(CachingAllocatorOptions options) : options_(std::move(options)) {
  if (options_.maxSplitBytes <= kLargeSegment)
    refuse("max_split_size", "{} bytes; allowed: more than {}", options_.maxSplitBytes, kLargeSegment);
}

/// True when the part of a block that a request of `bytes` leaves over becomes a block of its own (should_split).
bool CachingAllocator::splits(const Segment& segment, int64_t blockBytes, int64_t bytes) const {
  const int64_t remaining = blockBytes - bytes;
  if (segment.small) return remaining >= kBlockUnit;
  return bytes < options_.maxSplitBytes && remaining > kSmallRequest;
}

void CachingAllocator::adoptSegment(uint64_t address, int64_t bytes, int64_t stream, std::vector<OlderBlock> blocks) {
  if (bytes <= 0 || overlapsSegment(address, bytes))
    refuse("segment", "{:#x} of {} bytes overlaps another or is empty", address, bytes);
  // Segments of the small pool have 2 MiB, those of the large pool at least 10 MiB.
  const Segment segment{bytes, stream, bytes <= kSmallSegment};
  std::sort(blocks.begin(), blocks.end(),
            [](const OlderBlock& a, const OlderBlock& b) { return a.address < b.address; });
  uint64_t end = address;
  for (const OlderBlock& block : blocks) {
    const int64_t rounded = roundedBytes(block.requestedBytes);
    if (block.address < end || block.requestedBytes <= 0 || rounded > bytes ||
        after(block.address, rounded) > after(address, bytes))
      refuse("segment", "{:#x}: block {:#x} of {} bytes overlaps another or leaves it", address, block.address,
             block.requestedBytes);
    end = after(block.address, rounded);
  }
  segments_.emplace(address, segment);
  reserved_ += bytes;
  nextAddress_ = std::max(nextAddress_, after(address, roundUp(bytes, kSegmentUnit)));
  BlockAt rest = blocks_.emplace(address, Block{.segment = address, .bytes = bytes}).first;
  insertFree(rest);
  // Taken from the last to the first, each block ends where the next one begins, and keeps what is too small to split
  // off.
  for (auto block = blocks.rbegin(); block != blocks.rend(); ++block) {
    const int64_t before = static_cast<int64_t>(block->address - address);
    BlockAt at = rest;
    if (before > 0) {
      eraseFree(rest);
      at = blocks_.emplace(block->address, Block{.segment = address, .bytes = rest->second.bytes - before}).first;
      rest->second.bytes = before;
      insertFree(rest);
      insertFree(at);
    }
    take(at, block->id, roundedBytes(block->requestedBytes), block->requestedBytes);
  }
}

std::optional<uint64_t> CachingAllocator::allocate(size_t id, int64_t bytes, int64_t stream) {
  if (bytes <= 0) return 0;
  const int64_t rounded = roundedBytes(bytes);
  Pool& pool = rounded <= kSmallRequest ? small_ : large_;
  std::optional<FreeBlock> found = findFree(pool, rounded, stream);
  if (!found) found = addSegment(rounded, stream);
  if (!found && giveBackOversized(pool, rounded, stream)) found = addSegment(rounded, stream);
  if (!found) {
    emptyCache();
    found = addSegment(rounded, stream);
  }
  if (!found) return std::nullopt;
  return take(blocks_.find(found->address), id, rounded, bytes);
}

/// Best fit (get_free_block). A block of maxSplitBytes or more serves only a request of that size, and only if less
/// than 20 MiB would be left over.
std::optional<CachingAllocator::FreeBlock> CachingAllocator::findFree(const Pool& pool, int64_t bytes,
                                                                      int64_t stream) const {
  const auto best = pool.lower_bound({stream, bytes, 0});
  if (best == pool.end() || best->stream != stream) return std::nullopt;
  const bool oversized = bytes >= options_.maxSplitBytes;
  if (!oversized && best->bytes >= options_.maxSplitBytes) return std::nullopt;
  if (oversized && best->bytes >= bytes + kLargeSegment) return std::nullopt;
  return *best;
}

/// Takes a segment for a block of `rounded` bytes from the device (alloc_block); nothing when that would exceed the
/// capacity.
std::optional<CachingAllocator::FreeBlock> CachingAllocator::addSegment(int64_t rounded, int64_t stream) {
  const int64_t bytes = segmentBytesFor(rounded);
  if (bytes > options_.capacityBytes - reserved_) return std::nullopt;
  uint64_t address = options_.segmentAddress ? options_.segmentAddress(bytes, stream) : 0;
  // An address can be in use already when a replay no longer follows its recording.
  if (address == 0 || overlapsSegment(address, bytes)) address = nextAddress_;
  nextAddress_ = std::max(nextAddress_, after(address, roundUp(bytes, kSegmentUnit)));
  segments_.emplace(address, Segment{bytes, stream, rounded <= kSmallRequest});
  reserved_ += bytes;
  insertFree(blocks_.emplace(address, Block{.segment = address, .bytes = bytes}).first);
  if (options_.observer) options_.observer({true, address, bytes, stream});
  return FreeBlock{stream, bytes, address};
}

void CachingAllocator::insertFree(BlockAt block) {
  const Segment& segment = segments_.at(block->second.segment);
  poolOf(segment).insert({segment.stream, block->second.bytes, block->first});
}

void CachingAllocator::eraseFree(BlockAt block) {
  const Segment& segment = segments_.at(block->second.segment);
  poolOf(segment).erase({segment.stream, block->second.bytes, block->first});
}

/// Gives a free block to `id` and splits off what it leaves over if that is enough for a block (alloc_found_block).
uint64_t CachingAllocator::take(BlockAt block, size_t id, int64_t rounded, int64_t requested) {
  eraseFree(block);
  Block& taken = block->second;
  if (splits(segments_.at(taken.segment), taken.bytes, rounded)) {
    insertFree(
        blocks_.emplace(after(block->first, rounded), Block{.segment = taken.segment, .bytes = taken.bytes - rounded})
            .first);
    taken.bytes = rounded;
  }
  taken.requestedBytes = requested;
  taken.id = id;
  taken.state = BlockState::used;
  addresses_[id] = block->first;
  allocated_ += taken.bytes;
  requested_ += requested;
  return block->first;
}

void CachingAllocator::requestFree(size_t id) {
  const auto held = addresses_.find(id);
  if (held == addresses_.end()) return;
  Block& block = blocks_.at(held->second);
  if (block.state != BlockState::used) return;
  block.state = BlockState::pending;
  allocated_ -= block.bytes;
}

void CachingAllocator::free(size_t id) {
  requestFree(id);
  if (const auto held = addresses_.find(id); held != addresses_.end()) complete(blocks_.find(held->second));
}

/// Makes a pending block free (free_block).
void CachingAllocator::complete(BlockAt block) {
  requested_ -= block->second.requestedBytes;
  addresses_.erase(block->second.id);
  block->second.requestedBytes = 0;
  block->second.state = BlockState::free;
  insertFree(block);
  joinNext(block);
  if (block != blocks_.begin()) joinNext(std::prev(block));
}

/// Joins a block and the one behind it if both are free and belong to one segment (try_merge_blocks).
void CachingAllocator::joinNext(BlockAt block) {
  const BlockAt next = std::next(block);
  if (next == blocks_.end() || next->second.segment != block->second.segment ||
      block->second.state != BlockState::free || next->second.state != BlockState::free)
    return;
  eraseFree(block);
  eraseFree(next);
  block->second.bytes += next->second.bytes;
  blocks_.erase(next);
  insertFree(block);
}

void CachingAllocator::emptyCache() {
  std::vector<BlockAt> pending;  // iterators to pending blocks stay valid, since joining erases only free ones
  for (BlockAt block = blocks_.begin(); block != blocks_.end(); ++block)
    if (block->second.state == BlockState::pending) pending.push_back(block);
  for (BlockAt block : pending) complete(block);
  giveBackWhole(large_);
  giveBackWhole(small_);
}

bool CachingAllocator::overlapsSegment(uint64_t address, int64_t bytes) const {
  const auto above = segments_.lower_bound(after(address, bytes));
  if (above == segments_.begin()) return false;
  const auto& [below, segment] = *std::prev(above);
  return after(below, segment.bytes) > address;
}

bool CachingAllocator::isWhole(const FreeBlock& block) const {
  const auto segment = segments_.find(block.address);
  return segment != segments_.end() && segment->second.bytes == block.bytes;
}

/// Gives the segment that a free block fills back to the device (release_block).
void CachingAllocator::giveBack(FreeBlock block) {
  poolOf(segments_.at(block.address)).erase(block);
  blocks_.erase(block.address);
  segments_.erase(block.address);
  reserved_ -= block.bytes;
  if (options_.observer) options_.observer({false, block.address, block.bytes, block.stream});
}

void CachingAllocator::giveBackWhole(Pool& pool) {
  for (auto it = pool.begin(); it != pool.end();) {
    const FreeBlock block = *it++;
    if (isWhole(block)) giveBack(block);
  }
}

/// Gives back cached blocks that are too large to split until they hold enough for the request
/// (release_available_cached_blocks). Returns true when they do.
bool CachingAllocator::giveBackOversized(Pool& pool, int64_t rounded, int64_t stream) {
  if (options_.maxSplitBytes == kUnlimited) return false;
  const int64_t wanted = std::max(rounded, options_.maxSplitBytes);
  auto it = pool.lower_bound({stream, wanted, 0});
  if (it != pool.end() && it->stream == stream) {
    giveBack(*it);
    return true;
  }
  int64_t released = 0;
  while (released < wanted && it != pool.begin()) {
    const FreeBlock largest = *std::prev(it);
    if (largest.stream != stream || largest.bytes < options_.maxSplitBytes) break;
    giveBack(largest);
    released += largest.bytes;
  }
  return released >= wanted;
}

std::optional<uint64_t> CachingAllocator::addressOf(size_t id) const {
  const auto held = addresses_.find(id);
  return held == addresses_.end() ? std::nullopt : std::optional(held->second);
}

std::vector<AllocatorSegment> CachingAllocator::segments() const {
  std::vector<AllocatorSegment> all;
  for (const auto& [address, segment] : segments_)
    all.push_back({address, segment.bytes, segment.stream, segment.small, {}});
  auto segment = all.begin();
  for (const auto& [address, block] : blocks_) {
    while (segment->address != block.segment) ++segment;
    segment->blocks.push_back({address, block.bytes, block.requestedBytes, block.state});
  }
  return all;
}

}  // namespace moeblaze
