#include "profiler/overhead/overhead.h"

#include <cuda_runtime.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <optional>
#include <vector>

#include "core/base/interrupt.h"
#include "core/base/median.h"
#include "kernels/cuda/base/check.h"
#include "profiler/overhead/empty_kernel.h"
#include "profiler/overhead/temporary_folder.h"
#include "profiler/planned/labelled_run.h"
#include "profiler/recording/recording.h"

namespace moeblaze::profiler {
namespace {

constexpr int kLaunches = 20'000;
constexpr int64_t kWarmUps = 3;

double medianNs(int64_t rounds, const std::function<void()>& work) {
  std::vector<double> times;
  for (int64_t i = -kWarmUps; i < rounds; ++i) {
    InterruptWatch::check();
    const auto start = std::chrono::steady_clock::now();
    work();
    const double ns = std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count();
    if (i >= 0) times.push_back(ns);
  }
  return median(std::move(times));
}

/// Launches are recorded as `record` does it, without attribution: only a run of a Plan has that.
double launchNs(const Cupti& cupti, const std::string& file, int device, Watched watched, int64_t rounds) {
  std::optional<Recording> recording;
  if (watched != Watched::notAtAll) {
    RecordingOptions options;
    options.collector.work = options.recorder.followsStreams = watched == Watched::fully;
    recording.emplace(cupti, file, std::move(options));
  }
  cuda::Context context(device);
  return medianNs(rounds,
                  [&] {
                    for (int i = 0; i < kLaunches; ++i) launchEmpty(context.stream());
                    context.synchronize();
                  }) /
         kLaunches;
}

double stepNs(const Cupti& cupti, const std::string& file, const Plan& plan, const Routing& routing, int device,
              Watched watched, int64_t rounds) {
  std::optional<Recording> recording;
  if (watched != Watched::notAtAll) {
    RecordingOptions options = recordingOf(plan);
    if (watched == Watched::memoryOnly) {
      options.collector = {.work = false};
      options.recorder.followsStreams = false;
    }
    recording.emplace(cupti, file, std::move(options));
  }
  cuda::Context context(device);
  LabelledRun run(plan, routing, context, watched == Watched::fully ? &recording->collector() : nullptr);
  return medianNs(rounds, [&] {
    run.step("step");
    context.synchronize();
  });
}

}  // namespace

WatchedTimes timeWatched(const Plan& plan, const Routing& routing, int device, Watched watched, int64_t rounds) {
  const Cupti cupti = loadCupti();
  if (watched != Watched::notAtAll) listenToRanges(cupti);
  cuda::useDevice(device);
  const TemporaryFolder folder;
  return {.launchNs = launchNs(cupti, folder.file("launches.mbtrace"), device, watched, rounds),
          .stepNs = stepNs(cupti, folder.file("steps.mbtrace"), plan, routing, device, watched, rounds)};
}

}  // namespace moeblaze::profiler
