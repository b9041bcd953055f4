#pragma once

#include <cstdint>
#include <string_view>

namespace moeblaze {

/// What a Step does. Data operands are read and written in the order given; weights, gates and index structures are
/// recognised by what they are. A Step reads tokens through its index structures row by row. Recompute is an ordinary
/// Step of the backward phase; `release` moves nothing: it is where a framework lets go of what it held longer than it
/// read it (the return of an autograd node).
enum class Op : uint8_t {
  route,               ///< logits → scores, expert ids, gates
  routeBackward,       ///< gate gradient, gates, expert ids, scores → logits' gradient
  sort,                ///< expert ids → index structures, the way frameworks sort, count and scan them
  buildIndex,          ///< expert ids → the index structures of indexed dispatch
  gather,              ///< tokens or slots → rows, times their gate if given
  scatter,             ///< rows → slots, times their gate if given
  scatterAdd,          ///< rows added to their tokens by atomic operations
  scaleRows,           ///< rows times a gate per row
  reduce,              ///< slots summed to tokens
  combine,             ///< rows or slots times their gate, summed to tokens
  reduceGradients,     ///< rows' input gradient and gate parts → input gradient (added if read) and gate gradient
  groupedGemm,         ///< Σ rows·weight; written as rows, slots (times their gate if given) or tokens
  denseGemm,           ///< the same for one matrix over all tokens
  weightGradient,      ///< left, right... → leftᵀ·right each; tokens times their gate if given
  fusedUp,             ///< rows·W1 (and ·W2) → A (and B) and/or Y
  fusedDownBackward,   ///< output gradient, W3, A, B or what recomputes them → A's and B's gradients, Y, gate parts
  activation,          ///< A → act(A)
  activationBackward,  ///< gradient, what act's backward reads → A's gradient
  multiply,            ///< elementwise product
  multiplyBackward,    ///< gradient, left, right → right's gradient, left's gradient
  fusedActivation,     ///< A, B → act(A)⊙B
  fusedActivationBackward,  ///< Y's gradient times the gate, A, B → A's and B's gradients
  gateGradient,             ///< ⟨first, second⟩ per row or slot; one operand is summed; a weight makes the first
  cast,                     ///< the same numbers in another dtype
  add,                      ///< first added to second in place
  concatenate,              ///< side by side
  fill,                     ///< zeros
  release,
};

std::string_view name(Op op);

}  // namespace moeblaze
