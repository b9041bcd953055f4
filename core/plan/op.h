#pragma once

#include <cstdint>
#include <string_view>

namespace moeblaze {

// Every Op once: its name in code, its name in texts, and what it does. A Step's data operands are read and written in
// the order given here; weights, gates and index structures are recognised by what they are. A Step that reads tokens
// row by row finds them through its index structures.
//
// An Op is added with a line here, a member function of its name in a file of kernels/host, and a `cuda::ops` entry of
// its name in a file of kernels/cuda. Both backends expand this table, so that a missing implementation does not link.
// clang-format off
#define MOEBLAZE_OPS(OP) \
  /* logits -> scores, expert ids, gates */ \
  OP(route, "route") \
  /* gate gradient, gates, expert ids, scores -> logits' gradient */ \
  OP(routeBackward, "route_backward") \
  /* expert ids -> index structures, the way frameworks sort, count and scan them */ \
  OP(sort, "sort") \
  /* expert ids -> the index structures of indexed dispatch */ \
  OP(buildIndex, "build_index") \
  /* tokens or slots -> rows, times their gate if the Step reads gates */ \
  OP(gather, "gather") \
  /* rows -> slots, times their gate if the Step reads gates */ \
  OP(scatter, "scatter") \
  /* rows added to their tokens; frameworks use atomic additions */ \
  OP(scatterAdd, "scatter_add") \
  /* rows times one gate per row */ \
  OP(scaleRows, "scale_rows") \
  /* slots summed to tokens */ \
  OP(reduce, "reduce") \
  /* rows or slots times their gate, summed to tokens */ \
  OP(combine, "combine") \
  /* rows' input gradient and parts of the gate gradient -> input gradient (added to if it is read), gate gradient */ \
  OP(reduceGradients, "reduce_gradients") \
  /* sum of rows times weight over the pairs read; written as rows, slots (times their gate if given) or tokens */ \
  OP(groupedGemm, "grouped_gemm") \
  /* the same for one matrix and all tokens */ \
  OP(denseGemm, "dense_gemm") \
  /* left, right... -> transposed left times right, for each right; tokens times their gate if given */ \
  OP(weightGradient, "weight_gradient") \
  /* rows times W1 (and W2) -> A (and B), Y, or both */ \
  OP(fusedUp, "fused_up") \
  /* output gradient, W3, A and B or what recomputes them -> gradients of A and B, Y, parts of the gate gradient */ \
  OP(fusedDownBackward, "fused_down_backward") \
  /* A -> act(A) */ \
  OP(activation, "activation") \
  /* gradient, and what the backward of act reads -> A's gradient */ \
  OP(activationBackward, "activation_backward") \
  /* elementwise product of two operands */ \
  OP(multiply, "multiply") \
  /* gradient, left, right -> right's gradient, left's gradient */ \
  OP(multiplyBackward, "multiply_backward") \
  /* A, B -> act(A) times B, elementwise */ \
  OP(fusedActivation, "fused_activation") \
  /* Y's gradient times the gate, A, B -> gradients of A and B */ \
  OP(fusedActivationBackward, "fused_activation_backward") \
  /* inner product of first and second for each row or slot; one operand alone is summed; a weight makes the first */ \
  OP(gateGradient, "gate_gradient") \
  /* the same numbers in another dtype */ \
  OP(cast, "cast") \
  /* first added to second in place */ \
  OP(add, "add") \
  /* operands side by side */ \
  OP(concatenate, "concatenate") \
  /* zeros */ \
  OP(fill, "fill") \
  /* moves nothing: a framework lets go here of what it held longer than it read it (an autograd node returns) */ \
  OP(release, "release")
// clang-format on

/// What a Step does; MOEBLAZE_OPS describes each. Recompute has no Op of its own: it is an ordinary Step of the
/// backward phase.
enum class Op : uint8_t {
#define MOEBLAZE_OP(op, text) op,
  MOEBLAZE_OPS(MOEBLAZE_OP)
#undef MOEBLAZE_OP
};

/// The Op's name in reports and files.
std::string_view name(Op op);

}  // namespace moeblaze
