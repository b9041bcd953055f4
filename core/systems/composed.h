#pragma once

#include "core/systems/layer.h"

namespace moeblaze {

/// How tokens reach their experts' rows.
enum class Dispatch : uint8_t {
  padded,    ///< copied, every expert the same capacity, the rest dropped
  permuted,  ///< copied, dropless
  blocked,   ///< copied, each expert's rows padded to 128
  indexed,   ///< read in place through index structures
};

/// What forward leaves for backward.
enum class Save : uint8_t {
  all,          ///< A, B, act(A), Y and the experts' output, as a framework's autograd does
  paper,        ///< A, B, Y
  projections,  ///< A, B
  input,        ///< x alone: A and B are recomputed
};

/// The axes a system can be composed of.
struct Composition {
  Dispatch dispatch = Dispatch::indexed;
  Save save = Save::projections;
  bool fused = true;          ///< activations in the products' epilogues, forward and (but for `paper`) backward
  bool inPlace = true;        ///< fused: A's and B's gradients overwrite them
  bool fusedWeights = false;  ///< W1 and W2 are one parameter W12, A and B one tensor Z
  bool sonicIndices = false;  ///< SonicMoE's index structures instead of the paper's four
  DType preactivation = DType::bf16;  ///< element type of A and B
  int64_t chunk = 0;                  ///< experts at a time; 0 is all
  double capacity = 1.25;             ///< padded: rows of an expert over the mean
};

/// ⌈capacity·L·k/E⌉, at least 1, at most L: the rows of an expert under capacity-limited dispatch.
int64_t expertCapacity(const MoeConfig& config, double capacity);

/// Plans the layer for any legal composition.
void planComposed(PlanBuilder& builder, const Composition& composition);

}  // namespace moeblaze
