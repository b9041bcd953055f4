#pragma once

#include <vector>

#include "core/trace/trace.h"

namespace moeblaze::gui {

/// What the spans of a track are, in the order in which lanes are shown: what is meant to happen, what a program says
/// of itself, what the device does for it, and what recording costs.
enum class SpanContent : uint8_t { plannedSteps, ranges, other, kernels, copies, overhead };

/// Told by the kind of the track, and where several have it by the words with which profilers name them.
SpanContent spanContent(const Track& track);

/// Whether a span's track is a plan's; false for TrackId::none.
bool isPlanned(const Trace& trace, TrackId track);

/// The names of a trace's Steps by StepId, StringId::empty where no span tells one. They come from the spans of plans,
/// which are the Steps themselves, and else from those of recordings, which may be kernels that ran for a Step.
std::vector<StringId> stepNames(const Trace& trace);

/// Sorts tracks by what their spans are; those of one kind keep their order.
void sortBySpanContent(const Trace& trace, std::vector<TrackId>& tracks);

}  // namespace moeblaze::gui
