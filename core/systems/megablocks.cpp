// MegaBlocks with grouped GEMM (databricks/megablocks 78eea65: layers/dmoe.py, layers/glu.py, ops/gather.py,
// ops/scatter.py), node by node as its autograd allocates and frees; measured on an H200.
#include "core/systems/layer.h"

namespace moeblaze {
namespace {

/// What both MLPs of MegaBlocks share: sorting, permuting, and the way back.
struct Megablocks : FrameworkLayer {
  explicit Megablocks(PlanBuilder& builder) : FrameworkLayer(builder, {.gateDtype = builder.config().dtype}) {}

  void permute() {
    router.forward();
    binIds = b.indices("bin_ids", Meaning::expertOfRow, DType::int32, {rows});
    indices = b.indices("indices", Meaning::slotOfRow, DType::int32, {rows});
    bins = b.indices("bins", Meaning::ends, DType::int32, {c.experts});
    const BufferId castIds = b.workspace("cast_ids", DType::int32, {rows});
    const BufferId iota = b.workspace("iota", DType::int32, {rows});
    b.step("sort", Op::sort)
        .reads(layer.topkIds)
        .writes(castIds, iota, binIds, indices, bins)
        .launches(8)
        .hostStalls(1);  // tokens per expert are read back
    xPermuted = b.transient("x_permuted", Layout::rows, {rows, c.dModel});
    b.step("permute", Op::gather).readsRows(layer.x, rows).reads(indices, binIds, bins).writes(xPermuted);
  }

  BufferId up(const char* name, BufferId weight) {
    const BufferId out = b.hidden(name, Layout::rows, {rows, c.dFf});
    b.step(std::string("up_") + name, Op::groupedGemm)
        .reads(xPermuted, weight, bins)
        .writes(out)
        .grouped(c.dFf, c.dModel);
    return out;
  }

  /// Second projection and the weighted way back to token order.
  void downAndUnpermute(BufferId y) {
    expertOutput = b.transient("expert_output", Layout::rows, {rows, c.dModel});
    b.step("down", Op::groupedGemm).reads(y, layer.w3, bins).writes(expertOutput).grouped(c.dModel, c.dFf);
    if (heldUntilMlpReturns != BufferId::none) b.release("mlp_return", heldUntilMlpReturns);
    toTokens("unpermute", expertOutput, layer.gates, layer.output);
    shared.forward();
    b.beginBackward();
    shared.backward();
    dOPermuted = b.transient("dO_permuted", Layout::rows, {rows, c.dModel});
    b.step("unpermute_backward", Op::gather)
        .readsRows(layer.outputGradient, rows)
        .reads(indices, binIds, bins)
        .readsAs(Use::gates, layer.gates)
        .writes(dOPermuted);
    b.step("gate_gradient", Op::gateGradient)
        .reads(expertOutput)
        .readsRows(layer.outputGradient, rows)
        .reads(indices, binIds, bins)
        .writes(layer.gateGradient);
  }

  /// Scatters rows [R, d] to tokens; with k > 1 through a [L, k, d] copy that is then summed.
  void toTokens(const std::string& name, BufferId from, BufferId gates, BufferId out) {
    const BufferId to = c.topK == 1 ? out : b.transient(name + "_slots", Layout::slots, {c.tokens, c.topK, c.dModel});
    auto scatter = b.step(name, Op::scatter).reads(from, indices, binIds, bins);
    scatter.readsAs(Use::gates, gates);
    scatter.writes(to);
    if (to != out) b.step(name + "_reduce", Op::reduce).reads(to).writes(out);
  }

  void finishBackward(BufferId rowsGradient) {
    const BufferId out = shared.routedInputGradient();
    toTokens("permute_backward", rowsGradient, BufferId::none, out);
    b.release("permute_return", rowsGradient);
    shared.addRouted(out);
    router.backward();
  }

  BufferId binIds{}, indices{}, bins{}, xPermuted{}, expertOutput{}, dOPermuted{};
  BufferId heldUntilMlpReturns = BufferId::none;
};

}  // namespace

void planMegablocks(PlanBuilder& b, const System&) {
  Megablocks m(b);
  const MoeConfig& c = b.config();
  m.permute();
  FrameworkActivation act;
  act.a = m.up("A", m.layer.w1);
  if (m.layer.w2 != BufferId::none) act.b = m.up("B", m.layer.w2);
  activationForward(b, act, "");
  m.downAndUnpermute(act.y);

  const BufferId yGradient = b.transient("dY", Layout::rows, {m.rows, c.dFf});
  b.step("down_input_gradient", Op::groupedGemm)
      .reads(m.dOPermuted, m.layer.w3, m.bins)
      .writes(yGradient)
      .grouped(c.dFf, c.dModel)
      .transposed();
  b.step("down_weight_gradient", Op::weightGradient)
      .reads(act.y, m.dOPermuted, m.bins)
      .writes(m.layer.w3Gradient)
      .groupedReduction(c.dFf, c.dModel);
  activationBackward(b, act, yGradient, "");

  const auto upBackward = [&](const std::string& name, BufferId gradient, BufferId weight, BufferId weightGradient) {
    const BufferId out = b.transient("dx_" + name, Layout::rows, {m.rows, c.dModel});
    b.step("up_input_gradient_" + name, Op::groupedGemm)
        .reads(gradient, weight, m.bins)
        .writes(out)
        .grouped(c.dModel, c.dFf)
        .transposed();
    b.step("up_weight_gradient_" + name, Op::weightGradient)
        .reads(m.xPermuted, gradient, m.bins)
        .writes(weightGradient)
        .groupedReduction(c.dModel, c.dFf);
    return out;
  };
  // The node that ran last in forward runs first in backward.
  BufferId sum = BufferId::none;
  if (act.b != BufferId::none) sum = upBackward("B", act.bGradient, m.layer.w2, m.layer.w2Gradient);
  const BufferId fromA = upBackward("A", act.aGradient, m.layer.w1, m.layer.w1Gradient);
  if (sum == BufferId::none) {
    sum = fromA;
  } else {
    b.step("add_up_gradients", Op::add).reads(fromA, sum).writes(sum);
  }
  m.finishBackward(sum);
}

// Its memory-optimised MLP is one autograd node: everything it saved stays until that node returns.
void planMegablocksMemopt(PlanBuilder& b, const System&) {
  Megablocks m(b);
  const MoeConfig& c = b.config();
  const bool gated = isGated(c.activation);
  m.permute();
  FrameworkActivation act;
  act.a = m.up("A", m.layer.w1);
  if (gated) act.b = m.up("B", m.layer.w2);
  activationForward(b, act, "");
  m.heldUntilMlpReturns = act.y;
  m.downAndUnpermute(act.y);

  FrameworkActivation again{.a = act.a, .b = act.b};
  activationForward(b, again, ".recomputed");
  again.kept = act.a;  // its result is overwritten below
  b.step("down_weight_gradient", Op::weightGradient)
      .reads(again.y, m.dOPermuted, m.bins)
      .writes(m.layer.w3Gradient)
      .groupedReduction(c.dFf, c.dModel);
  // The gradient of Y overwrites the recomputed Y, and the gradient of the rows overwrites that of the output.
  const BufferId yGradient = b.alias("dY", again.y, {m.rows, c.dFf});
  b.step("down_input_gradient", Op::groupedGemm)
      .reads(m.dOPermuted, m.layer.w3, m.bins)
      .writes(yGradient)
      .grouped(c.dFf, c.dModel)
      .transposed();
  activationBackward(b, again, yGradient, "");
  const auto upWeightGradient = [&](const char* name, BufferId gradient, BufferId weightGradient) {
    b.step(std::string("up_weight_gradient_") + name, Op::weightGradient)
        .reads(m.xPermuted, gradient, m.bins)
        .writes(weightGradient)
        .groupedReduction(c.dModel, c.dFf);
  };
  upWeightGradient("A", again.aGradient, m.layer.w1Gradient);
  if (gated) upWeightGradient("B", again.bGradient, m.layer.w2Gradient);
  const BufferId dx = b.alias("dx_rows", m.dOPermuted, {m.rows, c.dModel});
  b.step("up_input_gradient_A", Op::groupedGemm)
      .reads(again.aGradient, m.layer.w1, m.bins)
      .writes(dx)
      .grouped(c.dModel, c.dFf)
      .transposed();
  if (gated) {
    const BufferId fromB = b.transient("dx_B", Layout::rows, {m.rows, c.dModel});
    b.step("up_input_gradient_B", Op::groupedGemm)
        .reads(again.bGradient, m.layer.w2, m.bins)
        .writes(fromB)
        .grouped(c.dModel, c.dFf)
        .transposed();
    b.step("add_up_gradients", Op::add).reads(fromB, dx).writes(dx);
    b.release("mlp_backward_return", act.b, again.bGradient);
  }
  b.release("mlp_backward_return", yGradient, m.xPermuted, act.a, again.aGradient);
  m.finishBackward(dx);
}

}  // namespace moeblaze
