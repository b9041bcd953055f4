// ScatterMoE's GLUMLP and MLP (shawntan/scattermoe 47b5e15: mlp.py, parallel_experts.py, kernels/ops.py), measured on
// an H200. In forward its Triton products gather rows themselves; backward first copies the rows of each expert
// together.
#include <array>

#include "core/systems/framework_layer.h"
#include "system_families.h"

namespace moeblaze {
namespace {

class Scattermoe : public FrameworkLayer {
 public:
  Scattermoe(PlanBuilder& builder, const System&)
      : FrameworkLayer(builder, {.fusedUpWeights = true, .gateDtype = builder.config().dtype}) {}

  void forward() {
    router_.forward();
    sortedIds_ = builder_.indices("sorted_expert_ids", Meaning::expertOfRow, DType::int64, {rows_});
    order_ = builder_.indices("sorted_scattered_ids", Meaning::slotOfRow, DType::int64, {rows_});
    offsets_ = builder_.indices("expert_offsets", Meaning::ends, DType::int64, {config_.experts});
    const BufferId sort = builder_.workspace("sort_scratch", DType::int64, {rows_, 3});
    builder_.step("sort", Op::sort)
        .reads(layer_.topkIds)
        .writes(sort, sortedIds_, order_, offsets_)
        .launches(10)
        .hostStalls(1);

    const int64_t upWidth = config_.upProjections() * config_.dFf;
    z_ = builder_.hidden(gated() ? "Z" : "A", Layout::rows, {rows_, upWidth});
    builder_.step("up", Op::groupedGemm)
        .readsRows(layer_.x, rows_)
        .reads(layer_.w1, sortedIds_, order_)
        .writes(z_)
        .grouped(upWidth, config_.dModel)
        .family(KernelFamily::triton);
    act_.a = z_;
    if (gated()) {  // PyTorch's chunk() returns views of Z
      act_.a = builder_.alias("A", z_, {rows_, config_.dFf});
      act_.b = builder_.alias("B", z_, {rows_, config_.dFf}, config_.dFf);
    }
    activationForward(builder_, act_, "");
    expertOutput_ = builder_.transient("expert_output", Layout::slots, {config_.tokens, config_.topK, config_.dModel});
    builder_.step("down", Op::groupedGemm)
        .reads(act_.y, layer_.w3, sortedIds_, order_)
        .writes(expertOutput_)
        .grouped(config_.dModel, config_.dFf)
        .family(KernelFamily::triton);
    builder_.step("combine", Op::combine).reads(expertOutput_).readsAs(Use::gates, layer_.gates).writes(layer_.output);
    shared_.forward();
  }

  void backward() {
    builder_.beginBackward();
    shared_.backward();
    downBackward();
    activationBackward(builder_, act_, yGradient_, "");
    BufferId zGradient = act_.aGradient;
    if (gated()) {
      builder_.release("chunk_return", z_);
      zGradient = builder_.transient("dZ", Layout::rows, {rows_, 2 * config_.dFf});
      builder_.step("chunk_backward", Op::concatenate).reads(act_.aGradient, act_.bGradient).writes(zGradient);
    }
    upBackward(zGradient);
    router_.backward();
  }

 private:
  void downBackward() {
    builder_.step("gate_gradient", Op::gateGradient)
        .reads(expertOutput_, layer_.outputGradient)
        .writes(layer_.gateGradient);
    // The output gradient in rows overwrites the experts' output.
    const BufferId grouped = builder_.alias("dO_grouped", expertOutput_, {rows_, config_.dModel});
    builder_.at(grouped).layout = Layout::rows;
    gatherRows("group_output_gradient", layer_.outputGradient, {order_}, grouped, layer_.gates);
    builder_.step("down_weight_gradient", Op::weightGradient)
        .reads(act_.y, grouped, offsets_)
        .writes(layer_.w3Gradient)
        .groupedReduction(config_.dFf, config_.dModel)
        .family(KernelFamily::triton);
    yGradient_ = builder_.transient("dY", Layout::rows, {rows_, config_.dFf});
    builder_.step("down_input_gradient", Op::groupedGemm)
        .reads(grouped, layer_.w3, sortedIds_, order_)
        .writes(yGradient_)
        .grouped(config_.dFf, config_.dModel)
        .transposed()
        .family(KernelFamily::triton);
    builder_.release("down_return", act_.y);
  }

  /// The storage of `grouped` with its elements in the order of slots.
  BufferId slotsOver(BufferId grouped) {
    const BufferId slots = builder_.alias("dx_slots", grouped, {config_.tokens, config_.topK, config_.dModel});
    builder_.at(slots).layout = Layout::slots;
    return slots;
  }

  void upBackward(BufferId zGradient) {
    const int64_t upWidth = config_.upProjections() * config_.dFf;
    const BufferId out = shared_.routedInputGradient();
    const bool direct = config_.topK == 1;  // with one slot per token the slots' gradient is the input's
    const BufferId grouped = direct ? builder_.alias("x_grouped", out, {rows_, config_.dModel})
                                    : builder_.transient("x_grouped", Layout::rows, {rows_, config_.dModel});
    builder_.at(grouped).layout = Layout::rows;
    gatherRows("group_input", layer_.x, {order_}, grouped);
    builder_.step("up_weight_gradient", Op::weightGradient)
        .reads(grouped, zGradient, offsets_)
        .writes(layer_.w1Gradient)
        .groupedReduction(config_.dModel, upWidth)
        .family(KernelFamily::triton);
    // The input gradient overwrites the grouped input.
    const BufferId slots = direct ? out : slotsOver(grouped);
    builder_.step("up_input_gradient", Op::groupedGemm)
        .reads(zGradient, layer_.w1, sortedIds_, order_)
        .writes(slots)
        .grouped(config_.dModel, upWidth)
        .transposed()
        .family(KernelFamily::triton);
    if (!direct) builder_.step("reduce_input_gradient", Op::reduce).reads(slots).writes(out);
    builder_.release("up_return", zGradient, sortedIds_, order_, offsets_);
    shared_.addRouted(out);
  }

  FrameworkActivation act_;
  BufferId sortedIds_{}, order_{}, offsets_{}, z_{}, expertOutput_{}, yGradient_{};
};

constexpr std::array kSystems{SystemInfo{70, "scattermoe", "permuted in backward", "all, but x unpermuted",
                                         "ScatterMoE 47b5e15; measured", planLayer<Scattermoe>}};

}  // namespace

std::span<const SystemInfo> families::scattermoe() { return kSystems; }

}  // namespace moeblaze
