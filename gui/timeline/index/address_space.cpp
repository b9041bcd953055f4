#include <algorithm>

#include "gui/timeline/index/address_map.h"

namespace moeblaze::gui {
namespace {

constexpr uint64_t kMinPage = uint64_t{2} << 20;
constexpr uint64_t kMaxPages = uint64_t{1} << 22;

struct Extent {
  uint64_t start = ~uint64_t{0}, end = 0;
};

template <typename OnRange>
void forRanges(const Trace& trace, TrackId track, TrackId segments, OnRange onRange) {
  for (const Allocation& allocation : trace.allocations) {
    const bool ours = allocation.track == track || (segments != TrackId::none && allocation.track == segments);
    if (!ours || allocation.address == 0 || allocation.bytes <= 0) continue;
    const uint64_t bytes = static_cast<uint64_t>(allocation.bytes);
    const uint64_t room = ~uint64_t{0} - allocation.address;  // a foreign file may hold any numbers
    onRange(allocation.address, allocation.address + std::min(bytes, room));
  }
}

}  // namespace

AddressSpace::AddressSpace(const Trace& trace, TrackId track, TrackId segments) {
  Extent extent;
  forRanges(trace, track, segments, [&](uint64_t start, uint64_t end) {
    extent.start = std::min(extent.start, start);
    extent.end = std::max(extent.end, end);
  });
  if (extent.start >= extent.end) return;
  uint64_t page = kMinPage;
  while ((extent.end - extent.start) / page >= kMaxPages) page *= 2;
  extent.start -= extent.start % page;

  // For each page, the ranges that begin there minus those that end before it. A page is used where the running sum is
  // positive.
  std::vector<int32_t> changes((extent.end - 1 - extent.start) / page + 2);
  forRanges(trace, track, segments, [&](uint64_t start, uint64_t end) {
    ++changes[(start - extent.start) / page];
    --changes[(end - 1 - extent.start) / page + 1];
  });
  int64_t used = 0;
  for (uint64_t i = 0; i < changes.size(); ++i) {
    const bool wasUsed = used > 0;
    used += changes[i];
    if (!wasUsed && used > 0) runs_.push_back({extent.start + i * page, 0, size_});
    if (wasUsed && used == 0) {
      runs_.back().end = extent.start + i * page;
      size_ += runs_.back().end - runs_.back().start;
    }
  }
}

std::optional<uint64_t> AddressSpace::offsetOf(uint64_t address) const {
  const auto after = std::ranges::upper_bound(runs_, address, {}, &Run::start);
  if (after == runs_.begin() || address >= (after - 1)->end) return std::nullopt;
  return (after - 1)->offset + (address - (after - 1)->start);
}

uint64_t AddressSpace::addressAt(uint64_t offset) const {
  if (runs_.empty()) return 0;
  const auto after = std::ranges::upper_bound(runs_, offset, {}, &Run::offset);
  return (after - 1)->start + (offset - (after - 1)->offset);
}

}  // namespace moeblaze::gui
