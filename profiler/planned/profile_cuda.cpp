#include <cuda_runtime.h>
#include <fmt/format.h>
#include <stdlib.h>

#include "core/base/error.h"
#include "core/base/interrupt.h"
#include "kernels/cuda/base/check.h"
#include "kernels/cuda/exec/support.h"
#include "profiler/planned/labelled_run.h"
#include "profiler/planned/profiled_run.h"
#include "profiler/temporary_folder.h"
#include "traces/store/store.h"

namespace moeblaze::profiler {
namespace {

using cuda::Context;

/// Allocations the Plan does not list, by what the context says it holds of exactly that size.
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

TrackId memoryTrack(Trace& trace, int device) {
  const std::string name = fmt::format("GPU {} memory", device);
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
  // The context gives cuBLAS its workspace; without this it would take another of its own.
  setenv("CUBLAS_WORKSPACE_CONFIG", ":0:0", 0);
  cuda::useDevice(options.device);
  cuda::runnable(plan);
  const TemporaryFolder folder;
  const std::string file = folder.file("run.mbtrace");
  RecordingOptions recorded = recordingOf(plan);
  recorded.meta = {{"source", "moeblaze-prof run"}, {"backend", "cuda"},       {"config", plan.config.name},
                   {"system", plan.system},         {"routing", plan.routing}, {"gpu", gpuName(options.device)}};
  std::vector<cuda::HiddenMemory> hidden;
  {
    Recording recording(cupti, file, std::move(recorded));
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
  const bool interrupted = InterruptWatch::acknowledge();
  Trace trace = readTrace(file);
  nameHidden(hidden, trace);
  const TrackId memory = memoryTrack(trace, options.device);
  ProfiledRun run = finishRun(plan, std::move(trace), memory, options);
  run.interrupted = interrupted;
  return run;
}

}  // namespace moeblaze::profiler
