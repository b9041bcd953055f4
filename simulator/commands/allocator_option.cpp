#include "simulator/commands/allocator_option.h"

namespace moeblaze {

void AllocatorOption::addTo(CLI::App& command) {
  command
      .add_option("--allocator", name,
                  "Who serves the planned buffers: exact (their sum), pytorch (its caching allocator) or pool "
                  "(cudaMallocAsync); the last two add allocated, reserved and fragmentation")
      ->capture_default_str()
      ->type_name("NAME");
}

AllocatorModel AllocatorOption::model() const { return parseAllocatorModel(name, "--allocator"); }

void addAllocatorFigures(Record& record, const Simulation& simulation, AllocatorModel model) {
  if (model == AllocatorModel::exact) return;
  const Trace trace = makeTrace(simulation.plan, simulation.stepNs);
  const AllocatorReplay replay = replayAllocator(trace, TrackId{0}, {.model = model});
  record["allocator"] = name(model);
  record["allocated_peak_bytes"] = replay.allocatedPeak.allocated;
  record["reserved_peak_bytes"] = replay.reservedPeak.reserved;
  record["fragmentation_bytes"] = replay.reservedPeak.fragmentation();
}

}  // namespace moeblaze
