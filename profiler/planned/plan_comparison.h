#pragma once

#include <string>
#include <vector>

#include "core/base/report.h"
#include "core/plan/plan.h"
#include "core/trace/trace.h"

namespace moeblaze::profiler {

/// A counted buffer of a Plan beside the allocations that were made for it.
struct BufferComparison {
  std::string name;
  Role role = Role::unknown;
  int64_t plannedBytes = 0;
  int64_t observedBytes = 0;  ///< of the allocation that differs most from plannedBytes; 0 without allocations
  int64_t observed = 0;       ///< number of allocations; as planned, there is one in each iteration
  bool matches = false;       ///< there was one allocation in each iteration, of exactly plannedBytes
};

/// The allocations of one name that are for none of the Plan's counted buffers.
struct HiddenAllocation {
  std::string name;
  int64_t bytes = 0;  ///< the most that they held at one time
  int64_t count = 0;
};

/// The predicted and the measured time of a Step.
struct StepComparison {
  std::string name;
  Phase phase = Phase::forward;
  int64_t predictedNs = 0;  ///< 0 when there is no prediction
  int64_t measuredNs = 0;   ///< median over the iterations that count
};

/// What a Plan predicts beside what was observed.
struct PlanComparison {
  std::vector<BufferComparison> buffers;
  std::vector<HiddenAllocation> hidden;
  std::vector<StepComparison> steps;
  int64_t iterations = 0;
  int64_t plannedPeak = 0;
  int64_t observedPeak = 0;  ///< the most that the allocations of the Plan's buffers held at one time, bytes
  int64_t hiddenBytes = 0;   ///< the most that all hidden allocations held at one time
  int64_t predictedNs = 0;   ///< of a whole iteration; 0 when there is no prediction
  int64_t measuredNs = 0;    ///< of a whole iteration: median over the iterations that count

  /// The largest difference of a buffer or of the peak, bytes; at least 1 when any buffer does not match.
  int64_t worstDifference() const;
};

/// When each Step of one iteration ran, ns, by Step: from the beginning of its first work to the end of its last. A
/// Step without work takes no time and stands where the Step before it ended.
struct Iteration {
  std::vector<int64_t> starts, ends;
};

/// The iterations of a Plan in a trace, found from the work that has a Step: an iteration begins where the Step number
/// falls.
std::vector<Iteration> iterationsOf(const Plan& plan, const Trace& trace);

/// Compares a Plan with the allocations of the observed track `memory`, which name the Plan's buffers, and with the
/// times of its Steps. The times of the first `warmUps` iterations do not count. `predictedNs` holds the predicted time
/// of each Step, or nothing.
PlanComparison compareWithPlan(const Plan& plan, const Trace& trace, TrackId memory, int64_t warmUps,
                               const std::vector<int64_t>& predictedNs);

/// Adds a track on which the Plan stands once for each iteration, at the times that its Steps really had.
void addPlannedTrack(const Plan& plan, Trace& trace);

/// Makes `fromNs` the start of the trace. Removes what had ended by then and what Steps allocated before then. Other
/// memory that was alive then is marked as older than the trace.
void startAt(Trace& trace, int64_t fromNs);

}  // namespace moeblaze::profiler
