// Memory snapshots of other people's systems at conf5, compared with the Plans of these systems.
#include <gtest/gtest.h>

#include <algorithm>

#include "core/systems/system.h"
#include "simulator/allocator/allocator_replay.h"
#include "traces/figures/diff.h"
#include "traces/figures/figures.h"
#include "traces/open.h"

namespace moeblaze {
namespace {

/// A snapshot and the system that models it, with the number of large allocations that only one side has. The reasons
/// are known:
/// - megablocks-memopt: the product that stood in for MegaBlocks' own in the measured run has no `out=`, so two results
///   were made twice.
/// - momoe: two buffers are allocated one or two Steps before the kernel that fills them, while a Plan's buffers exist
///   from their first write on.
/// - torch: the scratch of each of three sorts is one planned buffer of 4 to 6 MiB, but several small allocations.
struct Peer {
  const char* snapshot;
  const char* system;
  int64_t onlyRecorded = 0, onlyPlanned = 0;
};

class PeerSnapshot : public testing::TestWithParam<Peer> {};
INSTANTIATE_TEST_SUITE_P(Conf5, PeerSnapshot,
                         testing::Values(Peer{"megablocks-grouped", "megablocks"},
                                         Peer{"megablocks-memopt", "megablocks-memopt", 2, 0},
                                         Peer{"momoe-save0", "momoe:save=0", 2, 2},
                                         Peer{"momoe-save100", "momoe:save=100", 2, 2},
                                         Peer{"scattermoe", "scattermoe"}, Peer{"torch-grouped_mm", "torch", 0, 3}),
                         [](const auto& test) {
                           std::string name = test.param.snapshot;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

/// The planned trace with 1 ns for each Step, since only the order matters here.
Trace planned(const char* system) {
  const MoeConfig config = loadConfig("conf5").layer;
  const Plan plan = buildPlan(config, Routing::balanced(config), System::parse(system));
  return makeTrace(plan, std::vector<int64_t>(plan.steps.size(), 1));
}

/// The snapshot without what existed before it: parameters, x and the output gradient.
Trace recorded(const char* snapshot) {
  Trace trace = openTrace(MOEBLAZE_TEST_DATA "/peer_snapshots/conf5_" + std::string(snapshot) + ".pickle");
  std::erase_if(trace.allocations, [](const Allocation& allocation) { return allocation.older; });
  return trace;
}

TEST_P(PeerSnapshot, HasThePlansLargeAllocationsInOrder) {
  const Trace a = recorded(GetParam().snapshot), b = planned(GetParam().system);
  const TraceDiff diff = diffTraces(a, *mainTrack(a), b, TrackId{0});
  int64_t same = 0, onlyRecorded = 0, onlyPlanned = 0;
  for (const TraceDiff::Pair& pair : diff.large) {
    onlyRecorded += pair.bName.empty(), onlyPlanned += pair.aName.empty();
    same += !pair.aName.empty() && !pair.bName.empty();
  }
  EXPECT_EQ(onlyRecorded, GetParam().onlyRecorded);
  EXPECT_EQ(onlyPlanned, GetParam().onlyPlanned);
  EXPECT_GE(same, 10);
}

TEST_P(PeerSnapshot, PeaksWithinThreePercent) {
  const Trace a = recorded(GetParam().snapshot), b = planned(GetParam().system);
  const auto measured = static_cast<double>(MemoryCurve(a, *mainTrack(a)).peak().bytes);
  const auto predicted = static_cast<double>(replayAllocator(b, TrackId{0}, {}).allocatedPeak.allocated);
  EXPECT_NEAR(predicted / measured, 1, 0.03);
}

}  // namespace
}  // namespace moeblaze
