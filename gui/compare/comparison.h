#pragma once

#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "gui/compare/step_curve.h"
#include "gui/compare/time_map.h"
#include "gui/document/document.h"
#include "gui/timeline/index/categories.h"

namespace moeblaze::gui {

/// The allocations of one name or role, in both traces.
struct Difference {
  /// The allocations in one of the traces.
  struct Side {
    int64_t peakBytes = 0;  ///< bytes alive at the peak of the trace
    int64_t count = 0;      ///< allocations over the whole trace
    int64_t bytes = 0;      ///< bytes of all those allocations together
  };
  std::string what;
  Side a, b;
  int64_t peakDelta() const { return b.peakBytes - a.peakBytes; }
  /// Whether the other trace has no such allocation.
  bool onlyInA() const { return b.count == 0; }
  bool onlyInB() const { return a.count == 0; }
};

/// A track of a document.
struct ComparedTrack {
  std::shared_ptr<const Document> document;
  TrackId track = TrackId::none;
};

/// Two traces laid over one another on the time axis of A. Immutable; make it on a worker thread.
class Comparison {
 public:
  /// Both tracks must exist. An alignment by Step falls back to time when the traces have no Steps in common. Throws
  /// Interrupted when stopped.
  Comparison(ComparedTrack a, ComparedTrack b, Alignment alignment, const std::stop_token& stop = {});

  const ComparedTrack& aTrack() const { return aTrack_; }
  const ComparedTrack& bTrack() const { return bTrack_; }
  /// The memory of each side over time on the time axis of A, in bytes.
  const StepCurve& a() const { return a_; }
  const StepCurve& b() const { return b_; }
  /// B minus A.
  const StepCurve& delta() const { return delta_; }
  /// The alignment that was used. It is by time when there were no common Steps, whatever was asked for.
  Alignment alignment() const { return alignment_; }
  /// The number of pairs of common Steps by which the traces are aligned; 0 when aligned by time.
  size_t steps() const { return steps_; }
  /// The time range of both traces, with a little room at its ends.
  const TimeWindow& bounds() const { return bounds_; }
  /// The peak of each side, on the time axis of A.
  MemoryCurve::Point aPeak() const { return a_.greatest(); }
  MemoryCurve::Point bPeak() const { return b_.greatest(); }
  /// The differences by name or role, worst first: ordered by the difference at the peaks, then by the difference of
  /// all bytes allocated. `attribute` is name or role.
  const std::vector<Difference>& differences(Attribute attribute) const {
    return attribute == Attribute::role ? byRole_ : byName_;
  }
  /// These differences with all their fields as comma-separated values, after a header line.
  std::string csv(Attribute attribute) const;

 private:
  void align(Alignment alignment);
  std::vector<Difference> differencesBy(Attribute attribute) const;

  ComparedTrack aTrack_, bTrack_;
  StepCurve a_, b_, delta_;
  Alignment alignment_ = Alignment::time;
  size_t steps_ = 0;
  TimeWindow bounds_;
  std::vector<Difference> byRole_, byName_;
};

}  // namespace moeblaze::gui
