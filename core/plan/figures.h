#pragma once

#include <cstdint>
#include <vector>

#include "core/plan/buffer.h"

namespace moeblaze {

struct Plan;

/// What a Plan needs, in bytes.
struct MemoryFigures {
  int64_t saved = 0;          ///< storage held from the end of forward for backward, with x, indices and gates
  int64_t intermediates = 0;  ///< the part of `saved` that is marked as intermediate
  int64_t peak = 0;           ///< most bytes alive at once above parameters, x and the output gradient
  int64_t workspace = 0;      ///< most bytes of library scratch alive at once
  int64_t index = 0;          ///< the part of `saved` that is index structures
  int32_t peakStep = 0;       ///< the first Step at which `peak` is reached
};

/// Computes all figures of `plan` from its lifetimes.
MemoryFigures memoryFigures(const Plan& plan);

/// Bytes that the router's own tensors add to MemoryFigures::saved, whether or not the router is part of `plan`. A
/// tensor that other Steps hold for backward anyway adds nothing.
int64_t routerSavedBytes(const Plan& plan);

/// Planned bytes alive during each Step, without external buffers.
std::vector<int64_t> bytesPerStep(const Plan& plan);

/// The buffers alive during `step` that count towards the peak and own their storage, largest first.
std::vector<BufferId> liveAt(const Plan& plan, int32_t step);

/// How far the rows that a system gives its experts differ from the tokens routed to them.
struct Waste {
  int64_t droppedSlots = 0;  ///< slots for which their expert has no row left
  int64_t paddedRows = 0;    ///< rows that serve no slot
};
Waste wasteOf(const Plan& plan);

/// Bytes of all parameters; their gradients take as much again.
int64_t weightBytes(const Plan& plan);

}  // namespace moeblaze
