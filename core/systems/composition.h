#pragma once

#include "core/systems/plan_builder.h"

namespace moeblaze {

/// How tokens reach the rows of their experts.
enum class Dispatch : uint8_t {
  padded,    ///< copied; every expert has the same number of rows, and tokens beyond them are dropped
  permuted,  ///< copied; nothing is dropped
  blocked,   ///< copied; the rows of each expert are padded to a multiple of 128
  indexed,   ///< read in place through index structures
};

/// What forward leaves for backward besides x, gates and index structures.
enum class Save : uint8_t {
  all,          ///< A, B, act(A), Y and the experts' output, as a framework's autograd does
  paper,        ///< A, B, Y
  projections,  ///< A, B
  input,        ///< nothing: A and B are computed again
};

/// The choices that a system can be composed of.
struct Composition {
  Dispatch dispatch = Dispatch::indexed;
  Save save = Save::projections;
  bool fused = true;    ///< activations run in the epilogues of products: in forward, and in backward unless save=paper
  bool inPlace = true;  ///< with `fused`: the gradients of A and B overwrite A and B
  bool fusedWeights = false;          ///< W1 and W2 are one parameter W12, A and B one tensor Z
  bool sonicIndices = false;          ///< SonicMoE's index structures instead of the four of the MoEBlaze paper
  DType preactivation = DType::bf16;  ///< element type of A and B
  int64_t chunk = 0;                  ///< experts that run at a time; 0 for all
  double capacity = 1;                ///< with padded dispatch: rows of an expert over the mean
};

/// Plans a layer for any legal composition.
void planComposition(PlanBuilder& builder, const Composition& composition);

}  // namespace moeblaze
