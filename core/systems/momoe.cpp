// MoMoE (d6e2d68: momoe.py), one autograd node whose backward regroups both inputs and recomputes what forward did not
// save; measured on an H200. Gates are a dense [E, L] map.
#include "core/systems/layer.h"

namespace moeblaze {
namespace {

struct Momoe : FrameworkLayer {
  Momoe(PlanBuilder& builder, bool keepAll)
      : FrameworkLayer(builder, {.fusedUpWeights = true, .denseGates = true, .gateDtype = builder.config().dtype}),
        saveAll(keepAll) {
    b.useFamily(KernelFamily::triton);
  }

  void forward() {
    router.forward();
    findUsedExperts();
    if (saveAll) {
      a = b.hidden("A", {rows, c.dFf});
      if (gated()) bHalf = b.hidden("B", {rows, c.dFf});
    }
    y = b.hidden("Y", {rows, c.dFf});
    auto up = b.step("up", Op::fusedUp).readsRows(layer.x, rows).reads(layer.w1, slotToken, offsets);
    if (saveAll) up.writes(a);
    if (saveAll && gated()) up.writes(bHalf);
    up.writes(y).grouped(c.upProjections() * c.dFf, c.dModel);

    if (saveAll) expertOutput = b.transient("expert_output", {rows, c.dModel});
    const BufferId slots = b.transient("expert_output_slots", {c.topK, c.tokens, c.dModel});
    auto down = b.step("down", Op::groupedGemm).reads(y, layer.w3, layer.gates, slotToken, slotChoice, offsets);
    if (saveAll) down.writes(expertOutput);
    down.writes(slots).grouped(c.dModel, c.dFf);
    b.step("reduce", Op::reduce).reads(slots).writes(layer.output);
    b.release("apply_experts_return", y, slots);
    shared.forward();
  }

  void backward() {
    b.beginBackward();
    shared.backward();
    const int64_t upWidth = c.upProjections() * c.dFf;
    const BufferId xPermuted = b.transient("x_permuted", {rows, c.dModel});
    const BufferId dOPermuted = b.transient("dO_permuted", {rows, c.dModel});
    b.step("group_inputs", Op::gather)
        .readsRows(layer.x, rows)
        .readsRows(layer.outputGradient, rows)
        .reads(slotToken, offsets, layer.gates)
        .writes(xPermuted, dOPermuted);
    const BufferId zGradient = b.transient("dZ", {rows, upWidth});
    const BufferId again = b.transient("Y.recomputed", {rows, c.dFf});
    activationBackwardStep(xPermuted, dOPermuted, zGradient, again);
    b.step("down_weight_gradient", Op::weightGradient)
        .reads(dOPermuted, again, offsets)
        .writes(layer.w3Gradient)
        .groupedReduction(c.dFf, c.dModel);
    b.step("up_weight_gradient", Op::weightGradient)
        .reads(zGradient, xPermuted, offsets)
        .writes(layer.w1Gradient)
        .groupedReduction(c.dModel, upWidth);
    const BufferId scores = b.buffer("dgates_fp32", Role::transient, DType::fp32, {c.experts, c.tokens});
    const BufferId slots = inputGradientStep(zGradient, again, scores);
    const BufferId out = shared.routedInputGradient();
    b.step("reduce_input_gradient", Op::reduce).reads(slots).writes(out);
    b.release("backward_return", xPermuted, zGradient, again);
    b.step("cast_gate_gradient", Op::gateGradient).reads(scores).writes(layer.gateGradient);
    b.release("node_return", layer.gates, slotToken, slotChoice, offsets);
    if (saveAll) b.release("node_return", a, expertOutput);
    if (saveAll && gated()) b.release("node_return", bHalf);
    shared.addRouted(out);
    router.backward();
  }

  void findUsedExperts() {
    offsets = b.buffer("expert_offsets", Role::index, DType::int32, {c.experts + 1});
    slotToken = b.buffer("slot_token", Role::index, DType::int32, {rows});
    slotChoice = b.buffer("slot_choice", Role::index, DType::int32, {rows});
    const BufferId cast = b.buffer("mask_as_int64", Role::workspace, DType::int64, {c.experts, c.tokens});
    const BufferId counts = b.buffer("tokens_per_expert", Role::transient, DType::int64, {c.experts});
    b.step("count", Op::sort).reads(layer.topkIds).writes(cast, counts).launches(2).hostStalls(1);
    const BufferId seen = b.buffer("choices_seen", Role::workspace, DType::int32, {c.tokens});
    b.step("find_used_experts", Op::sort)
        .reads(layer.topkIds, counts)
        .writes(seen, offsets, slotToken, slotChoice)
        .launches(2);
  }

  /// One kernel: output gradient times W3ᵀ, first projections recomputed unless saved, activation and its backward.
  void activationBackwardStep(BufferId xPermuted, BufferId dOPermuted, BufferId zGradient, BufferId again) {
    auto step = b.step("activation_backward", Op::fusedDownBackward).reads(dOPermuted, layer.w3, offsets);
    if (saveAll) {
      step.reads(a);
      if (gated()) step.reads(bHalf);
    } else {
      step.reads(xPermuted, layer.w1);
    }
    step.writes(zGradient, again).grouped((saveAll ? 1 : 1 + c.upProjections()) * c.dFf, c.dModel);
  }

  /// One kernel: input gradient per slot and ⟨output gradient, expert output⟩, the latter recomputed unless saved.
  BufferId inputGradientStep(BufferId zGradient, BufferId again, BufferId scores) {
    const BufferId slots = b.transient("dx_slots", {c.topK, c.tokens, c.dModel});
    auto step = b.step("up_input_gradient", Op::groupedGemm)
                    .reads(zGradient, layer.w1, slotToken, slotChoice, offsets)
                    .readsRows(layer.outputGradient, rows);
    if (saveAll) {
      step.reads(expertOutput);
    } else {
      step.reads(again, layer.w3);
    }
    step.writes(slots, scores).grouped(c.dModel, (c.upProjections() + (saveAll ? 0 : 1)) * c.dFf).launches(2);
    return slots;
  }

  bool saveAll;
  BufferId offsets{}, slotToken{}, slotChoice{}, y{};
  BufferId a = BufferId::none, bHalf = BufferId::none, expertOutput = BufferId::none;
};

}  // namespace

void planMomoe(PlanBuilder& builder, const System& system) {
  Momoe momoe(builder, system.value("save") == "100");
  momoe.forward();
  momoe.backward();
}

}  // namespace moeblaze
