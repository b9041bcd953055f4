// Plain PyTorch (2.11): argsort, index_select, torch._grouped_mm, silu·mul, ·gate, index_add, as measured on an H200.
#include <array>

#include "core/systems/framework_layer.h"
#include "system_families.h"

namespace moeblaze {
namespace {

/// Bytes of scratch that one grouped_mm call allocates, as measured: four tensor maps of 128 bytes for each of 132 SMs,
/// and a problem description of 60 bytes for each expert.
int64_t groupedMmScratch(const MoeConfig& c) { return int64_t{132} * 4 * 128 + 60 * c.experts; }

class Torch : public FrameworkLayer {
 public:
  Torch(PlanBuilder& builder, const System&) : FrameworkLayer(builder, {.gateDtype = builder.config().gateDtype}) {}

  void forward() {
    router_.forward();
    sortAndPermute();
    act_.a = up("A", layer_.w1);
    if (gated()) act_.b = up("B", layer_.w2);
    activationForward(builder_, act_, "");
    expertOutput_ = builder_.transient("expert_output", Layout::rows, {rows_, config_.dModel});
    product("down", act_.y, layer_.w3, expertOutput_).grouped(config_.dModel, config_.dFf);
    slotGates_ = builder_.transient("slot_gates", Layout::rows, {rows_});
    builder_.step("gather_gates", Op::gather).reads(layer_.gates, order_).writes(slotGates_).launches(2);
    scaled_ = builder_.transient("expert_output_scaled", Layout::rows, {rows_, config_.dModel});
    builder_.step("scale", Op::scaleRows).reads(expertOutput_, slotGates_).writes(scaled_);
    const BufferId zeros = builder_.transient("zeros", Layout::tokens, {config_.tokens, config_.dModel});
    builder_.step("fill_zeros", Op::fill).writes(zeros);
    builder_.step("index_add", Op::scatterAdd).reads(scaled_, token_, zeros).writes(layer_.output).launches(2);
    shared_.forward();
  }

  void backward() {
    builder_.beginBackward();
    shared_.backward();
    indexAddBackward();
    const BufferId yGradient = builder_.transient("dY", Layout::rows, {rows_, config_.dFf});
    weightGradient("down_weight_gradient", act_.y, outputRowsGradient_, layer_.w3Gradient)
        .groupedReduction(config_.dFf, config_.dModel);
    product("down_input_gradient", outputRowsGradient_, layer_.w3, yGradient)
        .grouped(config_.dFf, config_.dModel)
        .transposed();
    builder_.release("down_return", act_.y);
    activationBackward(builder_, act_, yGradient, "");
    BufferId sum = BufferId::none;
    if (act_.b != BufferId::none) sum = upBackward("B", act_.bGradient, layer_.w2, layer_.w2Gradient);
    const BufferId fromA = upBackward("A", act_.aGradient, layer_.w1, layer_.w1Gradient);
    builder_.release("permute_return", xPermuted_);
    if (sum == BufferId::none) {
      sum = fromA;
    } else {
      builder_.step("add_up_gradients", Op::add).reads(fromA, sum).writes(sum);
    }
    const BufferId out = shared_.routedInputGradient();
    const BufferId sort = builder_.workspace("index_select_sort", DType::int64, {rows_, 6});
    builder_.step("index_select_backward", Op::scatterAdd).reads(sum, token_).writes(sort, out).launches(8);
    shared_.addRouted(out);
    router_.backward();
  }

 private:
  void sortAndPermute() {
    order_ = builder_.indices("order", Meaning::slotOfRow, DType::int64, {rows_});
    token_ = builder_.indices("token", Meaning::tokenOfRow, DType::int64, {rows_});
    offsets_ = builder_.indices("offsets", Meaning::ends, DType::int32, {config_.experts});
    const BufferId sort = builder_.workspace("argsort_scratch", DType::int64, {rows_, 4});
    builder_.step("argsort", Op::sort).reads(layer_.topkIds).writes(sort, order_).launches(20);
    // bincount makes the host wait for the smallest and the largest id.
    builder_.step("count", Op::sort).reads(layer_.topkIds, order_).writes(token_, offsets_).launches(8).hostStalls(1);
    xPermuted_ = builder_.transient("x_permuted", Layout::rows, {rows_, config_.dModel});
    gatherRows("permute", layer_.x, {token_}, xPermuted_);
  }

  PlanBuilder::StepRef groupedMm(const std::string& name, Op op, BufferId left, BufferId right, BufferId out) {
    const BufferId scratch = builder_.workspace(name + ".scratch", DType::uint8, {groupedMmScratch(config_)});
    return builder_.step(name, op).reads(left, right, offsets_).writes(scratch, out).launches(2);
  }

  PlanBuilder::StepRef product(const std::string& name, BufferId in, BufferId weight, BufferId out) {
    return groupedMm(name, Op::groupedGemm, in, weight, out);
  }

  PlanBuilder::StepRef weightGradient(const std::string& name, BufferId in, BufferId gradient, BufferId out) {
    return groupedMm(name, Op::weightGradient, in, gradient, out);
  }

  BufferId up(const char* name, BufferId weight) {
    const BufferId out = builder_.hidden(name, Layout::rows, {rows_, config_.dFf});
    product(std::string("up_") + name, xPermuted_, weight, out).grouped(config_.dFf, config_.dModel);
    return out;
  }

  BufferId upBackward(const std::string& name, BufferId gradient, BufferId weight, BufferId gradientOfWeight) {
    weightGradient("up_weight_gradient_" + name, xPermuted_, gradient, gradientOfWeight)
        .groupedReduction(config_.dModel, config_.dFf);
    const BufferId out = builder_.transient("dx_" + name, Layout::rows, {rows_, config_.dModel});
    product("up_input_gradient_" + name, gradient, weight, out).grouped(config_.dModel, config_.dFf).transposed();
    return out;
  }

  void indexAddBackward() {
    const BufferId scaledGradient = builder_.transient("dO_slots", Layout::rows, {rows_, config_.dModel});
    // Autograd keeps the source of index_add until here, although it needs no more than its shape.
    builder_.step("index_add_backward", Op::gather)
        .readsRows(layer_.outputGradient, rows_)
        .reads(token_)
        .read(scaled_, 0)
        .writes(scaledGradient);
    const BufferId gateProduct = builder_.transient("gate_product", Layout::rows, {rows_, config_.dModel});
    outputRowsGradient_ = builder_.transient("dO_permuted", Layout::rows, {rows_, config_.dModel});
    builder_.step("scale_backward_gates", Op::multiply).reads(scaledGradient, expertOutput_).writes(gateProduct);
    builder_.step("scale_backward", Op::scaleRows).reads(scaledGradient, slotGates_).writes(outputRowsGradient_);
    const BufferId slotGradient = builder_.transient("dslot_gates", Layout::rows, {rows_});
    builder_.step("gate_reduce", Op::gateGradient).reads(gateProduct).writes(slotGradient);
    builder_.release("scale_return", scaledGradient, expertOutput_, slotGates_);
    const BufferId sort = builder_.workspace("index_put_sort", DType::int64, {rows_, 6});
    builder_.step("gather_gates_backward", Op::scatter)
        .reads(slotGradient, order_)
        .writes(sort, layer_.gateGradient)
        .launches(8);
  }

  FrameworkActivation act_;
  BufferId order_{}, token_{}, offsets_{}, xPermuted_{}, expertOutput_{}, slotGates_{}, scaled_{},
      outputRowsGradient_{};
};

constexpr std::array kSystems{
    SystemInfo{120, "torch", "permuted", "all", "PyTorch 2.11, torch._grouped_mm; measured", planLayer<Torch>}};

}  // namespace

std::span<const SystemInfo> families::torch() { return kSystems; }

}  // namespace moeblaze
