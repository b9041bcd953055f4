#include "core/systems/composed_layer.h"

#include <algorithm>

#include "core/plan/buffer_names.h"
#include "core/plan/index_blocks.h"

namespace moeblaze {
namespace {

/// Columns of an output tile. Each tile leaves one partial sum of the gate gradient in each row.
constexpr int64_t kTileColumns = 128;
/// With blocked dispatch the rows of each expert are padded to a multiple of this.
constexpr int64_t kBlockRows = 128;

/// Sets the rows of each expert as the dispatch needs them, before any buffer is declared; returns `builder`.
PlanBuilder& withRows(PlanBuilder& builder, const Composition& composition) {
  if (composition.dispatch == Dispatch::blocked) builder.padRows(kBlockRows);
  if (composition.dispatch == Dispatch::padded)
    builder.limitRows(expertCapacity(builder.config(), composition.capacity));
  return builder;
}

}  // namespace

ComposedLayer::ComposedLayer(PlanBuilder& builder, const Composition& composition)
    : builder_(withRows(builder, composition)),
      config_(builder.config()),
      composition_(composition),
      layer_(builder, {.fusedUpWeights = composition.fusedWeights, .gateDtype = config_.gateDtype}),
      router_(builder, layer_) {
  builder_.useFamily(composition_.fused ? KernelFamily::fused : KernelFamily::library);
  if (composition_.chunk == 0) composition_.chunk = config_.experts;
  splitExperts();
  const SharedWeights weights(builder_);
  shared_ = {.suffix = std::string(buffer_names::kSharedSuffix),
             .rows = config_.tokens,
             .width = weights.width,
             .routed = false,
             .w1 = weights.w1,
             .w2 = weights.w2,
             .w3 = weights.w3,
             .w1Gradient = weights.w1Gradient,
             .w2Gradient = weights.w2Gradient,
             .w3Gradient = weights.w3Gradient};
}

void ComposedLayer::forward() {
  router_.forward();
  buildIndex();
  if (copies()) input_ = gather("x_permuted", layer_.x);
  expertOutput_ = builder_.transient("expert_output", Layout::rows, {builder_.rows(), config_.dModel});
  for (Mlp& chunk : chunks_) {
    use(chunk);
    mlpForward(chunk, expertOutput_);
  }
  useAllExperts();
  builder_.step("combine", Op::combine)
      .reads(expertOutput_, rowOfSlot_, offsets_)
      .readsAs(Use::gates, layer_.gates)
      .writes(layer_.output);
  if (config_.sharedWidth() > 0) {
    use(shared_);
    mlpForward(shared_, layer_.output);
    useAllExperts();
  }
}

void ComposedLayer::backward() {
  builder_.beginBackward();
  if (config_.sharedWidth() > 0) {
    use(shared_);
    mlpBackward(shared_, layer_.inputGradient);
    useAllExperts();
  }
  outputGradient_ = layer_.outputGradient;
  if (copies()) outputGradient_ = gather("dO_permuted", layer_.outputGradient);
  if (copies() && composition_.save == Save::input) input_ = gather("x_permuted.again", layer_.x);
  if (!composition_.sonicIndices) gatherGates();
  gateParts_ = builder_.buffer("gate_gradient_parts", Role::transient, wideDtype(config_), Layout::rows,
                               {builder_.rows(), gateTiles()});
  if (composition_.save == Save::all)
    builder_.step("gate_gradient", Op::gateGradient)
        .reads(expertOutput_)
        .readsRows(layer_.outputGradient, builder_.rows())
        .reads(tokenOfRow_, offsets_)
        .writesAs(Use::parts, gateParts_);
  const BufferId rowsGradient = builder_.transient("dx_rows", Layout::rows, {builder_.rows(), config_.dModel});
  for (Mlp& chunk : chunks_) {
    use(chunk);
    mlpBackward(chunk, rowsGradient);
  }
  useAllExperts();
  reduceGradients(rowsGradient);
  router_.backward();
}

void ComposedLayer::reduceGradients(BufferId rowsGradient) {
  auto reduce = builder_.step("reduce_gradients", Op::reduceGradients)
                    .reads(rowsGradient)
                    .readsAs(Use::parts, gateParts_)
                    .reads(rowOfSlot_, expertOfSlot_, offsets_);
  if (tokenOffsets_ != BufferId::none) reduce.reads(tokenOffsets_);
  if (slotOfRow_ != BufferId::none) reduce.reads(slotOfRow_);
  if (config_.sharedWidth() > 0) reduce.reads(layer_.inputGradient);
  reduce.writes(layer_.inputGradient, layer_.gateGradient);
}

int64_t ComposedLayer::gateTiles() const {
  return fusedBackward() ? (config_.dFf + kTileColumns - 1) / kTileColumns : 1;
}

void ComposedLayer::splitExperts() {
  for (int64_t first = 0; first < config_.experts; first += composition_.chunk) {
    Mlp& mlp = chunks_.emplace_back();
    mlp.firstExpert = first;
    mlp.experts = std::min(composition_.chunk, config_.experts - first);
    mlp.allExperts = config_.experts;
    if (composition_.chunk < config_.experts) mlp.suffix.append(".").append(std::to_string(chunks_.size() - 1));
    use(mlp);
    mlp.rows = builder_.currentRows();
    mlp.width = config_.dFf;
    mlp.w1 = layer_.w1, mlp.w2 = layer_.w2, mlp.w3 = layer_.w3;
    mlp.w1Gradient = layer_.w1Gradient, mlp.w2Gradient = layer_.w2Gradient, mlp.w3Gradient = layer_.w3Gradient;
  }
  useAllExperts();
}

void ComposedLayer::buildIndex() {
  const auto ids = [&](const char* name, Meaning meaning, Shape shape) {
    return builder_.indices(name, meaning, DType::int32, shape);
  };
  const bool sonic = composition_.sonicIndices;
  tokenOfRow_ = ids(sonic ? "x_gather_idx" : "expert_token_indices", Meaning::tokenOfRow, {builder_.rows()});
  if (sonic) {
    // SonicMoE keeps no offsets of the experts for backward; it computes them again from the ids.
    offsets_ = expertOfSlot_ = ids("topk_indices", Meaning::expertOfSlot, {config_.tokens, config_.topK});
    slotOfRow_ = ids("s_scatter_idx", Meaning::slotOfRow, {builder_.rows()});
    tokenOffsets_ = ids("token_offsets", Meaning::tokenOffsets, {config_.tokens});
  } else {
    offsets_ = ids("expert_token_offsets", Meaning::offsets, {config_.experts + 1});
    expertOfSlot_ = ids("token_expert_indices", Meaning::expertOfSlot, {config_.rows()});
  }
  rowOfSlot_ =
      ids(sonic ? "s_reverse_scatter_idx" : "token_index_map", Meaning::rowOfSlot, {config_.tokens, config_.topK});
  const int64_t blocks = maxIndexBlocks(config_.rows());
  const BufferId counts = builder_.workspace("block_counts", DType::int32, {config_.experts, blocks});
  auto build = builder_.step("build_index", Op::buildIndex)
                   .reads(layer_.topkIds)
                   .writes(counts, tokenOfRow_, rowOfSlot_, expertOfSlot_);
  if (offsets_ != expertOfSlot_) build.writes(offsets_);
  if (sonic) build.writes(slotOfRow_, tokenOffsets_);
}

/// Copies the gates to the order of rows. Several backward Steps scale every row by its gate; the copy, a few bytes for
/// each row, spares each of them two index look-ups.
void ComposedLayer::gatherGates() {
  rowGates_ = builder_.buffer("row_gates", Role::transient, config_.gateDtype, Layout::rows, {builder_.rows()});
  builder_.step("row_gates", Op::gather).reads(layer_.gates, rowOfSlot_, offsets_).writes(rowGates_);
}

BufferId ComposedLayer::gather(const char* name, BufferId tokens) {
  const BufferId copy = builder_.transient(name, Layout::rows, {builder_.rows(), config_.dModel});
  builder_.step(std::string("gather_") + name, Op::gather)
      .readsRows(tokens, builder_.rows())
      .reads(tokenOfRow_, offsets_)
      .writes(copy);
  return copy;
}

void ComposedLayer::use(const Mlp& mlp) {
  if (!mlp.routed) return builder_.useExperts(0, 0);
  builder_.useExperts(static_cast<int32_t>(mlp.firstExpert), static_cast<int32_t>(mlp.experts));
}

void ComposedLayer::useAllExperts() { builder_.useExperts(0, static_cast<int32_t>(config_.experts)); }

void planComposition(PlanBuilder& builder, const Composition& composition) {
  ComposedLayer layer(builder, composition);
  layer.forward();
  layer.backward();
}

}  // namespace moeblaze
