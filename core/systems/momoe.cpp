// MoMoE (d6e2d68: momoe.py), one autograd node whose backward regroups both inputs and recomputes what forward did not
// save; measured on an H200. Gates are a dense [E, L] map. Its two fused backward kernels appear as two Steps each.
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
      a = b.hidden("A", Layout::rows, {rows, c.dFf});
      if (gated()) bHalf = b.hidden("B", Layout::rows, {rows, c.dFf});
    }
    y = b.hidden("Y", Layout::rows, {rows, c.dFf});
    b.step("up", Op::fusedUp)
        .readsRows(layer.x, rows)
        .reads(layer.w1, slotToken, offsets)
        .writesAs(Use::a, a)
        .writesAs(Use::b, bHalf)
        .writesAs(Use::y, y)
        .grouped(c.upProjections() * c.dFf, c.dModel);

    if (saveAll) expertOutput = b.transient("expert_output", Layout::rows, {rows, c.dModel});
    const BufferId slots = b.transient("expert_output_slots", Layout::choiceSlots, {c.topK, c.tokens, c.dModel});
    b.step("down", Op::groupedGemm)
        .reads(y, layer.w3, slotToken, slotChoice, offsets)
        .readsAs(Use::gates, layer.gates)
        .writesAs(Use::data, expertOutput)
        .writes(slots)
        .grouped(c.dModel, c.dFf);
    b.step("reduce", Op::reduce).reads(slots).writes(layer.output);
    b.release("apply_experts_return", y, slots);
    shared.forward();
  }

  void backward() {
    b.beginBackward();
    shared.backward();
    const int64_t upWidth = c.upProjections() * c.dFf;
    const BufferId xPermuted = group("x_permuted", layer.x, BufferId::none);
    const BufferId dOPermuted = group("dO_permuted", layer.outputGradient, layer.gates);
    const BufferId zGradient = b.transient("dZ", Layout::rows, {rows, upWidth});
    const BufferId again = b.transient("Y.recomputed", Layout::rows, {rows, c.dFf});
    activationBackward(xPermuted, dOPermuted, zGradient, again);
    b.step("down_weight_gradient", Op::weightGradient)
        .reads(again, dOPermuted, offsets)
        .writes(layer.w3Gradient)
        .groupedReduction(c.dFf, c.dModel);
    b.step("up_weight_gradient", Op::weightGradient)
        .reads(xPermuted, zGradient, offsets)
        .writes(layer.w1Gradient)
        .groupedReduction(c.dModel, upWidth);
    const DType wide = c.dtype == DType::fp64 ? DType::fp64 : DType::fp32;
    const BufferId scores = b.buffer("dgates_wide", Role::transient, wide, Layout::expertTokens, {c.experts, c.tokens});
    const BufferId slots = b.transient("dx_slots", Layout::choiceSlots, {c.topK, c.tokens, c.dModel});
    b.step("up_input_gradient", Op::groupedGemm)
        .reads(zGradient, layer.w1, slotToken, slotChoice, offsets)
        .writes(slots)
        .grouped(c.dModel, upWidth)
        .transposed();
    gateGradient(again, scores);
    const BufferId out = shared.routedInputGradient();
    b.step("reduce_input_gradient", Op::reduce).reads(slots).writes(out);
    b.release("backward_return", xPermuted, zGradient, again);
    b.step("cast_gate_gradient", Op::cast).reads(scores).writes(layer.gateGradient);
    b.release("node_return", layer.gates, slotToken, slotChoice, offsets, a, bHalf, expertOutput);
    shared.addRouted(out);
    router.backward();
  }

  void findUsedExperts() {
    offsets = b.indices("expert_offsets", Meaning::offsets, DType::int32, {c.experts + 1});
    slotToken = b.indices("slot_token", Meaning::tokenOfRow, DType::int32, {rows});
    slotChoice = b.indices("slot_choice", Meaning::choiceOfRow, DType::int32, {rows});
    const BufferId cast = b.workspace("mask_as_int64", DType::int64, {c.experts, c.tokens});
    const BufferId counts = b.buffer("tokens_per_expert", Role::transient, DType::int64, Layout::flat, {c.experts});
    b.at(counts).meaning = Meaning::counts;
    b.step("count", Op::sort).reads(layer.topkIds).writes(cast, counts).launches(2).hostStalls(1);
    const BufferId seen = b.workspace("choices_seen", DType::int32, {c.tokens});
    b.step("find_used_experts", Op::sort)
        .reads(layer.topkIds, counts)
        .writes(seen, offsets, slotToken, slotChoice)
        .launches(2);
  }

  BufferId group(const char* name, BufferId tokens, BufferId gates) {
    const BufferId out = b.transient(name, Layout::rows, {rows, c.dModel});
    b.step(std::string("group_") + name, Op::gather)
        .readsRows(tokens, rows)
        .readsAs(Use::gates, gates)
        .reads(slotToken, offsets)
        .writes(out);
    return out;
  }

  /// Output gradient times W3ᵀ, first projections recomputed unless saved, the activation and its backward.
  void activationBackward(BufferId xPermuted, BufferId dOPermuted, BufferId zGradient, BufferId again) {
    auto step = b.step("activation_backward", Op::fusedDownBackward).reads(dOPermuted, layer.w3, offsets);
    step.readsAs(Use::a, a).readsAs(Use::b, bHalf);
    if (!saveAll) step.readsAs(Use::recompute, xPermuted).readsAs(Use::recompute, layer.w1);
    step.writesAs(Use::a, zGradient).writesAs(Use::y, again);
    step.grouped((saveAll ? 1 : 1 + c.upProjections()) * c.dFf, c.dModel).transposed();
  }

  /// ⟨expert output, output gradient⟩, the former recomputed unless saved.
  void gateGradient(BufferId again, BufferId scores) {
    auto step = b.step("gate_gradient", Op::gateGradient).reads(saveAll ? expertOutput : again);
    if (!saveAll) step.reads(layer.w3);
    step.readsRows(layer.outputGradient, rows).reads(slotToken, slotChoice, offsets).writes(scores);
    if (!saveAll) step.grouped(c.dModel, c.dFf);
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
