#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "core/base/report.h"
#include "simulator/allocator/allocator_replay.h"
#include "simulator/cost/simulation.h"

namespace moeblaze {

/// The allocator that is taken to serve the planned buffers.
struct AllocatorOption {
  void addTo(CLI::App& command);
  /// Throws InputError when there is no such allocator.
  AllocatorModel model() const;

  std::string name = "exact";
};

/// Adds to the record of a simulation what an allocator needs for its planned buffers without the external ones, each
/// buffer being one request: allocator, allocated_peak_bytes, reserved_peak_bytes, and fragmentation_bytes, which is
/// what was reserved but not allocated when reserved first reached its peak. The device is taken to be large enough.
/// Adds nothing for AllocatorModel::exact, whose peak is peak_bytes.
void addAllocatorFigures(Record& record, const Simulation& simulation, AllocatorModel model);

}  // namespace moeblaze
