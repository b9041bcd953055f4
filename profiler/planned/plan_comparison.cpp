#include "profiler/planned/plan_comparison.h"

#include <algorithm>
#include <cstdlib>
#include <map>

#include "core/base/median.h"
#include "core/trace/copy_track.h"

namespace moeblaze::profiler {
namespace {

/// The most bytes that the allocations at `indices` held at one time.
int64_t peakOf(const Trace& trace, const std::vector<size_t>& indices) {
  Trace part;
  part.tracks.push_back({"", TrackKind::observed});
  for (size_t i : indices) {
    part.allocations.push_back({.track = TrackId{0},
                                .bytes = trace.allocations[i].bytes,
                                .allocNs = trace.allocations[i].allocNs,
                                .freeNs = trace.allocations[i].freeNs});
  }
  return MemoryCurve(part, TrackId{0}).peak().bytes;
}

/// True for the buffers that count as memory of the step: an executor allocates each of them in every iteration.
bool isCounted(const Buffer& buffer) { return !buffer.external && buffer.ownsStorage(); }

/// The allocations of one track, as indices into the trace's allocations.
struct Observed {
  std::vector<std::vector<size_t>> ofBuffer;          ///< [buffers]: those of each counted buffer
  std::map<std::string, std::vector<size_t>> hidden;  ///< all others, by name
};

Observed observedOn(TrackId memory, const Plan& plan, const Trace& trace) {
  Observed observed;
  observed.ofBuffer.resize(plan.buffers.size());
  for (size_t i = 0; i < trace.allocations.size(); ++i) {
    const Allocation& allocation = trace.allocations[i];
    if (allocation.track != memory) continue;
    const bool isPlanned = allocation.buffer != BufferId::none && isCounted(plan.buffer(allocation.buffer));
    auto& indices =
        isPlanned ? observed.ofBuffer[index(allocation.buffer)] : observed.hidden[trace.strings[allocation.name]];
    indices.push_back(i);
  }
  return observed;
}

BufferComparison compareBuffer(const Buffer& buffer, const Trace& trace, const std::vector<size_t>& indices,
                               int64_t iterations) {
  BufferComparison row{.name = buffer.name,
                       .role = buffer.role,
                       .plannedBytes = buffer.bytes,
                       .observedBytes = indices.empty() ? 0 : buffer.bytes,
                       .observed = std::ssize(indices)};
  for (size_t i : indices)
    if (std::abs(trace.allocations[i].bytes - buffer.bytes) > std::abs(row.observedBytes - buffer.bytes))
      row.observedBytes = trace.allocations[i].bytes;
  row.matches = row.observed == iterations && row.observedBytes == buffer.bytes;
  return row;
}

void compareTimes(const Plan& plan, const std::vector<Iteration>& iterations, int64_t warmUps,
                  const std::vector<int64_t>& predictedNs, PlanComparison& comparison) {
  // When only warm-ups are complete, their times count, because there are no others.
  const int64_t first = std::ssize(iterations) > warmUps ? warmUps : 0;
  std::vector<int64_t> totals;
  for (int64_t k = first; k < std::ssize(iterations); ++k)
    totals.push_back(iterations[k].ends.back() - iterations[k].starts.front());
  comparison.measuredNs = median(totals);
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    std::vector<int64_t> times;
    for (int64_t k = first; k < std::ssize(iterations); ++k)
      times.push_back(iterations[k].ends[i] - iterations[k].starts[i]);
    const int64_t predicted = predictedNs.empty() ? 0 : predictedNs[i];
    comparison.steps.push_back({plan.steps[i].name, plan.steps[i].phase, predicted, median(times)});
    comparison.predictedNs += predicted;
  }
}

}  // namespace

int64_t PlanComparison::worstDifference() const {
  int64_t worst = std::abs(observedPeak - plannedPeak);
  for (const BufferComparison& row : buffers) {
    worst = std::max(worst, std::abs(row.observedBytes - row.plannedBytes));
    if (!row.matches) worst = std::max<int64_t>(worst, 1);
  }
  return worst;
}

std::vector<Iteration> iterationsOf(const Plan& plan, const Trace& trace) {
  std::vector<const Span*> work;
  for (const Span& span : trace.spans)
    if (span.step != StepId::none && index(span.step) < plan.steps.size() &&
        trace.tracks[index(span.track)].kind == TrackKind::observed)
      work.push_back(&span);
  std::ranges::stable_sort(work, {}, &Span::startNs);
  std::vector<Iteration> iterations;
  size_t last = plan.steps.size();
  for (const Span* span : work) {
    const size_t step = index(span->step);
    if (iterations.empty() || step < last) {
      iterations.push_back(
          {std::vector<int64_t>(plan.steps.size(), kNever), std::vector<int64_t>(plan.steps.size(), kNever)});
    }
    last = step;
    Iteration& it = iterations.back();
    if (it.starts[step] == kNever) it.starts[step] = span->startNs;
    it.ends[step] = it.ends[step] == kNever ? span->startNs + span->durationNs
                                            : std::max(it.ends[step], span->startNs + span->durationNs);
  }
  // A Step without work is placed where the Step before it ended, and the first Steps where the first work began.
  for (Iteration& it : iterations) {
    int64_t at = *std::ranges::min_element(it.starts);
    for (size_t i = 0; i < plan.steps.size(); ++i) {
      if (it.starts[i] == kNever) it.starts[i] = it.ends[i] = at;
      at = it.ends[i];
    }
  }
  return iterations;
}

PlanComparison compareWithPlan(const Plan& plan, const Trace& trace, TrackId memory, int64_t warmUps,
                               const std::vector<int64_t>& predictedNs) {
  PlanComparison comparison;
  const std::vector<Iteration> iterations = iterationsOf(plan, trace);
  comparison.iterations = std::ssize(iterations);
  comparison.plannedPeak = memoryFigures(plan).peak;
  const Observed observed = observedOn(memory, plan, trace);
  std::vector<size_t> planned;
  for (size_t i = 0; i < plan.buffers.size(); ++i) {
    if (!isCounted(plan.buffers[i])) continue;
    const std::vector<size_t>& indices = observed.ofBuffer[i];
    comparison.buffers.push_back(compareBuffer(plan.buffers[i], trace, indices, comparison.iterations));
    planned.insert(planned.end(), indices.begin(), indices.end());
  }
  comparison.observedPeak = peakOf(trace, planned);
  std::vector<size_t> others;
  for (const auto& [name, indices] : observed.hidden) {
    comparison.hidden.push_back({name, peakOf(trace, indices), std::ssize(indices)});
    others.insert(others.end(), indices.begin(), indices.end());
  }
  comparison.hiddenBytes = peakOf(trace, others);
  std::ranges::stable_sort(comparison.hidden, std::ranges::greater{}, &HiddenAllocation::bytes);
  compareTimes(plan, iterations, warmUps, predictedNs, comparison);
  return comparison;
}

void addPlannedTrack(const Plan& plan, Trace& trace) {
  const std::vector<Iteration> iterations = iterationsOf(plan, trace);
  const TrackId track = static_cast<TrackId>(trace.tracks.size());
  trace.tracks.push_back({plan.system + " planned", TrackKind::planned});
  for (const auto& [starts, ends] : iterations) {
    std::vector<int64_t> stepNs;  // in a Plan's trace, a Step lasts until the next one begins
    for (size_t i = 0; i < starts.size(); ++i)
      stepNs.push_back((i + 1 < starts.size() ? starts[i + 1] : ends[i]) - starts[i]);
    copyTrack(makeTrace(plan, stepNs), TrackId{0}, trace, track, starts.front(), ends.back());
  }
}

void startAt(Trace& trace, int64_t fromNs) {
  std::erase_if(trace.spans, [&](const Span& span) { return span.startNs + span.durationNs <= fromNs; });
  std::erase_if(trace.allocations, [&](const Allocation& allocation) {
    return allocation.freeNs <= fromNs || (allocation.step != StepId::none && allocation.allocNs < fromNs);
  });
  for (Span& span : trace.spans) span.startNs -= fromNs;
  for (Allocation& allocation : trace.allocations) {
    if (allocation.allocNs < fromNs) allocation.older = true;
    allocation.allocNs = std::max<int64_t>(0, allocation.allocNs - fromNs);
    if (allocation.freeNs != kNever) allocation.freeNs -= fromNs;
    if (allocation.freeRequestedNs != kNever)
      allocation.freeRequestedNs = std::max(allocation.allocNs, allocation.freeRequestedNs - fromNs);
  }
  for (Counter& counter : trace.counters) {
    // The last value before the new start still holds there, so its point stays.
    auto first = std::ranges::upper_bound(counter.points, fromNs, {}, &std::pair<int64_t, double>::first);
    if (first != counter.points.begin()) --first;
    counter.points.erase(counter.points.begin(), first);
    for (auto& [timeNs, value] : counter.points) timeNs = std::max<int64_t>(0, timeNs - fromNs);
  }
}

}  // namespace moeblaze::profiler
