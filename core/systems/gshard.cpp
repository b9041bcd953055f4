// Capacity-limited dispatch (GShard, Switch): every expert has ⌈capacity·L·k/E⌉ rows; tokens beyond them are dropped,
// in the order of the tokens, and rows without a token are padding. Addressed by index instead of GShard's one-hot
// masks, whose [L, E, C] einsum no current framework runs; autograd keeps what an unfused layer keeps.
#include "core/systems/composed.h"
#include "core/systems/permuted.h"

namespace moeblaze {

void planGshard(PlanBuilder& b, const System& system) {
  b.limitRows(expertCapacity(b.config(), capacityOf(b.config(), system)));
  PermutedLayer m(b, b.config().gateDtype);
  const MoeConfig& c = b.config();
  m.router.forward();
  const BufferId slotOfRow = b.indices("slot_of_row", Meaning::slotOfRow, DType::int32, {m.rows});
  const BufferId rowOfSlot = b.indices("row_of_slot", Meaning::rowOfSlot, DType::int32, {c.tokens, c.topK});
  m.addressing = {slotOfRow, rowOfSlot};
  const BufferId positions = b.workspace("position_in_expert", DType::int32, {c.tokens, c.experts});
  b.step("assign", Op::sort).reads(m.layer.topkIds).writes(positions, slotOfRow, rowOfSlot).launches(8);
  m.permute();

  FrameworkActivation act;
  m.up(act);
  activationForward(b, act, "");
  m.downAndUnpermute(act.y);
  m.finishBackward(m.mlpBackward(act));
}

}  // namespace moeblaze
