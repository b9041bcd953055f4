#include "gui/timeline/index/address_map.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

namespace moeblaze::gui {
namespace {

constexpr size_t kMinBins = 1024, kMaxBins = size_t{1} << 17, kAllocationsPerBin = 128;

}  // namespace

/// Walks over the events once and keeps the bytes of every row. The fill of a bin is the mean over its time.
class AddressMap::Filler {
 public:
  Filler(AddressMap& map, const MemoryEvents& events)
      : map_(map),
        events_(events),
        rowBytes_(static_cast<double>(map.space_.size()) / kRows),
        scale_(map.fillWindow_, static_cast<int>(map.bins_)) {
    lastNs_.fill(map.fillWindow_.startNs);
  }

  void run(const Progress& progress) {
    for (size_t point = 0; point < events_.pointCount(); ++point) {
      const int64_t timeNs = events_.times()[point];
      while (bin_ + 1 < map_.bins_ && timeNs >= scale_.edge(static_cast<int>(bin_) + 1)) endBin(progress);
      for (size_t at = events_.firstEvent(point); at < events_.firstEvent(point + 1); ++at)
        add(events_.event(at), timeNs);
    }
    while (bin_ < map_.bins_) endBin(progress);
  }

 private:
  void add(const MemoryEvents::Event& event, int64_t timeNs) {
    const Allocation& allocation = events_.trace().allocations[event.allocation];
    const std::optional<uint64_t> offset =
        allocation.address == 0 ? std::nullopt : map_.space_.offsetOf(allocation.address);
    if (!offset) return;
    const double start = static_cast<double>(*offset), end = start + static_cast<double>(allocation.bytes);
    for (size_t row = rowOf(start); row < kRows && static_cast<double>(row) * rowBytes_ < end; ++row) {
      settle(row, timeNs);
      const double from = std::max(start, static_cast<double>(row) * rowBytes_);
      const double to = std::min(end, static_cast<double>(row + 1) * rowBytes_);
      bytes_[row] += event.isFree ? from - to : to - from;
    }
  }

  size_t rowOf(double offset) const { return static_cast<size_t>(offset / rowBytes_); }

  void settle(size_t row, int64_t timeNs) {
    area_[row] += bytes_[row] * static_cast<double>(timeNs - lastNs_[row]);
    lastNs_[row] = timeNs;
  }

  void endBin(const Progress& progress) {
    if (bin_ % 1024 == 0) progress.report(static_cast<double>(bin_) / static_cast<double>(map_.bins_));
    const int64_t startNs = scale_.edge(static_cast<int>(bin_)), endNs = scale_.edge(static_cast<int>(bin_) + 1);
    const double full = rowBytes_ * static_cast<double>(std::max<int64_t>(1, endNs - startNs));
    for (size_t row = 0; row < kRows; ++row) {
      settle(row, endNs);
      map_.fill_[row * map_.bins_ + bin_] =
          static_cast<uint8_t>(std::clamp(std::ceil(area_[row] / full * 255), 0., 255.));
      area_[row] = 0;
    }
    ++bin_;
  }

  AddressMap& map_;
  const MemoryEvents& events_;
  double rowBytes_;
  TimeScale scale_;
  size_t bin_ = 0;
  std::array<double, kRows> bytes_{}, area_{};
  std::array<int64_t, kRows> lastNs_{};
};

AddressMap::AddressMap(std::shared_ptr<const LifetimeIndex> lifetimes, const MemoryEvents& events, TrackId segments,
                       const Progress& progress)
    : lifetimes_(std::move(lifetimes)), space_(lifetimes_->trace(), events.track(), segments) {
  if (empty() || events.pointCount() == 0) return;
  fillWindow_ = {events.times().front(), events.times().back() + 1};
  bins_ = std::clamp(std::bit_ceil(lifetimes_->order().size() / kAllocationsPerBin + 1), kMinBins, kMaxBins);
  fill_.resize(kRows * bins_);
  Filler(*this, events).run(progress);
}

std::vector<AddressBox> AddressMap::boxes(const TimeScale& scale, double height,
                                          std::span<const uint32_t> allocations) const {
  std::vector<AddressBox> boxes;
  if (empty()) return boxes;
  const double pixelsPerByte = height / static_cast<double>(space_.size());
  boxes.reserve(allocations.size());
  for (uint32_t i : allocations) {
    const Allocation& allocation = lifetimes_->trace().allocations[i];
    const std::optional<uint64_t> offset = allocation.address == 0 ? std::nullopt : space_.offsetOf(allocation.address);
    if (!offset) continue;
    const double low = static_cast<double>(*offset), high = low + static_cast<double>(allocation.bytes);
    boxes.push_back({i, static_cast<float>(scale.xOf(std::max(allocation.allocNs, scale.window().startNs))),
                     static_cast<float>(scale.xOf(std::min(allocation.freeNs, scale.window().endNs))),
                     static_cast<float>(height - high * pixelsPerByte),
                     static_cast<float>(height - low * pixelsPerByte)});
  }
  return boxes;
}

}  // namespace moeblaze::gui
