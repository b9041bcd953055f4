// Megatron-Core (d98e8a6: moe_utils.py, experts.py, fusions/fused_bias_swiglu.py), one rank: permute, TEGroupedMLP with
// the gates multiplied inside its activation, unpermute. Read from code; saved bytes as derived there.
#include "core/systems/layer.h"

namespace moeblaze {
namespace {

struct Megatron : FrameworkLayer {
  Megatron(PlanBuilder& builder, const System& system, bool recomputeActivation)
      : FrameworkLayer(builder, {.fusedUpWeights = true, .gateDtype = builder.config().gateDtype}),
        fusedPermute(system.value("permute") == "fused"),
        recompute(recomputeActivation) {}

  void forward() {
    router.forward();
    buildMaps();
    permuted = b.transient("fc1_input", Layout::rows, {rows, c.dModel});
    b.step("permute", Op::gather).readsRows(layer.x, rows).reads(slotOfRow).writes(permuted);
    probabilities = b.buffer("permuted_probs", Role::transient, c.gateDtype, Layout::rows, {rows});
    b.step("permute_probs", Op::gather).reads(layer.gates, slotOfRow).writes(probabilities);
    z = b.hidden("fc1_output", Layout::rows, {rows, upWidth()});
    b.step("fc1", Op::groupedGemm).reads(permuted, layer.w1, ids).writes(z).grouped(upWidth(), c.dModel);
    y = activation("fc2_input");
    const BufferId out = b.transient("fc2_output", Layout::rows, {rows, c.dModel});
    b.step("fc2", Op::groupedGemm).reads(y, layer.w3, ids).writes(out).grouped(c.dModel, c.dFf);
    const BufferId zeros = b.transient("zeros", Layout::tokens, {c.tokens, c.dModel});
    b.step("fill_zeros", Op::fill).writes(zeros);
    b.step("unpermute", Op::scatterAdd).reads(out, slotOfRow, zeros).writes(layer.output);
    shared.forward();
  }

  void backward() {
    b.beginBackward();
    shared.backward();
    const BufferId outGradient = b.transient("fc2_output_gradient", Layout::rows, {rows, c.dModel});
    b.step("unpermute_backward", Op::gather).readsRows(layer.outputGradient, rows).reads(slotOfRow).writes(outGradient);
    if (recompute) y = activation("fc2_input.recomputed");
    const BufferId yGradient = b.transient("fc2_input_gradient", Layout::rows, {rows, c.dFf});
    b.step("fc2_input_gradient", Op::groupedGemm)
        .reads(outGradient, layer.w3, ids)
        .writes(yGradient)
        .grouped(c.dFf, c.dModel)
        .transposed();
    b.step("fc2_weight_gradient", Op::weightGradient)
        .reads(y, outGradient, ids)
        .writes(layer.w3Gradient)
        .groupedReduction(c.dFf, c.dModel);
    const BufferId zGradient = b.transient("fc1_output_gradient", Layout::rows, {rows, upWidth()});
    const BufferId probsGradient =
        b.buffer("permuted_probs_gradient", Role::transient, c.gateDtype, Layout::rows, {rows});
    b.step("activation_backward", Op::fusedActivationBackward)
        .reads(yGradient)
        .readsAs(Use::a, z)
        .readsAs(Use::gates, probabilities)
        .writesAs(Use::a, zGradient)
        .writesAs(Use::parts, probsGradient);
    const BufferId rowsGradient = b.transient("fc1_input_gradient", Layout::rows, {rows, c.dModel});
    b.step("fc1_input_gradient", Op::groupedGemm)
        .reads(zGradient, layer.w1, ids)
        .writes(rowsGradient)
        .grouped(c.dModel, upWidth())
        .transposed();
    b.step("fc1_weight_gradient", Op::weightGradient)
        .reads(permuted, zGradient, ids)
        .writes(layer.w1Gradient)
        .groupedReduction(c.dModel, upWidth());
    const BufferId out = shared.routedInputGradient();
    b.step("permute_backward", Op::scatterAdd).reads(rowsGradient, slotOfRow).writes(out);
    b.step("permute_probs_backward", Op::scatter).reads(probsGradient, slotOfRow).writes(layer.gateGradient);
    // The router's nodes, which ran first, go last: they hold x, its ids and probabilities, and the permute's maps.
    b.release("router_return", layer.x, ids, layer.gates, pinned, rowMaps);
    shared.addRouted(out);
    router.backward();
  }

  int64_t upWidth() const { return c.upProjections() * c.dFf; }

  /// Unfused permute: int64 indices that are a slice of an argsort over [E, L], which they pin. Fused: a row map and
  /// two chunk maps.
  void buildMaps() {
    ids = b.indices("topk_indices", Meaning::expertOfSlot, DType::int64, {c.tokens, c.topK});
    auto build = b.step("routing_map", Op::sort).reads(layer.topkIds);
    if (fusedPermute) {
      pinned = b.indices("row_id_map", Meaning::scratch, DType::int32, {c.tokens, 2 * c.experts + 1});
      slotOfRow = b.indices("chunk_map", Meaning::slotOfRow, DType::int32, {rows});
      rowMaps = b.indices("chunk_map_reversed", Meaning::rowOfSlot, DType::int32, {rows});
    } else {
      pinned = b.indices("routing_map_argsort", Meaning::scratch, DType::int64, {c.experts, c.tokens});
      slotOfRow = b.indices("sorted_indices", Meaning::slotOfRow, DType::int64, {rows});
    }
    build.writes(ids, pinned, slotOfRow).writesAs(Use::data, rowMaps).launches(6);
  }

  BufferId activation(const char* name) {
    const BufferId result = b.hidden(name, Layout::rows, {rows, c.dFf});
    b.step(name, Op::fusedActivation).readsAs(Use::a, z).readsAs(Use::gates, probabilities).writesAs(Use::y, result);
    return result;
  }

  bool fusedPermute, recompute;
  BufferId ids{}, pinned{}, slotOfRow{}, rowMaps = BufferId::none;
  BufferId permuted{}, probabilities{}, z{}, y{};
};

void plan(PlanBuilder& builder, const System& system, bool recomputeActivation) {
  Megatron megatron(builder, system, recomputeActivation);
  megatron.forward();
  megatron.backward();
}

}  // namespace

void planMegatron(PlanBuilder& builder, const System& system) { plan(builder, system, false); }

// `moe_act`: the activation's output is discarded after fc2 and recomputed before fc2's backward.
void planMegatronMoeAct(PlanBuilder& builder, const System& system) { plan(builder, system, true); }

}  // namespace moeblaze
