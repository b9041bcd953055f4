// A layer composed of a dispatch, a save and a fusion: MoEBlaze (arXiv 2601.05296) and SonicMoE (arXiv 2512.14080) are
// points of it, and so is anything `custom` asks for.
#include <algorithm>
#include <cmath>

#include "core/systems/composed_layer.h"

namespace moeblaze {
namespace {

/// Columns of an output tile: each leaves one partial sum of the gate gradient a row.
constexpr int64_t kTileColumns = 128;
/// Slots a block of the single index kernel counts at least, and blocks that run at once: four on each of 132
/// processors.
constexpr int64_t kSlotsPerBlock = 4096;
constexpr int64_t kMostBlocks = 4 * 132;
/// Rows of an expert under blocked dispatch are a multiple of this.
constexpr int64_t kBlockRows = 128;

/// Rows of each expert under the composition's dispatch; the builder must know them before anything is declared.
PlanBuilder& withRows(PlanBuilder& b, const Composition& how) {
  if (how.dispatch == Dispatch::blocked) b.padRows(kBlockRows);
  if (how.dispatch == Dispatch::padded) b.limitRows(expertCapacity(b.config(), how.capacity));
  return b;
}

}  // namespace

Composed::Composed(PlanBuilder& builder, const Composition& composition)
    : b(withRows(builder, composition)),
      c(b.config()),
      how(composition),
      layer(b, {.fusedUpWeights = how.fusedWeights, .gateDtype = c.gateDtype}),
      router(b, layer) {
  b.useFamily(how.fused ? KernelFamily::fused : KernelFamily::library);
  if (how.chunk == 0) how.chunk = c.experts;
  splitExperts();
  const SharedWeights w(b);
  shared.suffix = ".shared", shared.rows = c.tokens, shared.width = w.width, shared.routed = false;
  shared.w1 = w.w1, shared.w2 = w.w2, shared.w3 = w.w3;
  shared.w1Gradient = w.w1Gradient, shared.w2Gradient = w.w2Gradient, shared.w3Gradient = w.w3Gradient;
}

void Composed::forward() {
  router.forward();
  buildIndex();
  if (copies()) input = gather("x_permuted", layer.x);
  expertOutput = b.transient("expert_output", Layout::rows, {b.rows(), c.dModel});
  for (Mlp& chunk : chunks) {
    use(chunk);
    mlpForward(chunk, expertOutput);
  }
  useAllExperts();
  b.step("combine", Op::combine)
      .reads(expertOutput, rowOfSlot, offsets)
      .readsAs(Use::gates, layer.gates)
      .writes(layer.output);
  if (c.sharedWidth() > 0) {
    use(shared);
    mlpForward(shared, layer.output);
    useAllExperts();
  }
}

void Composed::backward() {
  b.beginBackward();
  if (c.sharedWidth() > 0) {
    use(shared);
    mlpBackward(shared, layer.inputGradient);
    useAllExperts();
  }
  outputGradient = layer.outputGradient;
  if (copies()) outputGradient = gather("dO_permuted", layer.outputGradient);
  if (copies() && how.save == Save::input) input = gather("x_permuted.again", layer.x);
  if (!how.sonicIndices) gatherGates();
  gateParts = b.buffer("gate_gradient_parts", Role::transient, wideDtype(), Layout::rows, {b.rows(), gateTiles()});
  if (how.save == Save::all)
    b.step("gate_gradient", Op::gateGradient)
        .reads(expertOutput)
        .readsRows(layer.outputGradient, b.rows())
        .reads(tokenOfRow, offsets)
        .writesAs(Use::parts, gateParts);
  const BufferId rowsGradient = b.transient("dx_rows", Layout::rows, {b.rows(), c.dModel});
  for (Mlp& chunk : chunks) {
    use(chunk);
    mlpBackward(chunk, rowsGradient);
  }
  useAllExperts();
  auto reduce = b.step("reduce_gradients", Op::reduceGradients)
                    .reads(rowsGradient)
                    .readsAs(Use::parts, gateParts)
                    .reads(rowOfSlot, expertOfSlot, offsets);
  if (tokenOffsets != BufferId::none) reduce.reads(tokenOffsets);
  if (slotOfRow != BufferId::none) reduce.reads(slotOfRow);
  if (c.sharedWidth() > 0) reduce.reads(layer.inputGradient);
  reduce.writes(layer.inputGradient, layer.gateGradient);
  router.backward();
}

int64_t Composed::gateTiles() const { return fusedBackward() ? (c.dFf + kTileColumns - 1) / kTileColumns : 1; }

void Composed::splitExperts() {
  for (int64_t first = 0; first < c.experts; first += how.chunk) {
    Mlp& mlp = chunks.emplace_back();
    mlp.firstExpert = first;
    mlp.experts = std::min(how.chunk, c.experts - first);
    mlp.allExperts = c.experts;
    mlp.suffix = how.chunk < c.experts ? "." + std::to_string(chunks.size() - 1) : "";
    use(mlp);
    mlp.rows = b.currentRows();
    mlp.width = c.dFf;
    mlp.w1 = layer.w1, mlp.w2 = layer.w2, mlp.w3 = layer.w3;
    mlp.w1Gradient = layer.w1Gradient, mlp.w2Gradient = layer.w2Gradient, mlp.w3Gradient = layer.w3Gradient;
  }
  useAllExperts();
}

void Composed::buildIndex() {
  const auto ids = [&](const char* name, Meaning meaning, Shape shape) {
    return b.indices(name, meaning, DType::int32, shape);
  };
  const bool sonic = how.sonicIndices;
  tokenOfRow = ids(sonic ? "x_gather_idx" : "expert_token_indices", Meaning::tokenOfRow, {b.rows()});
  if (sonic) {
    // SonicMoE keeps no expert offsets for backward: they follow from the ids.
    offsets = expertOfSlot = ids("topk_indices", Meaning::expertOfSlot, {c.tokens, c.topK});
    slotOfRow = ids("s_scatter_idx", Meaning::slotOfRow, {b.rows()});
    tokenOffsets = ids("token_offsets", Meaning::tokenOffsets, {c.tokens});
  } else {
    offsets = ids("expert_token_offsets", Meaning::offsets, {c.experts + 1});
    expertOfSlot = ids("token_expert_indices", Meaning::expertOfSlot, {c.rows()});
  }
  rowOfSlot = ids(sonic ? "s_reverse_scatter_idx" : "token_index_map", Meaning::rowOfSlot, {c.tokens, c.topK});
  const int64_t blocks = std::clamp<int64_t>(c.rows() / kSlotsPerBlock, 1, kMostBlocks);
  const BufferId counts = b.workspace("block_counts", DType::int32, {c.experts, blocks});
  auto build =
      b.step("build_index", Op::buildIndex).reads(layer.topkIds).writes(counts, tokenOfRow, rowOfSlot, expertOfSlot);
  if (offsets != expertOfSlot) build.writes(offsets);
  if (sonic) build.writes(slotOfRow, tokenOffsets);
}

/// Backward scales every row by its gate several times over: four bytes a row spare each the way through two indices.
void Composed::gatherGates() {
  rowGates = b.buffer("row_gates", Role::transient, c.gateDtype, Layout::rows, {b.rows()});
  b.step("row_gates", Op::gather).reads(layer.gates, rowOfSlot, offsets).writes(rowGates);
}

BufferId Composed::gather(const char* name, BufferId tokens) {
  const BufferId copy = b.transient(name, Layout::rows, {b.rows(), c.dModel});
  b.step(std::string("gather_") + name, Op::gather).readsRows(tokens, b.rows()).reads(tokenOfRow, offsets).writes(copy);
  return copy;
}

int64_t expertCapacity(const MoeConfig& config, double capacity) {
  const double mean = static_cast<double>(config.rows()) / static_cast<double>(config.experts);
  return std::clamp<int64_t>(static_cast<int64_t>(std::ceil(capacity * mean)), 1, config.tokens);
}

void planComposed(PlanBuilder& builder, const Composition& composition) {
  Composed composed(builder, composition);
  composed.forward();
  composed.backward();
}

}  // namespace moeblaze
