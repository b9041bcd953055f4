// MoMoE (d6e2d68: momoe.py), measured on an H200. The layer is one autograd node. Its backward copies x and the output
// gradient to rows and recomputes what forward did not save. Gates are a dense [E, L] map. Each of its two fused
// backward kernels is planned as two Steps.
#include <array>

#include "core/systems/framework_layer.h"
#include "system_families.h"

namespace moeblaze {
namespace {

class Momoe : public FrameworkLayer {
 public:
  Momoe(PlanBuilder& builder, const System& system)
      : FrameworkLayer(builder, {.fusedUpWeights = true, .denseGates = true, .gateDtype = builder.config().dtype}),
        saveAll_(system.value("save") == "100") {
    builder_.useFamily(KernelFamily::triton);
  }

  void forward() {
    router_.forward();
    findUsedExperts();
    if (saveAll_) {
      a_ = builder_.hidden("A", Layout::rows, {rows_, config_.dFf});
      if (gated()) bHalf_ = builder_.hidden("B", Layout::rows, {rows_, config_.dFf});
    }
    y_ = builder_.hidden("Y", Layout::rows, {rows_, config_.dFf});
    builder_.step("up", Op::fusedUp)
        .readsRows(layer_.x, rows_)
        .reads(layer_.w1, slotToken_, offsets_)
        .writesAs(Use::a, a_)
        .writesAs(Use::b, bHalf_)
        .writesAs(Use::y, y_)
        .grouped(config_.upProjections() * config_.dFf, config_.dModel);

    if (saveAll_) expertOutput_ = builder_.transient("expert_output", Layout::rows, {rows_, config_.dModel});
    const BufferId slots =
        builder_.transient("expert_output_slots", Layout::choiceSlots, {config_.topK, config_.tokens, config_.dModel});
    builder_.step("down", Op::groupedGemm)
        .reads(y_, layer_.w3, slotToken_, slotChoice_, offsets_)
        .readsAs(Use::gates, layer_.gates)
        .writesAs(Use::data, expertOutput_)
        .writes(slots)
        .grouped(config_.dModel, config_.dFf);
    builder_.step("reduce", Op::reduce).reads(slots).writes(layer_.output);
    builder_.release("apply_experts_return", y_, slots);
    shared_.forward();
  }

  void backward() {
    builder_.beginBackward();
    shared_.backward();
    const int64_t upWidth = config_.upProjections() * config_.dFf;
    const BufferId xPermuted = group("x_permuted", layer_.x, BufferId::none);
    const BufferId dOPermuted = group("dO_permuted", layer_.outputGradient, layer_.gates);
    const BufferId zGradient = builder_.transient("dZ", Layout::rows, {rows_, upWidth});
    const BufferId again = builder_.transient("Y.recomputed", Layout::rows, {rows_, config_.dFf});
    activationBackward(xPermuted, dOPermuted, zGradient, again);
    builder_.step("down_weight_gradient", Op::weightGradient)
        .reads(again, dOPermuted, offsets_)
        .writes(layer_.w3Gradient)
        .groupedReduction(config_.dFf, config_.dModel);
    builder_.step("up_weight_gradient", Op::weightGradient)
        .reads(xPermuted, zGradient, offsets_)
        .writes(layer_.w1Gradient)
        .groupedReduction(config_.dModel, upWidth);
    const BufferId gatesGradient = builder_.buffer("dgates_wide", Role::transient, wideDtype(config_),
                                                   Layout::expertTokens, {config_.experts, config_.tokens});
    const BufferId slots =
        builder_.transient("dx_slots", Layout::choiceSlots, {config_.topK, config_.tokens, config_.dModel});
    builder_.step("up_input_gradient", Op::groupedGemm)
        .reads(zGradient, layer_.w1, slotToken_, slotChoice_, offsets_)
        .writes(slots)
        .grouped(config_.dModel, upWidth)
        .transposed();
    gateGradient(again, gatesGradient);
    const BufferId out = shared_.routedInputGradient();
    builder_.step("reduce_input_gradient", Op::reduce).reads(slots).writes(out);
    builder_.release("backward_return", xPermuted, zGradient, again);
    builder_.step("cast_gate_gradient", Op::cast).reads(gatesGradient).writes(layer_.gateGradient);
    builder_.release("node_return", layer_.gates, slotToken_, slotChoice_, offsets_, a_, bHalf_, expertOutput_);
    shared_.addRouted(out);
    router_.backward();
  }

 private:
  void findUsedExperts() {
    offsets_ = builder_.indices("expert_offsets", Meaning::offsets, DType::int32, {config_.experts + 1});
    slotToken_ = builder_.indices("slot_token", Meaning::tokenOfRow, DType::int32, {rows_});
    slotChoice_ = builder_.indices("slot_choice", Meaning::choiceOfRow, DType::int32, {rows_});
    const BufferId cast = builder_.workspace("mask_as_int64", DType::int64, {config_.experts, config_.tokens});
    const BufferId counts =
        builder_.buffer("tokens_per_expert", Role::transient, DType::int64, Layout::flat, {config_.experts});
    builder_.at(counts).meaning = Meaning::counts;
    builder_.step("count", Op::sort).reads(layer_.topkIds).writes(cast, counts).launches(2).hostStalls(1);
    const BufferId seen = builder_.workspace("choices_seen", DType::int32, {config_.tokens});
    builder_.step("find_used_experts", Op::sort)
        .reads(layer_.topkIds, counts)
        .writes(seen, offsets_, slotToken_, slotChoice_)
        .launches(2);
  }

  BufferId group(const char* name, BufferId tokens, BufferId gates) {
    const BufferId out = builder_.transient(name, Layout::rows, {rows_, config_.dModel});
    builder_.step(std::string("group_") + name, Op::gather)
        .readsRows(tokens, rows_)
        .readsAs(Use::gates, gates)
        .reads(slotToken_, offsets_)
        .writes(out);
    return out;
  }

  /// One kernel computes Y's gradient (the output gradient times W3ᵀ), computes A and B again unless they were saved,
  /// and from these Y and the gradients of A and B.
  void activationBackward(BufferId xPermuted, BufferId dOPermuted, BufferId zGradient, BufferId again) {
    auto step = builder_.step("activation_backward", Op::fusedDownBackward).reads(dOPermuted, layer_.w3, offsets_);
    step.readsAs(Use::a, a_).readsAs(Use::b, bHalf_);
    if (!saveAll_) step.readsAs(Use::recompute, xPermuted).readsAs(Use::recompute, layer_.w1);
    step.writesAs(Use::a, zGradient).writesAs(Use::y, again);
    step.grouped((saveAll_ ? 1 : 1 + config_.upProjections()) * config_.dFf, config_.dModel).transposed();
  }

  /// ⟨expert output, output gradient⟩ for each row; the expert output is computed again unless it was saved.
  void gateGradient(BufferId again, BufferId gatesGradient) {
    auto step = builder_.step("gate_gradient", Op::gateGradient).reads(saveAll_ ? expertOutput_ : again);
    if (!saveAll_) step.reads(layer_.w3);
    step.readsRows(layer_.outputGradient, rows_).reads(slotToken_, slotChoice_, offsets_).writes(gatesGradient);
    if (!saveAll_) step.grouped(config_.dModel, config_.dFf);
  }

  bool saveAll_;
  BufferId offsets_{}, slotToken_{}, slotChoice_{}, y_{};
  BufferId a_ = BufferId::none, bHalf_ = BufferId::none, expertOutput_ = BufferId::none;
};

constexpr std::array<std::string_view, 2> kSaves{"0", "100"};
constexpr std::array kParameters{SystemParameter{"save", kSaves, SystemParameter::Number::none, "0",
                                                 "percent of the intermediates kept for backward"}};
constexpr std::array kSystems{SystemInfo{80, "momoe", "permuted in backward", "x; save=100 adds A, B, output rows",
                                         "MoMoE d6e2d68; measured", planLayer<Momoe>, kParameters}};

}  // namespace

std::span<const SystemInfo> families::momoe() { return kSystems; }

}  // namespace moeblaze
