#include "traces/export/memory_viz_device.h"

#include <algorithm>
#include <tuple>

namespace moeblaze {
namespace {

constexpr uint64_t kMadeUpAddresses = uint64_t{1} << 60;  // above every address of a GPU
constexpr uint64_t kAlignment = 512;

uint64_t endOf(const auto& range) { return range.address + static_cast<uint64_t>(range.bytes); }

class VizBuilder {
 public:
  VizBuilder(const Trace& trace, int32_t device) : trace_(trace), device_(device) {}

  VizDevice build() {
    for (const Allocation& allocation : trace_.allocations) {
      if (allocation.track == TrackId::none) continue;
      const Track& track = trace_.tracks[index(allocation.track)];
      if (track.device != device_ || track.kind == TrackKind::planned) continue;
      add(allocation, track.kind == TrackKind::segments);
    }
    std::ranges::stable_sort(result_.events, {},
                             [](const VizEvent& event) { return std::tuple(event.timeNs, event.rank); });
    joinSegments();
    placeBlocks();
    fillGaps();
    return std::move(result_);
  }

 private:
  void add(const Allocation& allocation, bool isSegment) {
    const uint64_t address = allocation.address ? allocation.address : nextAddress_;
    if (!allocation.address) nextAddress_ += (static_cast<uint64_t>(allocation.bytes) / kAlignment + 1) * kAlignment;
    const int64_t bytes = isSegment ? allocation.bytes : requestedBytes(allocation);
    const auto event = [&](int64_t time, int rank, std::string_view action) {
      if (time != kNever) result_.events.push_back({time, rank, action, &allocation, address, bytes});
    };
    if (isSegment) {
      if (!allocation.older) event(allocation.allocNs, 3, "segment_alloc");
      event(allocation.freeNs, 2, "segment_free");
      if (allocation.freeNs == kNever) {
        result_.segments.push_back({&allocation, address, allocation.bytes, false, {}});
      }
      return;
    }
    if (!allocation.older) event(allocation.allocNs, 4, "alloc");
    event(allocation.freeRequestedNs, 0, "free_requested");
    event(allocation.freeNs, 1, "free_completed");
    if (allocation.freeNs == kNever) blocks_.push_back({&allocation, address, allocation.bytes});
  }

  /// Joins adjoining segments where a block lies across their border.
  void joinSegments() {
    std::ranges::stable_sort(result_.segments, {}, &VizSegment::address);
    std::ranges::stable_sort(blocks_, {}, &VizBlock::address);
    std::vector<VizSegment> joined;
    auto block = blocks_.begin();
    for (VizSegment& segment : result_.segments) {
      const uint64_t border = segment.address;
      while (block != blocks_.end() && endOf(*block) <= border) ++block;
      const bool crosses = block != blocks_.end() && block->address < border;
      if (!joined.empty() && endOf(joined.back()) == border && crosses) {
        joined.back().bytes += segment.bytes;
        joined.back().joined = true;
      } else {
        joined.push_back(std::move(segment));
      }
    }
    result_.segments = std::move(joined);
  }

  /// Puts every block into its segment. A block that fits into none gets a made-up segment.
  void placeBlocks() {
    std::vector<VizSegment> madeUp;
    auto segment = result_.segments.begin();
    for (const VizBlock& block : blocks_) {
      while (segment != result_.segments.end() && endOf(*segment) <= block.address) ++segment;
      const bool inside = segment != result_.segments.end() && segment->address <= block.address &&
                          endOf(block) <= endOf(*segment) &&
                          (segment->blocks.empty() || endOf(segment->blocks.back()) <= block.address);
      if (inside) {
        segment->blocks.push_back(block);
      } else {
        madeUp.push_back({nullptr, block.address, block.bytes, false, {block}});
      }
    }
    std::ranges::move(madeUp, std::back_inserter(result_.segments));
    std::ranges::stable_sort(result_.segments, {}, &VizSegment::address);
  }

  void fillGaps() {
    for (VizSegment& segment : result_.segments) {
      std::vector<VizBlock> all;
      uint64_t next = segment.address;
      const auto gapUntil = [&](uint64_t address) {
        if (next < address) all.push_back({nullptr, next, static_cast<int64_t>(address - next)});
      };
      for (const VizBlock& block : segment.blocks) {
        gapUntil(block.address);
        all.push_back(block);
        next = endOf(block);
      }
      gapUntil(endOf(segment));
      segment.blocks = std::move(all);
    }
  }

  const Trace& trace_;
  int32_t device_;
  uint64_t nextAddress_ = kMadeUpAddresses;
  std::vector<VizBlock> blocks_;
  VizDevice result_;
};

}  // namespace

VizDevice makeVizDevice(const Trace& trace, int32_t device) { return VizBuilder(trace, device).build(); }

}  // namespace moeblaze
