#include "simulator/cost/cost_model.h"

#include <algorithm>
#include <cmath>

namespace moeblaze {
namespace {

/// Rows of an output tile, and depth of a reduction block, that a partly filled expert still pays for.
constexpr int64_t kTileRows = 128;
constexpr int64_t kReductionBlock = 64;

/// Speed of a family's products relative to the machine's curve. Triton: fitted to ScatterMoE and MoMoE on the H200.
/// Fused: a grouped product whose gather and epilogue cost 5 %, until measured.
double relativeSpeed(KernelFamily family) {
  switch (family) {
    case KernelFamily::library:
      return 1.0;
    case KernelFamily::triton:
      return 0.74;
    case KernelFamily::fused:
      return 0.95;
  }
  return 1.0;
}

/// What a Step that only moves memory reaches of a large copy's bandwidth, measured on an H200 in PyTorch 2.11's
/// kernels (rows of 512 to 4096 bf16). Atomic adds and a broadcast gate run far below it.
double relativeBandwidth(Op op) {
  switch (op) {
    case Op::activation:
      return 0.85;
    case Op::activationBackward:
      return 0.92;
    case Op::gather:
      return 0.88;
    case Op::combine:
      return 0.92;
    case Op::gateGradient:
      return 0.75;
    case Op::scaleRows:
      return 0.35;
    case Op::scatterAdd:
      return 0.075;
    default:
      return 1.0;
  }
}

/// How long the device idles at a stall, until an eager host has launched ahead again; measured likewise.
constexpr int64_t kHostStallNs = 400'000;

struct PaddedProduct {
  double flops = 0;
  double size = 0;  ///< harmonic mean of the extents, of the mean expert
};

double harmonicMean(double m, double n, double k) { return 3.0 / (1.0 / m + 1.0 / n + 1.0 / k); }

PaddedProduct padded(const Plan& plan, const GemmShape& gemm) {
  const auto [m, n, k] =
      std::array{static_cast<double>(gemm.m), static_cast<double>(gemm.n), static_cast<double>(gemm.k)};
  if (gemm.ragged == Ragged::none) return {2 * m * n * k, harmonicMean(m, n, k)};
  const int64_t block = gemm.ragged == Ragged::rows ? kTileRows : kReductionBlock;
  double paddedTokens = 0, busy = 0;
  for (int32_t e = gemm.firstExpert; e < gemm.firstExpert + gemm.experts; ++e) {
    const int64_t count = plan.rowsPerExpert[e];
    paddedTokens += static_cast<double>((count + block - 1) / block * block);
    busy += count > 0 ? 1 : 0;
  }
  if (busy == 0) return {};
  const double mean = paddedTokens / busy;
  if (gemm.ragged == Ragged::rows) return {2 * paddedTokens * n * k, harmonicMean(mean, n, k)};
  return {2 * m * n * paddedTokens, harmonicMean(m, n, mean)};
}

}  // namespace

int64_t stepTime(const Plan& plan, const Step& step, const Machine& machine) {
  double seconds = static_cast<double>(step.bytesRead + step.bytesWritten) /
                   (machine.bandwidthBytesPerS * relativeBandwidth(step.op));
  if (!step.gemm.empty()) {
    const PaddedProduct product = padded(plan, step.gemm);
    const double rate =
        machine.flopsOf(plan.config.dtype) * machine.efficiencyAt(product.size) * relativeSpeed(step.family);
    if (product.flops > 0) seconds = std::max(seconds, product.flops / rate);
  }
  return std::llround(seconds * 1e9) + step.launches * machine.launchNs + step.hostStalls * kHostStallNs;
}

std::vector<int64_t> stepTimes(const Plan& plan, const Machine& machine) {
  std::vector<int64_t> times;
  times.reserve(plan.steps.size());
  for (const Step& step : plan.steps) times.push_back(stepTime(plan, step, machine));
  return times;
}

}  // namespace moeblaze
