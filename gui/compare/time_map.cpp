#include "gui/compare/time_map.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>

namespace moeblaze::gui {
namespace {

using Anchor = std::pair<int64_t, int64_t>;

bool hasSteps(const Trace& trace) {
  return std::ranges::any_of(trace.spans, [](const Span& span) { return span.step != StepId::none; });
}

/// The start times of the spans of each name, in ascending order.
std::map<std::string_view, std::vector<int64_t>> begins(const Trace& trace, bool stepsOnly) {
  std::map<std::string_view, std::vector<int64_t>> all;
  for (const Span& span : trace.spans)
    if (!stepsOnly || span.step != StepId::none) all[trace.strings[span.name]].push_back(span.startNs);
  for (auto& [name, times] : all) std::ranges::sort(times);
  return all;
}

/// The longest subsequence of `anchors` in which both times ascend. The first times of `anchors` already do.
std::vector<Anchor> longestAscending(const std::vector<Anchor>& anchors) {
  // ends[n]: the anchor with the smallest second time that can end a sequence of n + 1 anchors.
  std::vector<size_t> ends, before(anchors.size());
  for (size_t i = 0; i < anchors.size(); ++i) {
    const auto place =
        std::ranges::lower_bound(ends, anchors[i].second, {}, [&](size_t at) { return anchors[at].second; });
    before[i] = place == ends.begin() ? i : *(place - 1);
    if (place == ends.end())
      ends.push_back(i);
    else
      *place = i;
  }
  std::vector<Anchor> longest(ends.size());
  size_t at = ends.empty() ? 0 : ends.back();
  for (size_t i = longest.size(); i-- > 0; at = before[at]) longest[i] = anchors[at];
  return longest;
}

}  // namespace

TimeMap::TimeMap(std::vector<Anchor> anchors) : anchors_(std::move(anchors)) {}

int64_t TimeMap::operator()(int64_t fromNs) const {
  const auto next = std::ranges::upper_bound(anchors_, fromNs, {}, &Anchor::first);
  if (next == anchors_.begin()) return fromNs - next->first + next->second;
  const Anchor& last = *(next - 1);
  if (next == anchors_.end()) return fromNs - last.first + last.second;
  const double fraction = static_cast<double>(fromNs - last.first) / static_cast<double>(next->first - last.first);
  return last.second + std::llround(fraction * static_cast<double>(next->second - last.second));
}

std::vector<Anchor> commonSteps(const Trace& from, const Trace& to) {
  const bool stepsOnly = hasSteps(from) && hasSteps(to);
  const auto toBegins = begins(to, stepsOnly);
  std::vector<Anchor> anchors;
  for (const auto& [name, times] : begins(from, stepsOnly)) {
    const auto other = toBegins.find(name);
    if (other == toBegins.end()) continue;
    for (size_t i = 0; i < std::min(times.size(), other->second.size()); ++i)
      anchors.emplace_back(times[i], other->second[i]);
  }
  std::ranges::sort(anchors);
  const auto repeated = std::ranges::unique(anchors, {}, &Anchor::first);
  anchors.erase(repeated.begin(), repeated.end());
  return longestAscending(anchors);
}

}  // namespace moeblaze::gui
