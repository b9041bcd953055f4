// Plain PyTorch (2.11): argsort, index_select, torch._grouped_mm, silu·mul, ·gate, index_add, as measured on an H200.
#include "core/systems/layer.h"

namespace moeblaze {
namespace {

/// Tensor maps of a grouped_mm call, 132 SMs × 4 × 128 bytes, and 60 bytes of problem description an expert; measured.
int64_t groupedMmScratch(const MoeConfig& c) { return 132 * 4 * 128 + 60 * c.experts; }

struct Torch : FrameworkLayer {
  explicit Torch(PlanBuilder& builder) : FrameworkLayer(builder, {.gateDtype = builder.config().gateDtype}) {}

  void forward() {
    router.forward();
    sortAndPermute();
    act.a = up("A", layer.w1);
    if (gated()) act.b = up("B", layer.w2);
    activationForward(b, act, "");
    expertOutput = b.transient("expert_output", Layout::rows, {rows, c.dModel});
    product("down", act.y, layer.w3, expertOutput).grouped(c.dModel, c.dFf);
    slotGates = b.transient("slot_gates", Layout::rows, {rows});
    b.step("gather_gates", Op::gather).reads(layer.gates, order).writes(slotGates).launches(2);
    scaled = b.transient("expert_output_scaled", Layout::rows, {rows, c.dModel});
    b.step("scale", Op::scaleRows).reads(expertOutput, slotGates).writes(scaled);
    const BufferId zeros = b.transient("zeros", Layout::tokens, {c.tokens, c.dModel});
    b.step("fill_zeros", Op::fill).writes(zeros);
    b.step("index_add", Op::scatterAdd).reads(scaled, token, zeros).writes(layer.output).launches(2);
    shared.forward();
  }

  void backward() {
    b.beginBackward();
    shared.backward();
    indexAddBackward();
    const BufferId yGradient = b.transient("dY", Layout::rows, {rows, c.dFf});
    weightGradient("down_weight_gradient", act.y, outputRowsGradient, layer.w3Gradient)
        .groupedReduction(c.dFf, c.dModel);
    product("down_input_gradient", outputRowsGradient, layer.w3, yGradient).grouped(c.dFf, c.dModel).transposed();
    b.release("down_return", act.y);
    activationBackward(b, act, yGradient, "");
    BufferId sum = BufferId::none;
    if (act.b != BufferId::none) sum = upBackward("B", act.bGradient, layer.w2, layer.w2Gradient);
    const BufferId fromA = upBackward("A", act.aGradient, layer.w1, layer.w1Gradient);
    b.release("permute_return", xPermuted);
    if (sum == BufferId::none) {
      sum = fromA;
    } else {
      b.step("add_up_gradients", Op::add).reads(fromA, sum).writes(sum);
    }
    const BufferId out = shared.routedInputGradient();
    const BufferId sort = b.workspace("index_select_sort", DType::int64, {rows, 6});
    b.step("index_select_backward", Op::scatterAdd).reads(sum, token).writes(sort, out).launches(8);
    shared.addRouted(out);
    router.backward();
  }

  void sortAndPermute() {
    order = b.indices("order", Meaning::slotOfRow, DType::int64, {rows});
    token = b.indices("token", Meaning::tokenOfRow, DType::int64, {rows});
    offsets = b.indices("offsets", Meaning::ends, DType::int32, {c.experts});
    const BufferId sort = b.workspace("argsort_scratch", DType::int64, {rows, 4});
    b.step("argsort", Op::sort).reads(layer.topkIds).writes(sort, order).launches(20);
    // bincount reads the smallest and the largest id back to the host.
    b.step("count", Op::sort).reads(layer.topkIds, order).writes(token, offsets).launches(8).hostStalls(1);
    xPermuted = b.transient("x_permuted", Layout::rows, {rows, c.dModel});
    b.step("permute", Op::gather).readsRows(layer.x, rows).reads(token).writes(xPermuted);
  }

  PlanBuilder::StepRef groupedMm(const std::string& name, Op op, BufferId left, BufferId right, BufferId out) {
    const BufferId scratch = b.workspace(name + ".scratch", DType::uint8, {groupedMmScratch(c)});
    return b.step(name, op).reads(left, right, offsets).writes(scratch, out).launches(2);
  }

  PlanBuilder::StepRef product(const std::string& name, BufferId in, BufferId weight, BufferId out) {
    return groupedMm(name, Op::groupedGemm, in, weight, out);
  }

  PlanBuilder::StepRef weightGradient(const std::string& name, BufferId in, BufferId gradient, BufferId out) {
    return groupedMm(name, Op::weightGradient, in, gradient, out);
  }

  BufferId up(const char* name, BufferId weight) {
    const BufferId out = b.hidden(name, Layout::rows, {rows, c.dFf});
    product(std::string("up_") + name, xPermuted, weight, out).grouped(c.dFf, c.dModel);
    return out;
  }

  BufferId upBackward(const std::string& name, BufferId gradient, BufferId weight, BufferId gradientOfWeight) {
    weightGradient("up_weight_gradient_" + name, xPermuted, gradient, gradientOfWeight)
        .groupedReduction(c.dModel, c.dFf);
    const BufferId out = b.transient("dx_" + name, Layout::rows, {rows, c.dModel});
    product("up_input_gradient_" + name, gradient, weight, out).grouped(c.dModel, c.dFf).transposed();
    return out;
  }

  void indexAddBackward() {
    const BufferId scaledGradient = b.transient("dO_slots", Layout::rows, {rows, c.dModel});
    // index_add keeps its source merely for its shape, until here.
    b.step("index_add_backward", Op::gather)
        .readsRows(layer.outputGradient, rows)
        .reads(token)
        .read(scaled, 0)
        .writes(scaledGradient);
    const BufferId gateProduct = b.transient("gate_product", Layout::rows, {rows, c.dModel});
    outputRowsGradient = b.transient("dO_permuted", Layout::rows, {rows, c.dModel});
    b.step("scale_backward_gates", Op::multiply).reads(scaledGradient, expertOutput).writes(gateProduct);
    b.step("scale_backward", Op::scaleRows).reads(scaledGradient, slotGates).writes(outputRowsGradient);
    const BufferId slotGradient = b.transient("dslot_gates", Layout::rows, {rows});
    b.step("gate_reduce", Op::gateGradient).reads(gateProduct).writes(slotGradient);
    b.release("scale_return", scaledGradient, expertOutput, slotGates);
    const BufferId sort = b.workspace("index_put_sort", DType::int64, {rows, 6});
    b.step("gather_gates_backward", Op::scatter)
        .reads(slotGradient, order)
        .writes(sort, layer.gateGradient)
        .launches(8);
  }

  FrameworkActivation act;
  BufferId order{}, token{}, offsets{}, xPermuted{}, expertOutput{}, slotGates{}, scaled{}, outputRowsGradient{};
};

}  // namespace

void planTorch(PlanBuilder& builder, const System&) {
  Torch torch(builder);
  torch.forward();
  torch.backward();
}

}  // namespace moeblaze
