// A layer composed of a dispatch, a save and a fusion: MoEBlaze (arXiv 2601.05296) and SonicMoE (arXiv 2512.14080) are
// points of it, and so is anything `custom` asks for.
#include "core/systems/composed.h"

#include <algorithm>
#include <cmath>

namespace moeblaze {
namespace {

/// Columns of an output tile: each leaves one partial sum of the gate gradient a row.
constexpr int64_t kTileColumns = 128;
/// Slots a block of the index kernel counts.
constexpr int64_t kSlotsPerBlock = 2048;
/// Rows of an expert under blocked dispatch are a multiple of this.
constexpr int64_t kBlockRows = 128;

/// One MLP between two widths: the routed experts of a chunk, or all shared experts as one.
struct Mlp {
  std::string suffix;
  int64_t rows = 0, width = 0;
  int64_t firstExpert = 0;
  int64_t experts = 1;     ///< in this chunk
  int64_t allExperts = 1;  ///< that the weights hold
  bool routed = true;
  BufferId w1{}, w2{}, w3{}, w1Gradient{}, w2Gradient{}, w3Gradient{};
  FrameworkActivation act;
};

/// Rows of each expert under the composition's dispatch; the builder must know them before anything is declared.
PlanBuilder& withRows(PlanBuilder& b, const Composition& how) {
  if (how.dispatch == Dispatch::blocked) b.padRows(kBlockRows);
  if (how.dispatch == Dispatch::padded) b.limitRows(expertCapacity(b.config(), how.capacity));
  return b;
}

struct Composed {
  Composed(PlanBuilder& builder, const Composition& composition)
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

  void forward() {
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

  void backward() {
    b.beginBackward();
    if (c.sharedWidth() > 0) {
      use(shared);
      mlpBackward(shared, layer.inputGradient);
      useAllExperts();
    }
    outputGradient = layer.outputGradient;
    if (copies()) outputGradient = gather("dO_permuted", layer.outputGradient);
    if (copies() && how.save == Save::input) input = gather("x_permuted.again", layer.x);
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

  bool gated() const { return isGated(c.activation); }
  bool copies() const { return how.dispatch != Dispatch::indexed; }
  bool recomputes() const { return how.save == Save::input; }
  /// Activation's backward in the epilogue of the product before it; the paper runs it apart, from the saved Y.
  bool fusedBackward() const { return how.fused && how.save != Save::paper; }
  DType wideDtype() const { return c.dtype == DType::fp64 ? DType::fp64 : DType::fp32; }
  /// One partial sum of the gate gradient for each tile of columns, or whole rows where it is a Step of its own.
  int64_t gateTiles() const { return fusedBackward() ? (c.dFf + kTileColumns - 1) / kTileColumns : 1; }

  void splitExperts() {
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

  /// Steps that follow address this chunk's rows; none when they are dense.
  void use(const Mlp& mlp) {
    if (!mlp.routed) return b.useExperts(0, 0);
    b.useExperts(static_cast<int32_t>(mlp.firstExpert), static_cast<int32_t>(mlp.experts));
  }
  void useAllExperts() { b.useExperts(0, static_cast<int32_t>(c.experts)); }

  void buildIndex() {
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
    const int64_t blocks = (c.rows() + kSlotsPerBlock - 1) / kSlotsPerBlock;
    const BufferId counts = b.workspace("block_counts", DType::int32, {c.experts, blocks});
    auto build =
        b.step("build_index", Op::buildIndex).reads(layer.topkIds).writes(counts, tokenOfRow, rowOfSlot, expertOfSlot);
    if (offsets != expertOfSlot) build.writes(offsets);
    if (sonic) build.writes(slotOfRow, tokenOffsets);
  }

  /// The routed copy of a token-ordered tensor, ungated.
  BufferId gather(const char* name, BufferId tokens) {
    const BufferId copy = b.transient(name, Layout::rows, {b.rows(), c.dModel});
    b.step(std::string("gather_") + name, Op::gather)
        .readsRows(tokens, b.rows())
        .reads(tokenOfRow, offsets)
        .writes(copy);
    return copy;
  }

  // --- Operands of one MLP's Steps; routed ones address rows, shared ones are dense. ---

  PlanBuilder::StepRef stepOf(const Mlp& mlp, const char* name, Op op) { return b.step(name + mlp.suffix, op); }
  PlanBuilder::StepRef productOf(const Mlp& mlp, const std::string& name) {
    return b.step(name + mlp.suffix, mlp.routed ? Op::groupedGemm : Op::denseGemm);
  }
  Layout layoutOf(const Mlp& mlp) const { return mlp.routed ? Layout::rows : Layout::tokens; }

  void readWeight(PlanBuilder::StepRef step, const Mlp& mlp, BufferId weight) {
    if (weight != BufferId::none) step.read(weight, b.at(weight).bytes / mlp.allExperts * mlp.experts);
  }
  void writeWeightGradient(PlanBuilder::StepRef step, const Mlp& mlp, BufferId gradient) {
    if (gradient != BufferId::none) step.write(gradient, b.at(gradient).bytes / mlp.allExperts * mlp.experts);
  }
  /// A token-ordered tensor, or the routed copy of it.
  void readRows(PlanBuilder::StepRef step, const Mlp& mlp, BufferId tokens, BufferId copy) {
    if (!mlp.routed) {
      step.reads(tokens);
    } else if (copies()) {
      step.readsRows(copy, mlp.rows).reads(offsets);
    } else {
      step.readsRows(tokens, mlp.rows).read(tokenOfRow, mlp.rows * sizeOf(DType::int32)).reads(offsets);
    }
  }
  void readInput(PlanBuilder::StepRef step, const Mlp& mlp) { readRows(step, mlp, layer.x, input); }
  void readOutputGradient(PlanBuilder::StepRef step, const Mlp& mlp) {
    readRows(step, mlp, layer.outputGradient, outputGradient);
  }
  void readGates(PlanBuilder::StepRef step, const Mlp& mlp) {
    if (mlp.routed) step.readsAs(Use::gates, layer.gates).reads(rowOfSlot);
  }
  void readOffsets(PlanBuilder::StepRef step, const Mlp& mlp) {
    if (mlp.routed) step.reads(offsets);
  }
  /// The chunk's rows of a buffer all chunks fill.
  int64_t rowBytes(const Mlp& mlp, BufferId id) const {
    return b.at(id).bytes / b.at(id).shape.extents()[0] * mlp.rows;
  }
  PlanBuilder::StepRef product(PlanBuilder::StepRef step, const Mlp& mlp, int64_t n, int64_t k) {
    return mlp.routed ? step.grouped(n, k) : step.dense(mlp.rows, n, k);
  }
  void reduction(PlanBuilder::StepRef step, const Mlp& mlp, int64_t m, int64_t n) {
    if (mlp.routed) {
      step.groupedReduction(m, n);
    } else {
      step.dense(m, n, mlp.rows);
    }
  }
  /// Shared experts have no Z: their weights are apart.
  bool joined(const Mlp& mlp) const { return how.fusedWeights && gated() && mlp.routed; }

  // --- Forward ---

  void mlpForward(Mlp& mlp, BufferId out) {
    if (how.fused) {
      fusedUp(mlp, "up", !recomputes(), true);
    } else if (how.save == Save::all) {
      projections(mlp, "");
      activationForward(b, mlp.act, mlp.suffix);
    } else {
      projections(mlp, "");
      mlp.act.y = activationStep(mlp, "Y");
    }
    auto step = productOf(mlp, "down").reads(mlp.act.y);
    readWeight(step, mlp, mlp.w3);
    readOffsets(step, mlp);
    if (!mlp.routed) step.reads(out);  // adds to what the routed experts left
    step.write(out, rowBytes(mlp, out));
    product(step, mlp, c.dModel, mlp.width);
  }

  void declareProjections(Mlp& mlp) {
    const int64_t columns = joined(mlp) ? 2 * mlp.width : mlp.width;
    mlp.act.a = b.hidden((joined(mlp) ? "Z" : "A") + mlp.suffix, layoutOf(mlp), {mlp.rows, columns}, how.preactivation);
    if (gated() && !joined(mlp))
      mlp.act.b = b.hidden("B" + mlp.suffix, layoutOf(mlp), {mlp.rows, mlp.width}, how.preactivation);
  }

  /// Both first projections and the activation in one kernel.
  void fusedUp(Mlp& mlp, const char* name, bool writesProjections, bool writesY) {
    if (writesProjections) declareProjections(mlp);
    if (writesY) mlp.act.y = b.hidden("Y" + mlp.suffix, layoutOf(mlp), {mlp.rows, mlp.width});
    auto step = stepOf(mlp, name, Op::fusedUp);
    readInput(step, mlp);
    readWeight(step, mlp, mlp.w1);
    readWeight(step, mlp, mlp.w2);
    if (writesProjections) step.writesAs(Use::a, mlp.act.a).writesAs(Use::b, mlp.act.b);
    if (writesY) step.writesAs(Use::y, mlp.act.y);
    product(step, mlp, c.upProjections() * mlp.width, c.dModel);
  }

  /// First projections as products of their own.
  void projections(Mlp& mlp, const std::string& again) {
    declareProjections(mlp);
    const auto project = [&](const char* name, BufferId weight, BufferId out) {
      auto step = productOf(mlp, std::string("up_") + name + again);
      readInput(step, mlp);
      readWeight(step, mlp, weight);
      step.writes(out);
      product(step, mlp, mlp.width, c.dModel);
    };
    project("A", mlp.w1, mlp.act.a);
    if (gated()) project("B", mlp.w2, mlp.act.b);
  }

  BufferId activationStep(const Mlp& mlp, const char* name) {
    const BufferId y = b.hidden(name + mlp.suffix, layoutOf(mlp), {mlp.rows, mlp.width});
    stepOf(mlp, "activation", Op::fusedActivation)
        .readsAs(Use::a, mlp.act.a)
        .readsAs(Use::b, mlp.act.b)
        .writesAs(Use::y, y);
    return y;
  }

  // --- Backward ---

  void mlpBackward(Mlp& mlp, BufferId inputGradient) {
    if (recomputes() && how.fused) fusedUp(mlp, "up_recomputed", true, false);
    if (recomputes() && !how.fused) projections(mlp, "_recomputed");
    if (fusedBackward()) {
      fusedDownBackward(mlp);
    } else {
      downBackward(mlp);
    }
    upBackward(mlp, inputGradient);
  }

  /// Output gradient times W3ᵀ with the activation's backward in the epilogue; Y is recomputed there, scaled by the
  /// gate, as the operand of W3's gradient.
  void fusedDownBackward(Mlp& mlp) {
    const Shape shape{mlp.rows, mlp.width};
    const auto gradientOf = [&](const char* name, BufferId projection) {
      const Shape full = b.at(projection).shape;
      return how.inPlace ? b.alias(name + mlp.suffix, projection, full)
                         : b.transient(name + mlp.suffix, layoutOf(mlp), full);
    };
    mlp.act.aGradient = gradientOf(joined(mlp) ? "dZ" : "dA", mlp.act.a);
    if (mlp.act.b != BufferId::none) mlp.act.bGradient = gradientOf("dB", mlp.act.b);
    const BufferId scaledY = b.transient("Y.scaled" + mlp.suffix, layoutOf(mlp), shape);
    auto step = stepOf(mlp, "down_backward", Op::fusedDownBackward);
    readOutputGradient(step, mlp);
    readWeight(step, mlp, mlp.w3);
    step.readsAs(Use::a, mlp.act.a).readsAs(Use::b, mlp.act.b);
    readGates(step, mlp);
    step.writesAs(Use::a, mlp.act.aGradient).writesAs(Use::b, mlp.act.bGradient).writesAs(Use::y, scaledY);
    if (mlp.routed) step.write(gateParts, rowBytes(mlp, gateParts), Use::parts);
    product(step, mlp, mlp.width, c.dModel).transposed();
    downWeightGradient(mlp, scaledY, false);
  }

  void downWeightGradient(const Mlp& mlp, BufferId y, bool gates) {
    auto step = stepOf(mlp, "down_weight_gradient", Op::weightGradient).reads(y);
    readOutputGradient(step, mlp);
    if (gates) readGates(step, mlp);
    writeWeightGradient(step, mlp, mlp.w3Gradient);
    reduction(step, mlp, mlp.width, c.dModel);
  }

  /// Y's gradient materialised (Algorithm 1 of the paper): W3's gradient from Y, then the activation's backward in one
  /// kernel, or node by node where everything was saved.
  void downBackward(Mlp& mlp) {
    const Shape shape{mlp.rows, mlp.width};
    const bool keepsY = how.save == Save::all || how.save == Save::paper;
    if (!keepsY) mlp.act.y = activationStep(mlp, "Y.again");
    downWeightGradient(mlp, mlp.act.y, true);
    const BufferId yGradient = b.transient("dY" + mlp.suffix, layoutOf(mlp), shape);
    auto step = productOf(mlp, "down_input_gradient");
    readOutputGradient(step, mlp);
    readWeight(step, mlp, mlp.w3);
    step.writes(yGradient);
    product(step, mlp, mlp.width, c.dModel).transposed();
    if (how.save == Save::all) {
      BufferId scaled = yGradient;
      if (mlp.routed) {
        scaled = b.alias("dY.scaled" + mlp.suffix, yGradient, shape);
        auto scale = stepOf(mlp, "scale_gradient", Op::scaleRows).reads(yGradient);
        readGates(scale, mlp);
        readOffsets(scale, mlp);
        scale.writes(scaled);
      }
      activationBackward(b, mlp.act, scaled, mlp.suffix);
      return;
    }
    if (mlp.routed)
      stepOf(mlp, "gate_gradient", Op::gateGradient)
          .reads(yGradient, mlp.act.y, offsets)
          .write(gateParts, rowBytes(mlp, gateParts), Use::parts);
    mlp.act.aGradient = b.transient("dA" + mlp.suffix, layoutOf(mlp), shape);
    if (gated()) mlp.act.bGradient = b.transient("dB" + mlp.suffix, layoutOf(mlp), shape);
    auto fused = stepOf(mlp, "activation_backward", Op::fusedActivationBackward).reads(yGradient);
    fused.readsAs(Use::a, mlp.act.a).readsAs(Use::b, mlp.act.b);
    readGates(fused, mlp);
    readOffsets(fused, mlp);
    fused.writesAs(Use::a, mlp.act.aGradient).writesAs(Use::b, mlp.act.bGradient);
  }

  void upBackward(const Mlp& mlp, BufferId inputGradient) {
    const int64_t upWidth = c.upProjections() * mlp.width;
    const bool second = mlp.act.bGradient != BufferId::none;
    auto weights = stepOf(mlp, "up_weight_gradient", Op::weightGradient);
    readInput(weights, mlp);
    weights.reads(mlp.act.aGradient);
    if (second) weights.reads(mlp.act.bGradient);
    writeWeightGradient(weights, mlp, mlp.w1Gradient);
    writeWeightGradient(weights, mlp, mlp.w2Gradient);
    reduction(weights, mlp, c.dModel, upWidth);

    auto step = productOf(mlp, "up_input_gradient").reads(mlp.act.aGradient);
    if (second) step.reads(mlp.act.bGradient);
    readWeight(step, mlp, mlp.w1);
    readWeight(step, mlp, mlp.w2);
    readOffsets(step, mlp);
    step.write(inputGradient, rowBytes(mlp, inputGradient));
    product(step, mlp, c.dModel, upWidth).transposed();
  }

  PlanBuilder& b;
  const MoeConfig& c;
  Composition how;
  Layer layer;
  RouterSteps router;
  std::vector<Mlp> chunks;
  Mlp shared;
  BufferId tokenOfRow{}, offsets{}, expertOfSlot{}, rowOfSlot{};
  BufferId slotOfRow = BufferId::none, tokenOffsets = BufferId::none;  ///< SonicMoE's
  BufferId input{}, outputGradient{};                                  ///< routed copies, where dispatch copies
  BufferId expertOutput{}, gateParts{};
};

}  // namespace

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
