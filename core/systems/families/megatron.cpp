// Megatron-Core (d98e8a6: moe_utils.py, experts.py, fusions/fused_bias_swiglu.py) on one rank: permute, TEGroupedMLP,
// whose activation also multiplies by the gates, unpermute. Read from its code; not measured.
#include <array>

#include "core/systems/framework_layer.h"
#include "system_families.h"

namespace moeblaze {
namespace {

class Megatron : public FrameworkLayer {
 public:
  Megatron(PlanBuilder& builder, const System& system, bool recomputeActivation = false)
      : FrameworkLayer(builder, {.fusedUpWeights = true, .gateDtype = builder.config().gateDtype}),
        fusedPermute_(system.value("permute") == "fused"),
        recompute_(recomputeActivation) {}

  void forward() {
    router_.forward();
    buildMaps();
    permuted_ = builder_.transient("fc1_input", Layout::rows, {rows_, config_.dModel});
    gatherRows("permute", layer_.x, {slotOfRow_}, permuted_);
    probabilities_ = builder_.buffer("permuted_probs", Role::transient, config_.gateDtype, Layout::rows, {rows_});
    builder_.step("permute_probs", Op::gather).reads(layer_.gates, slotOfRow_).writes(probabilities_);
    z_ = builder_.hidden("fc1_output", Layout::rows, {rows_, upWidth()});
    builder_.step("fc1", Op::groupedGemm)
        .reads(permuted_, layer_.w1, ids_)
        .writes(z_)
        .grouped(upWidth(), config_.dModel);
    y_ = activation("fc2_input");
    const BufferId out = builder_.transient("fc2_output", Layout::rows, {rows_, config_.dModel});
    builder_.step("fc2", Op::groupedGemm).reads(y_, layer_.w3, ids_).writes(out).grouped(config_.dModel, config_.dFf);
    const BufferId zeros = builder_.transient("zeros", Layout::tokens, {config_.tokens, config_.dModel});
    builder_.step("fill_zeros", Op::fill).writes(zeros);
    builder_.step("unpermute", Op::scatterAdd).reads(out, slotOfRow_, zeros).writes(layer_.output);
    shared_.forward();
  }

  void backward() {
    builder_.beginBackward();
    shared_.backward();
    const BufferId outGradient = builder_.transient("fc2_output_gradient", Layout::rows, {rows_, config_.dModel});
    gatherRows("unpermute_backward", layer_.outputGradient, {slotOfRow_}, outGradient);
    if (recompute_) y_ = activation("fc2_input.recomputed");
    const BufferId yGradient = builder_.transient("fc2_input_gradient", Layout::rows, {rows_, config_.dFf});
    builder_.step("fc2_input_gradient", Op::groupedGemm)
        .reads(outGradient, layer_.w3, ids_)
        .writes(yGradient)
        .grouped(config_.dFf, config_.dModel)
        .transposed();
    builder_.step("fc2_weight_gradient", Op::weightGradient)
        .reads(y_, outGradient, ids_)
        .writes(layer_.w3Gradient)
        .groupedReduction(config_.dFf, config_.dModel);
    const BufferId zGradient = builder_.transient("fc1_output_gradient", Layout::rows, {rows_, upWidth()});
    const BufferId probsGradient =
        builder_.buffer("permuted_probs_gradient", Role::transient, config_.gateDtype, Layout::rows, {rows_});
    builder_.step("activation_backward", Op::fusedActivationBackward)
        .reads(yGradient)
        .readsAs(Use::a, z_)
        .readsAs(Use::gates, probabilities_)
        .writesAs(Use::a, zGradient)
        .writesAs(Use::parts, probsGradient);
    const BufferId rowsGradient = builder_.transient("fc1_input_gradient", Layout::rows, {rows_, config_.dModel});
    builder_.step("fc1_input_gradient", Op::groupedGemm)
        .reads(zGradient, layer_.w1, ids_)
        .writes(rowsGradient)
        .grouped(config_.dModel, upWidth())
        .transposed();
    builder_.step("fc1_weight_gradient", Op::weightGradient)
        .reads(permuted_, zGradient, ids_)
        .writes(layer_.w1Gradient)
        .groupedReduction(config_.dModel, upWidth());
    const BufferId out = shared_.routedInputGradient();
    builder_.step("permute_backward", Op::scatterAdd).reads(rowsGradient, slotOfRow_).writes(out);
    builder_.step("permute_probs_backward", Op::scatter).reads(probsGradient, slotOfRow_).writes(layer_.gateGradient);
    // Autograd runs nodes in reverse, so the router's nodes go last. They hold x, the router's ids and gates, and the
    // maps of the permute.
    builder_.release("router_return", layer_.x, ids_, layer_.gates, pinned_, rowMaps_);
    shared_.addRouted(out);
    router_.backward();
  }

 private:
  int64_t upWidth() const { return config_.upProjections() * config_.dFf; }

  /// Plans the index structures of the permute. The unfused one uses int64 indices that are a slice of an argsort over
  /// [E, L], all of which stays alive with them. The fused one has a row map and two chunk maps.
  void buildMaps() {
    ids_ = builder_.indices("topk_indices", Meaning::expertOfSlot, DType::int64, {config_.tokens, config_.topK});
    auto build = builder_.step("routing_map", Op::sort).reads(layer_.topkIds);
    if (fusedPermute_) {
      pinned_ =
          builder_.indices("row_id_map", Meaning::scratch, DType::int32, {config_.tokens, 2 * config_.experts + 1});
      slotOfRow_ = builder_.indices("chunk_map", Meaning::slotOfRow, DType::int32, {rows_});
      rowMaps_ = builder_.indices("chunk_map_reversed", Meaning::rowOfSlot, DType::int32, {rows_});
    } else {
      pinned_ =
          builder_.indices("routing_map_argsort", Meaning::scratch, DType::int64, {config_.experts, config_.tokens});
      slotOfRow_ = builder_.indices("sorted_indices", Meaning::slotOfRow, DType::int64, {rows_});
    }
    build.writes(ids_, pinned_, slotOfRow_).writesAs(Use::data, rowMaps_).launches(6);
  }

  BufferId activation(const char* name) {
    const BufferId result = builder_.hidden(name, Layout::rows, {rows_, config_.dFf});
    builder_.step(name, Op::fusedActivation)
        .readsAs(Use::a, z_)
        .readsAs(Use::gates, probabilities_)
        .writesAs(Use::y, result);
    return result;
  }

  bool fusedPermute_, recompute_;
  BufferId ids_{}, pinned_{}, slotOfRow_{}, rowMaps_ = BufferId::none;
  BufferId permuted_{}, probabilities_{}, z_{}, y_{};
};

/// `moe_act`: the activation's output is discarded after fc2 and computed again before the backward of fc2.
class MegatronMoeAct : public Megatron {
 public:
  MegatronMoeAct(PlanBuilder& builder, const System& system) : Megatron(builder, system, true) {}
};

constexpr std::array<std::string_view, 2> kPermutes{"unfused", "fused"};
constexpr std::array kParameters{
    SystemParameter{"permute", kPermutes, SystemParameter::Number::none, "unfused", "moe_permute_fusion"}};
constexpr std::array kSystems{
    SystemInfo{100, "megatron", "permuted", "x, permuted x, fc1 and fc2 inputs, Z",
               "Megatron-Core d98e8a6; read from code", planLayer<Megatron>, kParameters},
    SystemInfo{110, "megatron-moe-act", "permuted", "x, permuted x, Z",
               "Megatron-Core d98e8a6, moe_act; read from code", planLayer<MegatronMoeAct>, kParameters},
};

}  // namespace

std::span<const SystemInfo> families::megatron() { return kSystems; }

}  // namespace moeblaze
