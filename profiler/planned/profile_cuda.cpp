#include "profiler/planned/profile_cuda.h"

#include <cuda_runtime.h>
#include <fmt/format.h>
#include <stdlib.h>

#include "core/base/error.h"
#include "core/base/interrupt.h"
#include "kernels/cuda/base/check.h"
#include "kernels/cuda/exec/support.h"
#include "profiler/planned/labelled_run.h"
#include "profiler/recording/recorded_tracks.h"

namespace moeblaze::profiler {
namespace {

using cuda::Context;

/// Names each allocation without a label after the hidden memory of exactly its size, if the context holds such memory.
void nameHidden(const std::vector<cuda::HiddenMemory>& hidden, Trace& trace) {
  for (Allocation& allocation : trace.allocations) {
    if (allocation.role != Role::unknown) continue;
    for (const cuda::HiddenMemory& memory : hidden)
      if (memory.bytes == allocation.bytes) {
        allocation.name = trace.strings.add(memory.name);
        allocation.role = Role::workspace;
      }
  }
}

/// The track of the GPU's memory; adds it when nothing was allocated.
TrackId memoryTrack(Trace& trace, int device) {
  const std::string name = RecordedTracks::nameOfMemory(static_cast<uint32_t>(device));
  for (size_t i = 0; i < trace.tracks.size(); ++i)
    if (trace.tracks[i].name == name) return static_cast<TrackId>(i);
  trace.tracks.push_back({name, TrackKind::observed, device});
  return static_cast<TrackId>(trace.tracks.size() - 1);
}

}  // namespace

std::string gpuName(int device) {
  cuda::useDevice(device);
  cudaDeviceProp properties{};
  MOEBLAZE_CUDA_CHECK(cudaGetDeviceProperties(&properties, device));
  return properties.name;
}

ProfiledRun profileOnCuda(const Plan& plan, const Routing& routing, const RunOptions& options) {
  const Cupti cupti = loadCupti();
  listenToRanges(cupti);
  // The context gives cuBLAS a workspace. This setting keeps cuBLAS from allocating another one of its own.
  setenv("CUBLAS_WORKSPACE_CONFIG", ":0:0", 0);
  cuda::useDevice(options.device);
  cuda::runnable(plan);
  RecordingOptions recorded = recordingOf(plan);
  recorded.meta = {{"source", "moeblaze-prof run"}, {"backend", "cuda"},       {"config", plan.config.name},
                   {"system", plan.system},         {"routing", plan.routing}, {"gpu", gpuName(options.device)}};
  Trace observed;
  std::vector<cuda::HiddenMemory> hidden;
  {
    Recording recording(cupti, observed, std::move(recorded));
    {
      Context context(options.device);
      context.setPortable(options.portable);
      LabelledRun labelled(plan, routing, context, &recording.collector());
      for (int64_t i = 0; i < options.warmUps + options.steps; ++i) {
        if (InterruptWatch::requested() && i > 0) break;
        const bool warms = i < options.warmUps;
        labelled.step(fmt::format("{} {}", warms ? "warm-up" : "step", warms ? i + 1 : i - options.warmUps + 1));
      }
      context.synchronize();
      hidden = context.hidden();
    }
    recording.stop();
  }
  nameHidden(hidden, observed);
  const TrackId memory = memoryTrack(observed, options.device);
  return finishRun(plan, std::move(observed), memory, options);
}

}  // namespace moeblaze::profiler
