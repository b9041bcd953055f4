#pragma once

#include "core/systems/composed.h"

namespace moeblaze {

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

/// A composed layer under construction: its buffers, its chunks of experts, and the Steps of each.
struct Composed {
  Composed(PlanBuilder& builder, const Composition& composition);

  void forward();
  void backward();

  void splitExperts();
  void buildIndex();
  void gatherGates();
  /// The routed copy of a token-ordered tensor, ungated.
  BufferId gather(const char* name, BufferId tokens);

  void mlpForward(Mlp& mlp, BufferId out);
  void declareProjections(Mlp& mlp, const std::string& again);
  /// Both first projections and the activation in one kernel.
  void fusedUp(Mlp& mlp, const char* name, bool writesProjections, bool writesY);
  /// First projections as products of their own.
  void projections(Mlp& mlp, const std::string& again = {});
  BufferId activationStep(const Mlp& mlp, const char* name);
  void mlpBackward(Mlp& mlp, BufferId inputGradient);
  /// Output gradient times W3ᵀ with the activation's backward in the epilogue; Y is recomputed there, scaled by the
  /// gate, as the operand of W3's gradient.
  void fusedDownBackward(Mlp& mlp);
  void downWeightGradient(const Mlp& mlp, BufferId y, bool gates);
  /// Y's gradient materialised (Algorithm 1 of the paper): W3's gradient from Y, then the activation's backward in one
  /// kernel, or node by node where everything was saved.
  void downBackward(Mlp& mlp);
  void upBackward(const Mlp& mlp, BufferId inputGradient);

  bool gated() const { return isGated(c.activation); }
  bool copies() const { return how.dispatch != Dispatch::indexed; }
  bool recomputes() const { return how.save == Save::input; }
  /// Activation's backward in the epilogue of the product before it; the paper runs it apart, from the saved Y.
  bool fusedBackward() const { return how.fused && how.save != Save::paper; }
  DType wideDtype() const { return c.dtype == DType::fp64 ? DType::fp64 : DType::fp32; }
  /// One partial sum of the gate gradient for each tile of columns, or whole rows where it is a Step of its own.
  int64_t gateTiles() const;

  /// Steps that follow address this chunk's rows; none when they are dense.
  void use(const Mlp& mlp) {
    if (!mlp.routed) return b.useExperts(0, 0);
    b.useExperts(static_cast<int32_t>(mlp.firstExpert), static_cast<int32_t>(mlp.experts));
  }
  void useAllExperts() { b.useExperts(0, static_cast<int32_t>(c.experts)); }

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
  /// The chunk's rows' gates: by row, or SonicMoE's way through the slots.
  void readGates(PlanBuilder::StepRef step, const Mlp& mlp) {
    if (!mlp.routed) return;
    if (rowGates == BufferId::none) {
      step.readsAs(Use::gates, layer.gates).reads(rowOfSlot);
    } else {
      step.read(rowGates, rowBytes(mlp, rowGates), Use::gates);
    }
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
  BufferId rowGates = BufferId::none;  ///< backward's gates in row order; SonicMoE has none
};

}  // namespace moeblaze
