// A system of your own, planned and simulated: a gated layer with index-based dispatch that keeps x and A for backward,
// and there computes B again. Copy planOwnSystem to start from.
#include <fmt/format.h>

#include <numeric>

#include "core/config/config.h"
#include "core/plan/plan.h"
#include "core/routing/routing.h"
#include "core/systems/layer.h"
#include "core/systems/plan_builder.h"
#include "simulator/cost/cost_model.h"

using namespace moeblaze;

namespace {

/// Declares buffers and appends Steps. Lifetimes, and which buffers are saved for backward, follow from who reads them.
Plan planOwnSystem(const MoeConfig& c, const Routing& routing) {
  PlanBuilder b(c, routing, "own", {});
  b.useFamily(KernelFamily::fused);
  const Layer layer(b, {.gateDtype = c.gateDtype});  // x, gates, weights, the output and all gradients
  const int64_t rows = b.rows(), d = c.dModel, h = c.dFf;
  const auto index = [&](const char* name, Meaning meaning, Shape shape) {
    return b.indices(name, meaning, DType::int32, shape);
  };
  const auto hidden = [&](const char* name) { return b.hidden(name, Layout::rows, {rows, h}); };

  const BufferId token = index("token_of_row", Meaning::tokenOfRow, {rows});
  const BufferId row = index("row_of_slot", Meaning::rowOfSlot, {c.tokens, c.topK});
  const BufferId expert = index("expert_of_slot", Meaning::expertOfSlot, {rows});
  const BufferId offsets = index("offsets", Meaning::offsets, {c.experts + 1});
  b.step("build_index", Op::buildIndex).reads(layer.topkIds).writes(token, row, expert, offsets);

  const BufferId x = layer.x, A = hidden("A"), B = hidden("B"), Y = hidden("Y");
  b.step("up", Op::fusedUp)
      .readsRows(x, rows)
      .reads(token, offsets, layer.w1, layer.w2)
      .writesAs(Use::a, A)
      .writesAs(Use::b, B)  // nobody reads B, so it is freed after this Step
      .writesAs(Use::y, Y)
      .grouped(2 * h, d);
  const BufferId out = b.transient("expert_output", Layout::rows, {rows, d});
  b.step("down", Op::groupedGemm).reads(Y, layer.w3, offsets).writes(out).grouped(d, h);
  b.step("combine", Op::combine).reads(out, row, offsets).readsAs(Use::gates, layer.gates).writes(layer.output);

  b.beginBackward();
  const BufferId again = hidden("B_again");
  b.step("up_again", Op::groupedGemm).readsRows(x, rows).reads(token, offsets, layer.w2).writes(again).grouped(h, d);
  const BufferId gates = b.buffer("row_gates", Role::transient, c.gateDtype, Layout::rows, {rows});
  b.step("row_gates", Op::gather).reads(layer.gates, row, offsets).writes(gates);
  const BufferId dA = b.alias("dA", A, {rows, h}), dB = b.alias("dB", again, {rows, h});  // both overwrite in place
  const BufferId scaled = hidden("Y_scaled");
  const BufferId parts = b.buffer("gate_parts", Role::transient, c.gateDtype, Layout::rows, {rows, 1});
  b.step("down_backward", Op::fusedDownBackward)
      .readsRows(layer.outputGradient, rows)
      .reads(token, offsets, layer.w3)
      .readsAs(Use::a, A)
      .readsAs(Use::b, again)
      .readsAs(Use::gates, gates)
      .writesAs(Use::a, dA)
      .writesAs(Use::b, dB)
      .writesAs(Use::y, scaled)
      .writesAs(Use::parts, parts)
      .grouped(h, d)
      .transposed();
  b.step("down_weight_gradient", Op::weightGradient)
      .reads(scaled)
      .readsRows(layer.outputGradient, rows)
      .reads(token, offsets)
      .writes(layer.w3Gradient)
      .groupedReduction(h, d);
  b.step("up_weight_gradient", Op::weightGradient)
      .readsRows(x, rows)
      .reads(token, offsets, dA, dB)
      .writes(layer.w1Gradient, layer.w2Gradient)
      .groupedReduction(d, 2 * h);
  const BufferId dx = b.transient("dx_rows", Layout::rows, {rows, d});
  b.step("up_input_gradient", Op::groupedGemm)
      .reads(dA, dB, layer.w1, layer.w2, offsets)
      .writes(dx)
      .grouped(d, 2 * h)
      .transposed();
  b.step("reduce_gradients", Op::reduceGradients)
      .reads(dx)
      .readsAs(Use::parts, parts)
      .reads(row, expert, offsets)
      .writes(layer.inputGradient, layer.gateGradient);
  return b.finish();
}

}  // namespace

int main() {
  const MoeConfig config = loadConfig("conf3").layer;
  const Plan plan = planOwnSystem(config, Routing::balanced(config));
  for (const std::string& problem : checkPlan(plan)) fmt::print(stderr, "{}\n", problem);
  const MemoryFigures memory = memoryFigures(plan);
  const std::vector<int64_t> stepNs = stepTimes(plan, loadMachine("h200"));
  const auto mib = [](int64_t bytes) { return static_cast<double>(bytes) / (1 << 20); };
  fmt::print("{}: saved {:.1f} MiB, peak {:.1f} MiB, {:.3f} ms on an h200\n", config.name, mib(memory.saved),
             mib(memory.peak), static_cast<double>(std::reduce(stepNs.begin(), stepNs.end())) / 1e6);
  return checkPlan(plan).empty() ? 0 : 1;
}
