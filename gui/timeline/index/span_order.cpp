#include "gui/timeline/index/span_order.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <string_view>
#include <utility>

namespace moeblaze::gui {
namespace {

constexpr std::array<std::pair<std::string_view, SpanContent>, 10> kWords{{
    {"profiler", SpanContent::overhead},
    {"overhead", SpanContent::overhead},
    {"nvtx", SpanContent::ranges},
    {"annotation", SpanContent::ranges},
    {"range", SpanContent::ranges},
    {"kernel", SpanContent::kernels},
    {"copies", SpanContent::copies},
    {"copy", SpanContent::copies},
    {"memcpy", SpanContent::copies},
    {"memset", SpanContent::copies},
}};

}  // namespace

SpanContent spanContent(const Track& track) {
  if (track.kind == TrackKind::planned) return SpanContent::plannedSteps;
  std::string name = track.name;
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const auto found =
      std::ranges::find_if(kWords, [&](const auto& word) { return name.find(word.first) != std::string::npos; });
  return found == kWords.end() ? SpanContent::other : found->second;
}

bool isPlanned(const Trace& trace, TrackId track) {
  return track != TrackId::none && trace.tracks[index(track)].kind == TrackKind::planned;
}

std::vector<StringId> stepNames(const Trace& trace) {
  std::vector<StringId> names;
  for (const bool planned : {true, false})
    for (const Span& span : trace.spans) {
      if (span.step == StepId::none || isPlanned(trace, span.track) != planned) continue;
      if (index(span.step) >= names.size()) names.resize(index(span.step) + 1);
      if (names[index(span.step)] == StringId::empty) names[index(span.step)] = span.name;
    }
  return names;
}

void sortBySpanContent(const Trace& trace, std::vector<TrackId>& tracks) {
  std::ranges::stable_sort(tracks, {}, [&](TrackId track) { return spanContent(trace.tracks[index(track)]); });
}

}  // namespace moeblaze::gui
