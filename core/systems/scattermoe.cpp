// ScatterMoE's GLUMLP and MLP (shawntan/scattermoe 47b5e15: mlp.py, parallel_experts.py, kernels/ops.py), measured on
// an H200. Gathers inside its Triton products in forward; backward groups rows first.
#include "core/systems/layer.h"

namespace moeblaze {
namespace {

struct Scattermoe : FrameworkLayer {
  explicit Scattermoe(PlanBuilder& builder)
      : FrameworkLayer(builder, {.fusedUpWeights = true, .gateDtype = builder.config().dtype}) {}

  void forward() {
    router.forward();
    sortedIds = b.indices("sorted_expert_ids", Meaning::expertOfRow, DType::int64, {rows});
    order = b.indices("sorted_scattered_ids", Meaning::slotOfRow, DType::int64, {rows});
    offsets = b.indices("expert_offsets", Meaning::ends, DType::int64, {c.experts});
    const BufferId sort = b.workspace("sort_scratch", DType::int64, {rows, 3});
    b.step("sort", Op::sort).reads(layer.topkIds).writes(sort, sortedIds, order, offsets).launches(10).hostStalls(1);

    const int64_t upWidth = c.upProjections() * c.dFf;
    z = b.hidden(gated() ? "Z" : "A", Layout::rows, {rows, upWidth});
    b.step("up", Op::groupedGemm)
        .readsRows(layer.x, rows)
        .reads(layer.w1, sortedIds, order)
        .writes(z)
        .grouped(upWidth, c.dModel)
        .family(KernelFamily::triton);
    act.a = z;
    if (gated()) {  // chunk() hands out views of Z
      act.a = b.alias("A", z, {rows, c.dFf});
      act.b = b.alias("B", z, {rows, c.dFf}, c.dFf);
    }
    activationForward(b, act, "");
    expertOutput = b.transient("expert_output", Layout::slots, {c.tokens, c.topK, c.dModel});
    b.step("down", Op::groupedGemm)
        .reads(act.y, layer.w3, sortedIds, order)
        .writes(expertOutput)
        .grouped(c.dModel, c.dFf)
        .family(KernelFamily::triton);
    b.step("combine", Op::combine).reads(expertOutput).readsAs(Use::gates, layer.gates).writes(layer.output);
    shared.forward();
  }

  void backward() {
    b.beginBackward();
    shared.backward();
    downBackward();
    activationBackward(b, act, yGradient, "");
    BufferId zGradient = act.aGradient;
    if (gated()) {
      b.release("chunk_return", z);
      zGradient = b.transient("dZ", Layout::rows, {rows, 2 * c.dFf});
      b.step("chunk_backward", Op::concatenate).reads(act.aGradient, act.bGradient).writes(zGradient);
    }
    upBackward(zGradient);
    router.backward();
  }

  void downBackward() {
    b.step("gate_gradient", Op::gateGradient).reads(expertOutput, layer.outputGradient).writes(layer.gateGradient);
    // The expert output's storage is reused for the grouped output gradient.
    const BufferId grouped = b.alias("dO_grouped", expertOutput, {rows, c.dModel});
    b.at(grouped).layout = Layout::rows;
    b.step("group_output_gradient", Op::gather)
        .readsRows(layer.outputGradient, rows)
        .reads(order)
        .readsAs(Use::gates, layer.gates)
        .writes(grouped);
    b.step("down_weight_gradient", Op::weightGradient)
        .reads(act.y, grouped, offsets)
        .writes(layer.w3Gradient)
        .groupedReduction(c.dFf, c.dModel)
        .family(KernelFamily::triton);
    yGradient = b.transient("dY", Layout::rows, {rows, c.dFf});
    b.step("down_input_gradient", Op::groupedGemm)
        .reads(grouped, layer.w3, sortedIds, order)
        .writes(yGradient)
        .grouped(c.dFf, c.dModel)
        .transposed()
        .family(KernelFamily::triton);
    b.release("down_return", act.y);
  }

  /// The grouped rows' storage in slot order.
  BufferId slotsOver(BufferId grouped) {
    const BufferId slots = b.alias("dx_slots", grouped, {c.tokens, c.topK, c.dModel});
    b.at(slots).layout = Layout::slots;
    return slots;
  }

  void upBackward(BufferId zGradient) {
    const int64_t upWidth = c.upProjections() * c.dFf;
    const BufferId out = shared.routedInputGradient();
    const bool direct = c.topK == 1;  // one slot per token: the rows' gradient is the input's
    const BufferId grouped =
        direct ? b.alias("x_grouped", out, {rows, c.dModel}) : b.transient("x_grouped", Layout::rows, {rows, c.dModel});
    b.at(grouped).layout = Layout::rows;
    b.step("group_input", Op::gather).readsRows(layer.x, rows).reads(order).writes(grouped);
    b.step("up_weight_gradient", Op::weightGradient)
        .reads(grouped, zGradient, offsets)
        .writes(layer.w1Gradient)
        .groupedReduction(c.dModel, upWidth)
        .family(KernelFamily::triton);
    // The grouped input's storage is reused for its gradient.
    const BufferId slots = direct ? out : slotsOver(grouped);
    b.step("up_input_gradient", Op::groupedGemm)
        .reads(zGradient, layer.w1, sortedIds, order)
        .writes(slots)
        .grouped(c.dModel, upWidth)
        .transposed()
        .family(KernelFamily::triton);
    if (!direct) b.step("reduce_input_gradient", Op::reduce).reads(slots).writes(out);
    b.release("up_return", zGradient, sortedIds, order, offsets);
    shared.addRouted(out);
  }

  FrameworkActivation act;
  BufferId sortedIds{}, order{}, offsets{}, z{}, expertOutput{}, yGradient{};
};

}  // namespace

void planScattermoe(PlanBuilder& builder, const System&) {
  Scattermoe scattermoe(builder);
  scattermoe.forward();
  scattermoe.backward();
}

}  // namespace moeblaze
