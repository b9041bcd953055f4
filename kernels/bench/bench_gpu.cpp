#include "kernels/bench/bench_gpu.h"

#include <cuda_runtime.h>
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iostream>
#include <memory>

#include "core/base/error.h"
#include "core/base/interrupt.h"
#include "core/base/median.h"
#include "kernels/cuda/base/check.h"
#include "kernels/cuda/exec/executor.h"
#include "kernels/cuda/exec/support.h"
#include "kernels/cuda/library/references.h"

namespace moeblaze {
namespace {

using cuda::BareLayer;
using cuda::Context;
using cuda::Runner;
using cuda::SquareProduct;

/// Rounds that do not count: the first one allocates, the others bring the clocks to where they stay.
constexpr int kWarmUps = 3;

/// Measures the milliseconds of work between two marks on one stream.
class Stopwatch {
 public:
  explicit Stopwatch(const Context& context) : stream_(context.stream()) {
    MOEBLAZE_CUDA_CHECK(cudaEventCreate(&start_));
    MOEBLAZE_CUDA_CHECK(cudaEventCreate(&stop_));
  }
  ~Stopwatch() {
    cudaEventDestroy(start_);
    cudaEventDestroy(stop_);
  }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

  double time(const std::function<void()>& work) {
    begin();
    work();
    return end();
  }
  void begin() { MOEBLAZE_CUDA_CHECK(cudaEventRecord(start_, stream_)); }
  double end() {
    MOEBLAZE_CUDA_CHECK(cudaEventRecord(stop_, stream_));
    MOEBLAZE_CUDA_CHECK(cudaEventSynchronize(stop_));
    float ms = 0;
    MOEBLAZE_CUDA_CHECK(cudaEventElapsedTime(&ms, start_, stop_));
    return ms;
  }

 private:
  cudaStream_t stream_;
  cudaEvent_t start_ = nullptr, stop_ = nullptr;
};

/// The times in ms of one measured thing, one for each round.
struct Times {
  std::vector<double> forward, backward;
  double forwardMs() const { return median(forward); }
  double backwardMs() const { return median(backward); }
  double ms() const { return forwardMs() + backwardMs(); }
};

double flopsOf(const Plan& plan, bool forwardOnly) {
  double flops = 0;
  for (const Step& step : plan.steps)
    if (!forwardOnly || step.phase == Phase::forward) flops += step.flops;
  return flops;
}

double trafficOf(const Plan& plan, bool forwardOnly) {
  double bytes = 0;
  for (const Step& step : plan.steps)
    if (!forwardOnly || step.phase == Phase::forward) bytes += static_cast<double>(step.bytesRead + step.bytesWritten);
  return bytes;
}

/// The name of the kernels that compute the Plan's products.
const char* kernelsOf(const Plan& plan, const Context& context) {
  const bool sorts = std::ranges::any_of(plan.steps, [](const Step& step) { return step.op == Op::sort; });
  return sorts ? "cuBLAS" : context.usesWgmma() ? "wgmma" : "mma.sync";
}

/// Rounds of measurements, in each of which every Plan and both references run in turn.
class LayerRounds {
 public:
  LayerRounds(const GpuBench& bench, Context& context)
      : bench_(bench), watch_(context), square_(context), bare_(bench.bare, context), times_(bench.plans.size()) {
    for (const Plan& plan : bench.plans) {
      runners_.push_back(std::make_unique<Runner>(plan, context));
      runners_.back()->giveRandom(bench.routing, 1);
    }
  }

  void run(bool counts) {
    const auto add = [&](std::vector<double>& times, double ms) {
      if (counts) times.push_back(ms);
    };
    add(squareTimes_.forward, watch_.time([this] { square_.run(); }));
    add(bareTimes_.forward, watch_.time([this] { bare_.forward(); }));
    if (!bench_.forwardOnly) add(bareTimes_.backward, watch_.time([this] { bare_.backward(); }));
    for (size_t i = 0; i < runners_.size(); ++i) {
      Runner& runner = *runners_[i];
      add(times_[i].forward, watch_.time([&] { runner.forward(); }));
      if (!bench_.forwardOnly) add(times_[i].backward, watch_.time([&] { runner.backward(); }));
      runner.discard();
    }
  }

  Record record(size_t i, const Context& context) const {
    const Plan& plan = bench_.plans[i];
    const Times& times = times_[i];
    const double flops = flopsOf(plan, bench_.forwardOnly),
                 squareTflops = SquareProduct::flops() / squareTimes_.ms() / 1e9;
    int64_t hidden = 0;
    for (const cuda::HiddenMemory& memory : context.hidden()) hidden += memory.bytes;
    return {{"config", plan.config.name},
            {"system", plan.system},
            {"backend", "cuda"},
            {"gpu", context.gpu()},
            {"kernels", kernelsOf(plan, context)},
            {"dtype", name(plan.config.dtype)},
            {"tokens", plan.config.tokens},
            {"repeats", std::ssize(times.forward)},
            {"forward_ms", times.forwardMs()},
            {"backward_ms", bench_.forwardOnly ? Record() : Record(times.backwardMs())},
            {"step_ms", times.ms()},
            {"step_tflops", flops / times.ms() / 1e9},
            {"traffic_gb_per_s", trafficOf(plan, bench_.forwardOnly) / times.ms() / 1e6},
            {"bare_forward_ms", bareTimes_.forwardMs()},
            {"bare_backward_ms", bench_.forwardOnly ? Record() : Record(bareTimes_.backwardMs())},
            {"bare_over_step", bareTimes_.ms() / times.ms()},
            {"cublas_8192_tflops", squareTflops},
            {"tflops_over_cublas", flops / times.ms() / 1e9 / squareTflops},
            {"planned_peak_bytes", memoryFigures(plan).peak},
            {"hidden_bytes", hidden}};
  }

 private:
  const GpuBench& bench_;
  Stopwatch watch_;
  SquareProduct square_;
  BareLayer bare_;
  std::vector<std::unique_ptr<Runner>> runners_;
  std::vector<Times> times_;
  Times squareTimes_, bareTimes_;
};

/// Calls round(counts) for the warm-ups and then `repeats` times. Returns false when the user stopped it before any
/// round counted.
bool repeat(int64_t repeats, const std::function<void(bool counts)>& round) {
  int64_t counted = 0;
  for (int64_t i = -kWarmUps; i < repeats && !InterruptWatch::requested(); ++i) {
    round(i >= 0);
    counted += i >= 0;
  }
  return counted > 0;
}

}  // namespace

std::vector<Record> benchLayerOnGpu(const GpuBench& bench) {
  for (const Plan& plan : bench.plans) cuda::runnable(plan);  // a wrong Plan is refused before a missing GPU
  Context context(bench.device);
  context.setPortable(bench.portable);
  LayerRounds rounds(bench, context);
  std::vector<Record> records;
  if (!repeat(bench.repeats, [&](bool counts) { rounds.run(counts); })) return records;
  for (size_t i = 0; i < bench.plans.size(); ++i) records.push_back(rounds.record(i, context));
  return records;
}

std::vector<Record> benchProductsOnGpu(const GpuBench& bench) {
  cuda::runnable(bench.plans.front());
  Context context(bench.device);
  context.setPortable(bench.portable);
  const Plan& plan = bench.plans.front();
  Stopwatch own(context), library(context);
  SquareProduct square(context);
  BareLayer bare(plan, context);
  Runner runner(plan, context);
  runner.giveRandom(bench.routing, 1);
  std::vector<std::vector<double>> times(plan.steps.size()), libraryTimes(plan.steps.size());
  std::vector<double> squareTimes;
  bool counts = false;
  runner.observer = [&](int32_t i, bool begins) {
    if (begins) {
      if (!plan.steps[i].gemm.empty()) {
        const double ms = library.time([&] { bare.step(i); });
        if (counts) libraryTimes[i].push_back(ms);
      }
      return own.begin();
    }
    const double ms = own.end();
    if (counts) times[i].push_back(ms);
  };
  const bool measured = repeat(bench.repeats, [&](bool count) {
    counts = count;
    const double ms = library.time([&] { square.run(); });
    if (counts) squareTimes.push_back(ms);
    runner.forward();
    runner.backward();
  });
  std::vector<Record> records;
  if (!measured) return records;
  const double squareTflops = SquareProduct::flops() / median(squareTimes) / 1e9;
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    const Step& step = plan.steps[i];
    if (step.op == Op::release) continue;
    const bool product = step.gemm.experts > 0 && !step.gemm.empty();
    const double ms = median(times[i]), libraryMs = median(libraryTimes[i]);
    records.push_back({{"config", plan.config.name},
                       {"system", plan.system},
                       {"gpu", context.gpu()},
                       {"kernels", kernelsOf(plan, context)},
                       {"step", step.name},
                       {"m", step.gemm.m},
                       {"n", step.gemm.n},
                       {"k", step.gemm.k},
                       {"repeats", std::ssize(times[i])},
                       {"step_ms", ms},
                       {"step_tflops", product ? Record(step.flops / ms / 1e9) : Record()},
                       {"gb_per_s", static_cast<double>(step.bytesRead + step.bytesWritten) / ms / 1e6},
                       {"cublas_ms", product ? Record(libraryMs) : Record()},
                       {"cublas_over_step", product ? Record(libraryMs / ms) : Record()},
                       {"cublas_8192_tflops", squareTflops}});
  }
  return records;
}

}  // namespace moeblaze
