#pragma once

#include <string>
#include <vector>

#include "core/base/report.h"
#include "core/plan/plan.h"
#include "core/trace/trace.h"

namespace moeblaze::profiler {

/// A counted buffer of a Plan beside the allocations of its name.
struct BufferComparison {
  std::string name;
  Role role = Role::unknown;
  int64_t plannedBytes = 0;
  int64_t observedBytes = 0;  ///< of the allocation that differs most
  int64_t observed = 0;       ///< allocations, one in each iteration if all is well
  bool matches = false;       ///< one of exactly these bytes in each iteration
};

/// Allocations no Plan lists, of one name.
struct HiddenAllocation {
  std::string name;
  int64_t bytes = 0;  ///< most alive at once
  int64_t count = 0;
};

/// A Step's time.
struct StepComparison {
  std::string name;
  Phase phase = Phase::forward;
  int64_t predictedNs = 0;  ///< 0 when there is no prediction
  int64_t measuredNs = 0;   ///< median over the iterations that count
};

/// What a Plan said and what was observed.
struct PlanComparison {
  std::vector<BufferComparison> buffers;
  std::vector<HiddenAllocation> hidden;
  std::vector<StepComparison> steps;
  int64_t iterations = 0;
  int64_t plannedPeak = 0;
  int64_t observedPeak = 0;  ///< of the buffers
  int64_t hiddenBytes = 0;   ///< most alive at once of what no Plan lists
  int64_t predictedNs = 0;   ///< a whole iteration; 0 when there is no prediction
  int64_t measuredNs = 0;

  /// Most bytes by which a buffer or the peak is off.
  int64_t worstDifference() const;
};

/// When each Step ran in each iteration, ns: from the first to the last of its work. Steps without work take no time
/// where the one before ended.
struct Iteration {
  std::vector<int64_t> starts, ends;
};

/// The iterations of a Plan in a trace: work with Steps, which start anew in each. Only whole ones.
std::vector<Iteration> iterationsOf(const Plan& plan, const Trace& trace);

/// Compares with the allocations of the observed track `memory`; the first `warmUps` iterations' times do not count.
/// `predictedNs` is by Step, or empty.
PlanComparison compareWithPlan(const Plan& plan, const Trace& trace, TrackId memory, int64_t warmUps,
                               const std::vector<int64_t>& predictedNs);

/// Adds the Plan to a trace as a track of its own, once for each iteration, at the times the Steps really had.
void addPlannedTrack(const Plan& plan, Trace& trace);

/// Leaves out what was over before `fromNs`, and what Steps before then allocated, and makes that the start; other
/// memory that was alive then is older than the trace.
void startAt(Trace& trace, int64_t fromNs);

}  // namespace moeblaze::profiler
