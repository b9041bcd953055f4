#pragma once

#include <vector>

#include "core/trace/trace.h"

namespace moeblaze::gui {

/// What the spans of a track are. Lanes are shown in this order: first what is planned, then what a program says about
/// itself, what the device does, and what recording costs.
enum class SpanContent : uint8_t { plannedSteps, ranges, other, kernels, copies, overhead };

/// Decides by the kind of the track, and otherwise by words in its name that profilers use.
SpanContent spanContent(const Track& track);

/// Whether a track is that of a plan; false for TrackId::none.
bool isPlanned(const Trace& trace, TrackId track);

/// The names of a trace's Steps by StepId; StringId::empty for a Step that no span names. Spans of plans come first,
/// because they are the Steps themselves; spans of recordings may be kernels that ran for a Step.
std::vector<StringId> stepNames(const Trace& trace);

/// Sorts tracks by what their spans are. Tracks of the same kind keep their order.
void sortBySpanContent(const Trace& trace, std::vector<TrackId>& tracks);

}  // namespace moeblaze::gui
