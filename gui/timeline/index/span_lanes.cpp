#include "gui/timeline/index/span_lanes.h"

#include <algorithm>
#include <cmath>

namespace moeblaze::gui {

SpanLanes::SpanLanes(const std::shared_ptr<const Trace>& trace, TrackId track, const Progress& progress) {
  const std::vector<Span>& all = trace->spans;
  std::vector<uint32_t> order;
  for (size_t i = 0; i < all.size(); ++i)
    if (all[i].track == track) order.push_back(static_cast<uint32_t>(i));
  progress.report(0.2);
  const auto isBefore = [&](uint32_t a, uint32_t b) {  // an enclosing span comes first
    return all[a].startNs != all[b].startNs ? all[a].startNs < all[b].startNs : all[a].durationNs > all[b].durationNs;
  };
  if (!std::ranges::is_sorted(order, isBefore)) std::ranges::stable_sort(order, isBefore);
  progress.report(0.6);
  for (uint32_t i : order) {
    const auto row =
        std::ranges::find_if(rows_, [&](const Row& candidate) { return candidate.ends.back() <= all[i].startNs; });
    if (row == rows_.end() && rows() == kMaxLaneRows) {
      ++hidden_;
      continue;
    }
    Row& to = row == rows_.end() ? rows_.emplace_back() : *row;
    to.starts.push_back(all[i].startNs);
    to.ends.push_back(all[i].startNs + std::max<int64_t>(1, all[i].durationNs));  // makes a span of no duration visible
    to.spans.push_back(i);
  }
  size_ = order.size();
  progress.report(0.8);
  for (Row& row : rows_) addLongest(row);
  progress.report(1);
}

void SpanLanes::addLongest(Row& row) {
  const auto length = [&](uint32_t at) { return row.ends[at] - row.starts[at]; };
  std::vector<uint32_t> level;
  for (uint32_t at = 0; at < row.spans.size(); ++at)
    if (at % kBucket == 0)
      level.push_back(at);
    else if (length(at) > length(level.back()))
      level.back() = at;
  while (level.size() > 1) {
    std::vector<uint32_t> next;
    for (size_t i = 0; i < level.size(); ++i)
      if (i % kFanOut == 0)
        next.push_back(level[i]);
      else if (length(level[i]) > length(next.back()))
        next.back() = level[i];
    row.longest.push_back(std::move(level));
    level = std::move(next);
  }
  row.longest.push_back(std::move(level));
}

/// The position of the longest of the spans [first, last): takes single spans up to the next bucket, then nodes as high
/// in the pyramid as possible. Requires first < last.
size_t SpanLanes::longest(const Row& row, size_t first, size_t last) {
  size_t best = first;
  const auto consider = [&](size_t at) {
    if (row.ends[at] - row.starts[at] > row.ends[best] - row.starts[best]) best = at;
  };
  for (size_t at = first; at < last;) {
    if (at % kBucket != 0 || at + kBucket > last) {
      consider(at++);
      continue;
    }
    size_t level = 0, width = kBucket;
    while (level + 1 < row.longest.size() && at % (width * kFanOut) == 0 && at + width * kFanOut <= last) {
      ++level;
      width *= kFanOut;
    }
    consider(row.longest[level][at / width]);
    at += width;
  }
  return best;
}

std::vector<SpanBox> SpanLanes::boxes(const TimeScale& scale) const {
  std::vector<SpanBox> boxes;
  for (int row = 0; row < rows(); ++row) addBoxes(scale, row, boxes);
  return boxes;
}

void SpanLanes::addBoxes(const TimeScale& scale, int rowNumber, std::vector<SpanBox>& boxes) const {
  const Row& row = rows_[static_cast<size_t>(rowNumber)];
  const auto firstAfter = [&](size_t from, int64_t endNs) {  // the first span that starts at or after endNs
    return static_cast<size_t>(
        std::lower_bound(row.starts.begin() + static_cast<ptrdiff_t>(from), row.starts.end(), endNs) -
        row.starts.begin());
  };
  size_t at = static_cast<size_t>(std::ranges::upper_bound(row.ends, scale.window().startNs) - row.ends.begin());
  while (at < row.spans.size() && row.starts[at] < scale.window().endNs) {
    const auto left = static_cast<float>(scale.xOf(row.starts[at]));
    const auto right = static_cast<float>(scale.xOf(row.ends[at]));
    if (right - left >= 1) {
      boxes.push_back({row.spans[at], 1, rowNumber, left, right});
      ++at;
      continue;
    }
    // Spans that start within the same pixel form one box. If the last of them is wide, it gets a box of its own.
    const int column = static_cast<int>(std::floor(left));
    size_t last = std::max(at + 1, firstAfter(at, scale.edge(column + 1)));
    if (last > at + 1 && scale.xOf(row.ends[last - 1]) - scale.xOf(row.starts[last - 1]) >= 1) --last;
    boxes.push_back({row.spans[longest(row, at, last)], static_cast<uint32_t>(last - at), rowNumber, left,
                     std::max(left + 1, static_cast<float>(scale.xOf(row.ends[last - 1])))});
    at = last;
  }
}

std::optional<uint32_t> SpanLanes::at(int rowNumber, int64_t timeNs) const {
  if (rowNumber < 0 || rowNumber >= rows()) return std::nullopt;
  const Row& row = rows_[static_cast<size_t>(rowNumber)];
  const auto at = static_cast<size_t>(std::ranges::upper_bound(row.ends, timeNs) - row.ends.begin());
  if (at == row.spans.size() || timeNs < row.starts[at]) return std::nullopt;
  return row.spans[at];
}

}  // namespace moeblaze::gui
