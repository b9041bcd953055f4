// MoEBlaze (arXiv 2601.05296): index structures instead of routed copies, fused kernels, recompute. `moeblaze` keeps
// what SonicMoE (arXiv 2512.14080) showed to be enough, A and B; `moeblaze-paper` keeps Y as well, as Algorithm 1 does;
// `moeblaze-min` keeps x alone and recomputes, some experts at a time.
#include <charconv>

#include "core/error.h"
#include "core/systems/layer.h"

namespace moeblaze {
namespace {

enum class Save : uint8_t { projections, paper, input };

struct IndexedOptions {
  Save save = Save::projections;
  DType preactivation = DType::bf16;  ///< element type of A and B
  int64_t chunk = 0;                  ///< experts at a time
};

/// Columns of an output tile: each leaves one partial sum of the gate gradient a slot.
constexpr int64_t kTileColumns = 128;
/// Slots a block of the index kernel counts.
constexpr int64_t kSlotsPerBlock = 2048;

/// One MLP between two widths: the routed experts of a chunk, or all shared experts as one.
struct Mlp {
  std::string suffix;
  int64_t rows = 0, width = 0;
  int64_t weightShare = 1;  ///< experts in this chunk
  int64_t weightTotal = 1;  ///< experts the weights hold
  bool routed = true;
  BufferId w1{}, w2{}, w3{}, w1Gradient{}, w2Gradient{}, w3Gradient{};
  BufferId a = BufferId::none, b = BufferId::none, y = BufferId::none;
  BufferId aGradient = BufferId::none, bGradient = BufferId::none;
};

struct Indexed {
  Indexed(PlanBuilder& builder, const IndexedOptions& indexedOptions)
      : b(builder), c(b.config()), options(indexedOptions), layer(b, {.gateDtype = c.gateDtype}), router(b, layer) {
    b.useFamily(KernelFamily::fused);
    splitExperts();
    const SharedWeights w(b);
    shared = {.suffix = ".shared", .rows = c.tokens, .width = w.width, .routed = false};
    shared.w1 = w.w1, shared.w2 = w.w2, shared.w3 = w.w3;
    shared.w1Gradient = w.w1Gradient, shared.w2Gradient = w.w2Gradient, shared.w3Gradient = w.w3Gradient;
  }

  void forward() {
    router.forward();
    buildIndex();
    const BufferId expertOutput = b.transient("expert_output", Layout::rows, {b.rows(), c.dModel});
    for (size_t i = 0; i < chunks.size(); ++i) {
      useChunk(i);
      up(chunks[i], "up", keepsProjections(), true);
      down(chunks[i], expertOutput);
    }
    useAllExperts();
    b.step("combine", Op::combine)
        .reads(expertOutput, tokenIndexMap)
        .readsAs(Use::gates, layer.gates)
        .writes(layer.output);
    if (c.sharedWidth() == 0) return;
    up(shared, "up", keepsProjections(), true);
    down(shared, layer.output);
  }

  void backward() {
    b.beginBackward();
    if (c.sharedWidth() > 0) backward(shared, BufferId::none, layer.inputGradient);
    const BufferId gateParts =
        b.buffer("gate_gradient_parts", Role::transient, gatePartsDtype(), Layout::rows, {b.rows(), gateTiles()});
    const BufferId slots = b.transient("dx_rows", Layout::rows, {b.rows(), c.dModel});
    for (size_t i = 0; i < chunks.size(); ++i) {
      useChunk(i);
      backward(chunks[i], gateParts, slots);
    }
    useAllExperts();
    auto reduce = b.step("reduce_gradients", Op::reduceGradients)
                      .reads(slots)
                      .readsAs(Use::parts, gateParts)
                      .reads(tokenIndexMap, tokenExpertIndices);
    if (c.sharedWidth() > 0) reduce.reads(layer.inputGradient);
    reduce.writes(layer.inputGradient, layer.gateGradient);
    router.backward();
  }

  bool gated() const { return isGated(c.activation); }
  DType gatePartsDtype() const { return c.dtype == DType::fp64 ? DType::fp64 : DType::fp32; }
  /// One partial sum of the gate gradient for each tile of columns; the paper's schedule sums whole rows.
  int64_t gateTiles() const { return options.save == Save::paper ? 1 : (c.dFf + kTileColumns - 1) / kTileColumns; }
  bool keepsProjections() const { return options.save != Save::input; }

  void splitExperts() {
    const int64_t chunk = options.chunk;
    for (int64_t first = 0; first < c.experts; first += chunk) {
      Mlp& mlp = chunks.emplace_back();
      mlp.weightShare = std::min(chunk, c.experts - first);
      mlp.weightTotal = c.experts;
      mlp.suffix = chunk < c.experts ? "." + std::to_string(chunks.size() - 1) : "";
      b.useExperts(static_cast<int32_t>(first), static_cast<int32_t>(mlp.weightShare));
      mlp.rows = b.currentRows();
      mlp.width = c.dFf;
      mlp.w1 = layer.w1, mlp.w2 = layer.w2, mlp.w3 = layer.w3;
      mlp.w1Gradient = layer.w1Gradient, mlp.w2Gradient = layer.w2Gradient, mlp.w3Gradient = layer.w3Gradient;
    }
  }

  void useAllExperts() { b.useExperts(0, static_cast<int32_t>(c.experts)); }

  void useChunk(size_t i) {
    b.useExperts(static_cast<int32_t>(static_cast<int64_t>(i) * options.chunk),
                 static_cast<int32_t>(chunks[i].weightShare));
  }

  void buildIndex() {
    const auto ids = [&](const char* name, Meaning meaning, Shape shape) {
      return b.indices(name, meaning, DType::int32, shape);
    };
    expertTokenIndices = ids("expert_token_indices", Meaning::tokenOfRow, {b.rows()});
    expertTokenOffsets = ids("expert_token_offsets", Meaning::offsets, {c.experts + 1});
    tokenExpertIndices = ids("token_expert_indices", Meaning::expertOfSlot, {b.rows()});
    tokenIndexMap = ids("token_index_map", Meaning::rowOfSlot, {c.tokens, c.topK});
    const int64_t blocks = (b.rows() + kSlotsPerBlock - 1) / kSlotsPerBlock;
    const BufferId counts = b.workspace("block_counts", DType::int32, {c.experts, blocks});
    b.step("build_index", Op::buildIndex)
        .reads(layer.topkIds)
        .writes(counts, expertTokenIndices, expertTokenOffsets, tokenExpertIndices, tokenIndexMap);
  }

  // --- Steps of one MLP; routed ones address rows through the indices, shared ones are dense. ---

  PlanBuilder::StepRef stepOf(const Mlp& mlp, const char* name, Op op) { return b.step(name + mlp.suffix, op); }

  Layout layoutOf(const Mlp& mlp) const { return mlp.routed ? Layout::rows : Layout::tokens; }

  void readWeight(PlanBuilder::StepRef step, const Mlp& mlp, BufferId weight) {
    if (weight != BufferId::none) step.read(weight, b.at(weight).bytes / mlp.weightTotal * mlp.weightShare);
  }
  void writeWeightGradient(PlanBuilder::StepRef step, const Mlp& mlp, BufferId gradient) {
    if (gradient != BufferId::none) step.write(gradient, b.at(gradient).bytes / mlp.weightTotal * mlp.weightShare);
  }
  void readTokens(PlanBuilder::StepRef step, const Mlp& mlp, BufferId tokens) {
    if (mlp.routed) {
      step.readsRows(tokens, mlp.rows);
      step.read(expertTokenIndices, mlp.rows * sizeOf(DType::int32)).reads(expertTokenOffsets);
    } else {
      step.reads(tokens);
    }
  }
  void readGates(PlanBuilder::StepRef step, const Mlp& mlp) {
    if (mlp.routed) step.readsAs(Use::gates, layer.gates).reads(tokenIndexMap);
  }
  void readOffsets(PlanBuilder::StepRef step, const Mlp& mlp) {
    if (mlp.routed) step.reads(expertTokenOffsets);
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

  /// Both first projections and the activation in one kernel.
  void up(Mlp& mlp, const char* name, bool writesProjections, bool writesY) {
    const Shape shape{mlp.rows, mlp.width};
    if (writesProjections) {
      mlp.a = b.hidden("A" + mlp.suffix, layoutOf(mlp), shape, options.preactivation);
      if (gated()) mlp.b = b.hidden("B" + mlp.suffix, layoutOf(mlp), shape, options.preactivation);
    }
    if (writesY) mlp.y = b.hidden("Y" + mlp.suffix, layoutOf(mlp), shape);
    auto step = stepOf(mlp, name, Op::fusedUp);
    readTokens(step, mlp, layer.x);
    readWeight(step, mlp, mlp.w1);
    readWeight(step, mlp, mlp.w2);
    if (writesProjections) step.writesAs(Use::a, mlp.a).writesAs(Use::b, mlp.b);
    if (writesY) step.writesAs(Use::y, mlp.y);
    product(step, mlp, c.upProjections() * mlp.width, c.dModel);
  }

  void down(const Mlp& mlp, BufferId out) {
    auto step = stepOf(mlp, "down", mlp.routed ? Op::groupedGemm : Op::denseGemm).reads(mlp.y);
    readWeight(step, mlp, mlp.w3);
    readOffsets(step, mlp);
    if (!mlp.routed) step.reads(out);  // adds to what the routed experts left
    step.write(out, rowBytes(mlp, out));
    product(step, mlp, c.dModel, mlp.width);
  }

  void backward(Mlp& mlp, BufferId gateParts, BufferId inputGradient) {
    if (!keepsProjections()) up(mlp, "up_recomputed", true, false);
    if (options.save == Save::paper) {
      paperActivationBackward(mlp, gateParts);
    } else {
      fusedActivationBackward(mlp, gateParts);
    }
    upBackward(mlp, inputGradient);
  }

  /// Output gradient times W3ᵀ with the activation's backward in the epilogue, in place over A and B; the activation is
  /// recomputed there, scaled by the gate, as the operand of W3's gradient.
  void fusedActivationBackward(Mlp& mlp, BufferId gateParts) {
    const Shape shape{mlp.rows, mlp.width};
    mlp.aGradient = b.alias("dA" + mlp.suffix, mlp.a, shape);
    if (gated()) mlp.bGradient = b.alias("dB" + mlp.suffix, mlp.b, shape);
    const BufferId scaledY = b.transient("Y.scaled" + mlp.suffix, layoutOf(mlp), shape);
    auto step = stepOf(mlp, "down_backward", Op::fusedDownBackward);
    readTokens(step, mlp, layer.outputGradient);
    readWeight(step, mlp, mlp.w3);
    step.readsAs(Use::a, mlp.a).readsAs(Use::b, mlp.b);
    readGates(step, mlp);
    step.writesAs(Use::a, mlp.aGradient).writesAs(Use::b, mlp.bGradient).writesAs(Use::y, scaledY);
    if (mlp.routed) step.write(gateParts, rowBytes(mlp, gateParts), Use::parts);
    product(step, mlp, mlp.width, c.dModel).transposed();
    downWeightGradient(mlp, scaledY);
  }

  void downWeightGradient(const Mlp& mlp, BufferId y) {
    auto step = stepOf(mlp, "down_weight_gradient", Op::weightGradient).reads(y);
    readTokens(step, mlp, layer.outputGradient);
    if (options.save == Save::paper) readGates(step, mlp);
    writeWeightGradient(step, mlp, mlp.w3Gradient);
    reduction(step, mlp, mlp.width, c.dModel);
  }

  /// Algorithm 1 of the paper: W3's gradient from the saved Y, the gradient of Y materialised, then one fused kernel
  /// for the activation.
  void paperActivationBackward(Mlp& mlp, BufferId gateParts) {
    downWeightGradient(mlp, mlp.y);
    const Shape shape{mlp.rows, mlp.width};
    const BufferId yGradient = b.transient("dY" + mlp.suffix, layoutOf(mlp), shape);
    auto step = stepOf(mlp, "down_input_gradient", mlp.routed ? Op::groupedGemm : Op::denseGemm);
    readTokens(step, mlp, layer.outputGradient);
    readWeight(step, mlp, mlp.w3);
    step.writes(yGradient);
    product(step, mlp, mlp.width, c.dModel).transposed();
    if (mlp.routed)
      b.step("gate_gradient" + mlp.suffix, Op::gateGradient)
          .reads(yGradient, mlp.y)
          .write(gateParts, rowBytes(mlp, gateParts), Use::parts);

    mlp.aGradient = b.transient("dA" + mlp.suffix, layoutOf(mlp), shape);
    if (gated()) mlp.bGradient = b.transient("dB" + mlp.suffix, layoutOf(mlp), shape);
    auto fused = b.step("activation_backward" + mlp.suffix, Op::fusedActivationBackward).reads(yGradient);
    fused.readsAs(Use::a, mlp.a).readsAs(Use::b, mlp.b);
    readGates(fused, mlp);
    readOffsets(fused, mlp);
    fused.writesAs(Use::a, mlp.aGradient).writesAs(Use::b, mlp.bGradient);
  }

  void upBackward(const Mlp& mlp, BufferId inputGradient) {
    const int64_t upWidth = c.upProjections() * mlp.width;
    auto weights = stepOf(mlp, "up_weight_gradient", Op::weightGradient);
    readTokens(weights, mlp, layer.x);
    weights.reads(mlp.aGradient);
    if (gated()) weights.reads(mlp.bGradient);
    writeWeightGradient(weights, mlp, mlp.w1Gradient);
    writeWeightGradient(weights, mlp, mlp.w2Gradient);
    reduction(weights, mlp, c.dModel, upWidth);

    auto input = stepOf(mlp, "up_input_gradient", mlp.routed ? Op::groupedGemm : Op::denseGemm).reads(mlp.aGradient);
    if (gated()) input.reads(mlp.bGradient);
    readWeight(input, mlp, mlp.w1);
    readWeight(input, mlp, mlp.w2);
    readOffsets(input, mlp);
    input.write(inputGradient, rowBytes(mlp, inputGradient));
    product(input, mlp, c.dModel, upWidth).transposed();
  }

  PlanBuilder& b;
  const MoeConfig& c;
  IndexedOptions options;
  Layer layer;
  RouterSteps router;
  std::vector<Mlp> chunks;
  Mlp shared;
  BufferId expertTokenIndices{}, expertTokenOffsets{}, tokenExpertIndices{}, tokenIndexMap{};
};

void planIndexed(PlanBuilder& builder, IndexedOptions options) {
  if (options.chunk == 0) options.chunk = builder.config().experts;
  Indexed indexed(builder, options);
  indexed.forward();
  indexed.backward();
}

}  // namespace

void planMoeblaze(PlanBuilder& builder, const System&) {
  planIndexed(builder, {.save = Save::projections, .preactivation = builder.config().dtype});
}

void planMoeblazePaper(PlanBuilder& builder, const System& system) {
  IndexedOptions options{.save = Save::paper, .preactivation = builder.config().dtype};
  for (DType dtype : kFloatDTypes)
    if (system.value("preactivation") == name(dtype)) options.preactivation = dtype;
  planIndexed(builder, options);
}

void planMoeblazeMin(PlanBuilder& builder, const System& system) {
  IndexedOptions options{.save = Save::input, .preactivation = builder.config().dtype};
  const std::string_view chunk = system.value("chunk");
  std::from_chars(chunk.data(), chunk.data() + chunk.size(), options.chunk);  // "all" leaves 0
  if (options.chunk > builder.config().experts)
    throw InputError("system moeblaze-min: chunk " + std::string(chunk) + " exceeds the config's " +
                     std::to_string(builder.config().experts) + " experts; allowed 1 to " +
                     std::to_string(builder.config().experts) + ", or all");
  planIndexed(builder, options);
}

}  // namespace moeblaze
