#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "core/base/report.h"
#include "simulator/allocator/allocator_replay.h"
#include "simulator/cost/simulation.h"

namespace moeblaze {

/// Adds --allocator; what it holds is for parseAllocatorModel.
void addAllocator(CLI::App& command, std::string& allocator);

/// Adds to the record of a simulation what `model` makes of its planned buffers, each a request, external buffers
/// apart: allocator, and in bytes allocated_peak_bytes, reserved_peak_bytes and fragmentation_bytes (reserved but not
/// allocated when reserved is first at its most). The device is taken to be large enough. Adds nothing for exact, whose
/// peak is peak_bytes.
void addAllocatorFigures(Record& record, const Simulation& simulation, AllocatorModel model);

}  // namespace moeblaze
