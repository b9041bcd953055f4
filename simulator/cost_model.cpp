#include "simulator/cost_model.h"

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
      return 0.80;
    case KernelFamily::fused:
      return 0.95;
  }
  return 1.0;
}

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
  double tokens = 0, paddedTokens = 0, busy = 0;
  for (int32_t e = gemm.firstExpert; e < gemm.firstExpert + gemm.experts; ++e) {
    const int64_t count = plan.tokensPerExpert[e];
    tokens += static_cast<double>(count);
    paddedTokens += static_cast<double>((count + block - 1) / block * block);
    busy += count > 0 ? 1 : 0;
  }
  if (busy == 0) return {};
  const double mean = tokens / busy;
  if (gemm.ragged == Ragged::rows) return {2 * paddedTokens * n * k, harmonicMean(mean, n, k)};
  return {2 * m * n * paddedTokens, harmonicMean(m, n, mean)};
}

}  // namespace

int64_t stepTime(const Plan& plan, const Step& step, const Machine& machine) {
  double seconds = static_cast<double>(step.bytesRead + step.bytesWritten) / machine.bandwidthBytesPerS;
  if (!step.gemm.empty()) {
    const PaddedProduct product = padded(plan, step.gemm);
    const double rate =
        machine.flopsOf(plan.config.dtype) * machine.efficiencyAt(product.size) * relativeSpeed(step.family);
    if (product.flops > 0) seconds = std::max(seconds, product.flops / rate);
  }
  return std::llround(seconds * 1e9) + step.launches * machine.launchNs;
}

std::vector<int64_t> stepTimes(const Plan& plan, const Machine& machine) {
  std::vector<int64_t> times;
  times.reserve(plan.steps.size());
  for (const Step& step : plan.steps) times.push_back(stepTime(plan, step, machine));
  return times;
}

}  // namespace moeblaze
