#pragma once

#include <QTest>
#include <memory>
#include <string>

#include "gui/open/open_document.h"

namespace moeblaze::gui {

inline const std::string kPlanSample = MOEBLAZE_SAMPLES "/conf3_moeblaze_simulated.mbtrace";
inline const std::string kSnapshotSample = MOEBLAZE_SAMPLES "/torch_snapshot_qwen3moe_2layer.pickle";

/// Eight allocations of 100 to 800 bytes, made every 10 ns from 0 on; those at even indices are freed at 1000 ns. Names
/// a to d alternate, as do the roles saved and transient. The first half belongs to Step "one", the second to Step
/// "two". The last two have stacks.
inline Trace smallTrace() {
  Trace trace;
  trace.tracks = {{"memory", TrackKind::observed, 0}};
  const auto text = [&](std::string_view words) { return trace.strings.add(words); };
  trace.spans = {{TrackId{0}, text("one"), 0, 40, StepId{0}}, {TrackId{0}, text("two"), 40, 40, StepId{1}}};
  const Frame main{text("main"), text("/app/train.py"), 3}, train{text("train"), text("/app/train.py"), 9},
      leaf{text("empty"), text("/lib/torch/alloc.py"), 1}, save{text("save"), text("/app/save.py"), 4};
  const StackId trained = trace.stacks.add({leaf, train, main}), saved = trace.stacks.add({leaf, save, main});
  const char* names[] = {"a", "b", "c", "d"};
  for (int i = 0; i < 8; ++i)
    trace.allocations.push_back({.track = TrackId{0},
                                 .name = text(names[i % 4]),
                                 .role = i % 2 == 0 ? Role::saved : Role::transient,
                                 .bytes = 100 * (i + 1),
                                 .allocNs = 10 * i,
                                 .freeNs = i % 2 == 0 ? 1000 : kNever,
                                 .step = StepId{i / 4},
                                 .stack = i == 6   ? trained
                                          : i == 7 ? saved
                                                   : StackId::none});
  return trace;
}

/// Processes events until `condition` holds; returns false if that takes more than 20 s.
template <typename Condition>
bool waitFor(Condition condition) {
  return QTest::qWaitFor(condition, 20'000);
}

}  // namespace moeblaze::gui
