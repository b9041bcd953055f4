// MegaBlocks (databricks/megablocks 78eea65: layers/dmoe.py, layers/glu.py, ops/gather.py, ops/scatter.py), node by
// node as its autograd allocates and frees; the grouped ones measured on an H200.
#include "core/systems/permuted.h"

namespace moeblaze {
namespace {

constexpr int64_t kBlock = 128;  ///< of the block-sparse products

/// Sorts and permutes; `extra` structures are written by the same kernels.
void sortAndPermute(PermutedLayer& m, std::initializer_list<BufferId> extra = {}) {
  m.router.forward();
  const BufferId castIds = m.b.workspace("cast_ids", DType::int32, {m.c.rows()});
  const BufferId iota = m.b.workspace("iota", DType::int32, {m.c.rows()});
  auto sort = m.b.step("sort", Op::sort).reads(m.layer.topkIds).writes(castIds, iota);
  for (BufferId id : m.addressing) sort.writes(id);
  for (BufferId id : extra) sort.writes(id);
  sort.launches(8).hostStalls(1);  // tokens per expert are read back
  m.permute();
}

void prepareGrouped(PermutedLayer& m) {
  PlanBuilder& b = m.b;
  const int64_t pairs = b.config().rows();
  const BufferId binIds = b.indices("bin_ids", Meaning::expertOfRow, DType::int32, {pairs});
  const BufferId indices = b.indices("indices", Meaning::slotOfRow, DType::int32, {pairs});
  const BufferId bins = b.indices("bins", Meaning::ends, DType::int32, {b.config().experts});
  m.addressing = {indices, binIds, bins};
  m.bounds = {bins};
  sortAndPermute(m);
}

}  // namespace

void planMegablocks(PlanBuilder& b, const System&) {
  PermutedLayer m(b, b.config().dtype);
  prepareGrouped(m);
  FrameworkActivation act;
  m.up(act);
  activationForward(b, act, "");
  m.downAndUnpermute(act.y);
  m.finishBackward(m.mlpBackward(act));
}

// Rows of each expert padded to blocks, products block-sparse over a topology of three int16 and one int32 a block
// (stk).
void planMegablocksSparse(PlanBuilder& b, const System&) {
  b.padRows(kBlock);
  PermutedLayer m(b, b.config().dtype);
  const MoeConfig& c = b.config();
  const int64_t pairs = c.rows(), blocks = m.rows / kBlock * ((c.dFf + kBlock - 1) / kBlock);
  const BufferId binIds = b.indices("bin_ids", Meaning::expertOfRow, DType::int32, {pairs});
  const BufferId indices = b.indices("indices", Meaning::slotOfRow, DType::int32, {pairs});
  const BufferId bins = b.indices("bins", Meaning::pairEnds, DType::int32, {c.experts});
  const BufferId paddedBins = b.indices("padded_bins", Meaning::ends, DType::int32, {c.experts});
  m.addressing = {indices, binIds};
  m.bounds = {binIds};
  for (const char* name : {"topology.row_indices", "topology.column_indices", "topology.column_indices_t"})
    m.topology.push_back(b.indices(name, Meaning::blockTopology, DType::int16, {blocks}));
  m.topology.push_back(b.indices("topology.block_offsets_t", Meaning::blockTopology, DType::int32, {blocks}));
  m.products = KernelFamily::triton;
  sortAndPermute(m, {bins, paddedBins});
  auto topology = b.step("topology", Op::sort).reads(m.layer.topkIds, bins, paddedBins);
  for (BufferId id : m.topology) topology.writes(id);
  topology.launches(4);

  FrameworkActivation act;
  m.up(act);
  activationForward(b, act, "");
  m.downAndUnpermute(act.y);
  m.finishBackward(m.mlpBackward(act));
}

// Its memory-optimised MLP is one autograd node: everything it saved stays until that node returns.
void planMegablocksMemopt(PlanBuilder& b, const System&) {
  PermutedLayer m(b, b.config().dtype);
  prepareGrouped(m);
  const MoeConfig& c = b.config();
  FrameworkActivation act;
  m.up(act);
  activationForward(b, act, "");
  m.heldUntilMlpReturns = act.y;
  m.downAndUnpermute(act.y);

  FrameworkActivation again{.a = act.a, .b = act.b};
  activationForward(b, again, ".recomputed");
  again.kept = act.a;  // its result is overwritten below
  m.weightGradient("down_weight_gradient", again.y, m.outputGradientRows, m.layer.w3Gradient)
      .groupedReduction(c.dFf, c.dModel);
  // The gradient of Y overwrites the recomputed Y, and the gradient of the rows overwrites that of the output.
  const BufferId yGradient = b.alias("dY", again.y, {m.rows, c.dFf});
  m.product("down_input_gradient", m.outputGradientRows, m.layer.w3, yGradient).grouped(c.dFf, c.dModel).transposed();
  activationBackward(b, again, yGradient, "");
  const auto upWeightGradient = [&](const char* name, BufferId gradient, BufferId weightGradient) {
    m.weightGradient(std::string("up_weight_gradient_") + name, m.xPermuted, gradient, weightGradient)
        .groupedReduction(c.dModel, c.dFf);
  };
  upWeightGradient("A", again.aGradient, m.layer.w1Gradient);
  if (m.gated()) upWeightGradient("B", again.bGradient, m.layer.w2Gradient);
  const BufferId dx = b.alias("dx_rows", m.outputGradientRows, {m.rows, c.dModel});
  m.product("up_input_gradient_A", again.aGradient, m.layer.w1, dx).grouped(c.dModel, c.dFf).transposed();
  if (m.gated()) {
    const BufferId fromB = b.transient("dx_B", Layout::rows, {m.rows, c.dModel});
    m.product("up_input_gradient_B", again.bGradient, m.layer.w2, fromB).grouped(c.dModel, c.dFf).transposed();
    b.step("add_up_gradients", Op::add).reads(fromB, dx).writes(dx);
  }
  b.release("mlp_backward_return", yGradient, m.xPermuted, act.a, again.aGradient, act.b, again.bGradient);
  m.finishBackward(dx);
}

}  // namespace moeblaze
