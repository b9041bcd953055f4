// A system of your own, planned and simulated: a gated layer with index-based dispatch that keeps x and A for backward,
// and there computes B again. Copy OwnSystem to start from.
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
struct OwnSystem {
  explicit OwnSystem(PlanBuilder& planBuilder) : builder(planBuilder) { builder.useFamily(KernelFamily::fused); }

  void forward() {
    token = index("token_of_row", Meaning::tokenOfRow, {rows});
    row = index("row_of_slot", Meaning::rowOfSlot, {c.tokens, c.topK});
    expert = index("expert_of_slot", Meaning::expertOfSlot, {rows});
    offsets = index("offsets", Meaning::offsets, {c.experts + 1});
    builder.step("build_index", Op::buildIndex).reads(layer.topkIds).writes(token, row, expert, offsets);

    a = hidden("A");
    const BufferId b = hidden("B"), y = hidden("Y");
    builder.step("up", Op::fusedUp)
        .readsRows(layer.x, rows)
        .reads(token, offsets, layer.w1, layer.w2)
        .writesAs(Use::a, a)
        .writesAs(Use::b, b)  // no Step reads it, so it is freed after this one
        .writesAs(Use::y, y)
        .grouped(2 * h, d);
    const BufferId out = builder.transient("expert_output", Layout::rows, {rows, d});
    builder.step("down", Op::groupedGemm).reads(y, layer.w3, offsets).writes(out).grouped(d, h);
    builder.step("combine", Op::combine).reads(out, row, offsets).readsAs(Use::gates, layer.gates).writes(layer.output);
  }

  void backward() {
    builder.beginBackward();
    const BufferId again = hidden("B_again");
    builder.step("up_again", Op::groupedGemm)
        .readsRows(layer.x, rows)
        .reads(token, offsets, layer.w2)
        .writes(again)
        .grouped(h, d);
    const BufferId gates = builder.buffer("row_gates", Role::transient, c.gateDtype, Layout::rows, {rows});
    builder.step("row_gates", Op::gather).reads(layer.gates, row, offsets).writes(gates);
    const BufferId dA = builder.alias("dA", a, {rows, h}), dB = builder.alias("dB", again, {rows, h});  // in place
    const BufferId scaled = hidden("Y_scaled");
    const BufferId parts = builder.buffer("gate_parts", Role::transient, c.gateDtype, Layout::rows, {rows, 1});
    builder.step("down_backward", Op::fusedDownBackward)
        .readsRows(layer.outputGradient, rows)
        .reads(token, offsets, layer.w3)
        .readsAs(Use::a, a)
        .readsAs(Use::b, again)
        .readsAs(Use::gates, gates)
        .writesAs(Use::a, dA)
        .writesAs(Use::b, dB)
        .writesAs(Use::y, scaled)
        .writesAs(Use::parts, parts)
        .grouped(h, d)
        .transposed();
    builder.step("down_weight_gradient", Op::weightGradient)
        .reads(scaled)
        .readsRows(layer.outputGradient, rows)
        .reads(token, offsets)
        .writes(layer.w3Gradient)
        .groupedReduction(h, d);
    builder.step("up_weight_gradient", Op::weightGradient)
        .readsRows(layer.x, rows)
        .reads(token, offsets, dA, dB)
        .writes(layer.w1Gradient, layer.w2Gradient)
        .groupedReduction(d, 2 * h);
    const BufferId dx = builder.transient("dx_rows", Layout::rows, {rows, d});
    builder.step("up_input_gradient", Op::groupedGemm)
        .reads(dA, dB, layer.w1, layer.w2, offsets)
        .writes(dx)
        .grouped(d, 2 * h)
        .transposed();
    builder.step("reduce_gradients", Op::reduceGradients)
        .reads(dx)
        .readsAs(Use::parts, parts)
        .reads(row, expert, offsets)
        .writes(layer.inputGradient, layer.gateGradient);
  }

  BufferId index(const char* name, Meaning meaning, Shape shape) {
    return builder.indices(name, meaning, DType::int32, shape);
  }
  BufferId hidden(const char* name) { return builder.hidden(name, Layout::rows, {rows, h}); }

  PlanBuilder& builder;
  const MoeConfig& c = builder.config();
  const int64_t rows = builder.rows(), d = c.dModel, h = c.dFf;
  const Layer layer{builder, {.gateDtype = c.gateDtype}};  // x, gates, weights, the output and all gradients
  BufferId token{}, row{}, expert{}, offsets{};            // index structures
  BufferId a{};
};

Plan planOwnSystem(const MoeConfig& config, const Routing& routing) {
  PlanBuilder builder(config, routing, "own", {});
  OwnSystem system(builder);
  system.forward();
  system.backward();
  return builder.finish();
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
