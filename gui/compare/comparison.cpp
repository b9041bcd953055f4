#include "gui/compare/comparison.h"

#include <algorithm>
#include <cstdlib>
#include <unordered_map>

#include "core/base/report.h"

namespace moeblaze::gui {
namespace {

void check(const std::stop_token& stop) {
  if (stop.stop_requested()) throw Interrupted();
}

const MemoryEvents& eventsOf(const ComparedTrack& side) { return *side.document->events(side.track); }

int64_t firstNs(const MemoryEvents& events) { return events.pointCount() == 0 ? 0 : events.times().front(); }

using Totals = std::unordered_map<std::string_view, Difference>;

/// Adds one trace to its side of the totals. The keys are views into the document's texts and stay valid as long as it.
void addSide(const ComparedTrack& side, Difference::Side Difference::*part, Attribute attribute, Totals& totals) {
  const Trace& trace = side.document->trace();
  const auto what = [&](const Allocation& allocation) {
    if (attribute == Attribute::role) return name(allocation.role);
    return allocation.name == StringId::empty ? "(no name)" : std::string_view(trace.strings[allocation.name]);
  };
  for (const Allocation& allocation : trace.allocations) {
    if (allocation.track != side.track) continue;
    Difference::Side& sums = totals[what(allocation)].*part;
    ++sums.count;
    sums.bytes += allocation.bytes;
  }
  const MemoryEvents& events = eventsOf(side);
  for (size_t id : events.liveAt(events.peak().timeNs))
    (totals[what(trace.allocations[id])].*part).peakBytes += trace.allocations[id].bytes;
}

}  // namespace

Comparison::Comparison(ComparedTrack a, ComparedTrack b, Alignment alignment, const std::stop_token& stop)
    : aTrack_(std::move(a)), bTrack_(std::move(b)) {
  align(alignment);
  check(stop);
  delta_ = gui::difference(a_, b_);
  check(stop);
  byRole_ = differencesBy(Attribute::role);
  check(stop);
  byName_ = differencesBy(Attribute::name);
}

void Comparison::align(Alignment alignment) {
  const MemoryEvents &aEvents = eventsOf(aTrack_), &bEvents = eventsOf(bTrack_);
  std::vector<std::pair<int64_t, int64_t>> anchors;
  if (alignment == Alignment::step) anchors = commonSteps(bTrack_.document->trace(), aTrack_.document->trace());
  steps_ = anchors.size();
  alignment_ = anchors.empty() ? Alignment::time : Alignment::step;
  if (anchors.empty()) anchors = {{firstNs(bEvents), firstNs(aEvents)}};
  const TimeMap map(std::move(anchors));
  std::vector<int64_t> times(bEvents.times().begin(), bEvents.times().end());
  std::ranges::transform(times, times.begin(), map);
  a_ = StepCurve(aEvents.times(), aEvents.bytes());
  b_ = StepCurve(times, bEvents.bytes());
  const TimeWindow &aBounds = aTrack_.document->bounds(), &bBounds = bTrack_.document->bounds();
  bounds_ = {std::min(aBounds.startNs, map(bBounds.startNs)), std::max(aBounds.endNs, map(bBounds.endNs))};
}

std::vector<Difference> Comparison::differencesBy(Attribute attribute) const {
  Totals totals;
  addSide(aTrack_, &Difference::a, attribute, totals);
  addSide(bTrack_, &Difference::b, attribute, totals);
  std::vector<Difference> list;
  list.reserve(totals.size());
  for (auto& [what, difference] : totals) {
    difference.what = what;
    list.push_back(std::move(difference));
  }
  std::ranges::sort(list, [](const Difference& left, const Difference& right) {
    const auto rank = [](const Difference& d) {
      return std::pair(std::abs(d.peakDelta()), std::abs(d.b.bytes - d.a.bytes));
    };
    return rank(left) != rank(right) ? rank(left) > rank(right) : left.what < right.what;
  });
  return list;
}

std::string Comparison::csv(Attribute attribute) const {
  std::vector<Record> records;
  for (const Difference& d : differences(attribute))
    records.push_back({{std::string(name(attribute)), d.what},
                       {"a_peak_bytes", d.a.peakBytes},
                       {"b_peak_bytes", d.b.peakBytes},
                       {"delta_bytes", d.peakDelta()},
                       {"a_allocations", d.a.count},
                       {"b_allocations", d.b.count},
                       {"a_allocated_bytes", d.a.bytes},
                       {"b_allocated_bytes", d.b.bytes}});
  return csvText(records);
}

}  // namespace moeblaze::gui
