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

/// What one name or role comes to in two traces.
struct Difference {
  /// One of the two.
  struct Side {
    int64_t peakBytes = 0;  ///< alive at the trace's peak
    int64_t count = 0;      ///< allocations, whenever
    int64_t bytes = 0;      ///< of all of them
  };
  std::string what;
  Side a, b;
  int64_t peakDelta() const { return b.peakBytes - a.peakBytes; }
  bool onlyInA() const { return b.count == 0; }
  bool onlyInB() const { return a.count == 0; }
};

/// A track of a document.
struct ComparedTrack {
  std::shared_ptr<const Document> document;
  TrackId track = TrackId::none;
};

/// Two traces laid over one another, b on a's time. Immutable; made on a worker thread.
class Comparison {
 public:
  /// Both tracks exist. Without common Steps, an alignment by Step falls back to time. Throws Interrupted when stopped.
  Comparison(ComparedTrack a, ComparedTrack b, Alignment alignment, const std::stop_token& stop = {});

  const ComparedTrack& aTrack() const { return aTrack_; }
  const ComparedTrack& bTrack() const { return bTrack_; }
  const StepCurve& a() const { return a_; }
  const StepCurve& b() const { return b_; }
  /// b less a.
  const StepCurve& delta() const { return delta_; }
  /// What was done, which need not be what was asked for.
  Alignment alignment() const { return alignment_; }
  size_t steps() const { return steps_; }
  /// All that either has, with a little room.
  const TimeWindow& bounds() const { return bounds_; }
  MemoryCurve::Point aPeak() const { return a_.greatest(); }
  MemoryCurve::Point bPeak() const { return b_.greatest(); }
  /// Worst first: by what they differ at the peaks, then in all their bytes. Only names and roles.
  const std::vector<Difference>& differences(Attribute attribute) const {
    return attribute == Attribute::role ? byRole_ : byName_;
  }
  /// Of those, every field, with a header line.
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
