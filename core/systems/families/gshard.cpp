// Capacity-limited dispatch (GShard, Switch): every expert has ⌈capacity·L·k/E⌉ rows. Tokens beyond them are dropped,
// in the order of the tokens, and rows without a token are padding. Rows are addressed by index instead of GShard's
// one-hot masks, whose [L, E, C] einsum no current framework runs. Autograd keeps what an unfused layer keeps.
#include <array>

#include "core/systems/common_parameters.h"
#include "core/systems/permuted_layer.h"
#include "system_families.h"

namespace moeblaze {
namespace {

class Gshard : public PermutedLayer {
 public:
  explicit Gshard(PlanBuilder& builder) : PermutedLayer(builder, builder.config().gateDtype) {}

  void plan() {
    const MoeConfig& c = config_;
    router_.forward();
    const BufferId slotOfRow = builder_.indices("slot_of_row", Meaning::slotOfRow, DType::int32, {rows_});
    const BufferId rowOfSlot = builder_.indices("row_of_slot", Meaning::rowOfSlot, DType::int32, {c.tokens, c.topK});
    addressing_ = {slotOfRow, rowOfSlot};
    const BufferId positions = builder_.workspace("position_in_expert", DType::int32, {c.tokens, c.experts});
    builder_.step("assign", Op::sort).reads(layer_.topkIds).writes(positions, slotOfRow, rowOfSlot).launches(8);
    permute();
    runUnfusedMlp();
  }
};

void planGshard(PlanBuilder& builder, const System& system) {
  builder.limitRows(expertCapacity(builder.config(), capacityOf(builder.config(), system)));
  Gshard(builder).plan();
}

constexpr std::array kParameters{kCapacityParameter};
constexpr std::array kSystems{
    SystemInfo{130, "gshard", "padded", "all", "capacity-limited, GShard and Switch", planGshard, kParameters}};

}  // namespace

std::span<const SystemInfo> families::gshard() { return kSystems; }

}  // namespace moeblaze
