#include "simulator/cost/cost_model.h"

#include <algorithm>
#include <cmath>

namespace moeblaze {
namespace {

// An expert pays for whole tiles: the rows of an output tile, and the depth of a block of the reduction.
constexpr int64_t kTileRows = 128;
constexpr int64_t kReductionBlock = 64;

/// Speed of a family's products relative to the machine's curve. The figure for Triton is fitted to ScatterMoE and
/// MoMoE on an H200. The one for fused kernels is an assumption: a grouped product whose gather and epilogue cost 5 %.
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

/// The fraction of a large copy's bandwidth that an Op reaches when it only moves memory, as measured on an H200 with
/// PyTorch 2.11's kernels and rows of 512 to 4096 bf16. Atomic adds and multiplying by a broadcast gate are far slower.
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

/// How long the GPU idles at a host stall, until the host has launched enough kernels ahead again; measured likewise.
constexpr int64_t kHostStallNs = 400'000;

/// A product with each expert padded to whole tiles.
struct PaddedProduct {
  double flops = 0;
  double size = 0;  ///< as EfficiencyPoint::size, for an expert of mean size
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
