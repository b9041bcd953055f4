#pragma once

#include <string>

#include "kernels/cuda/exec/executor.h"
#include "profiler/recording/recording.h"

namespace moeblaze::profiler {

/// How a run of `plan` is recorded. The Plan must outlive the recording.
RecordingOptions recordingOf(const Plan& plan);

/// Runs a Plan and tells the collector, if there is one, what each call is for.
class LabelledRun {
 public:
  LabelledRun(const Plan& plan, const Routing& routing, cuda::Context& context, Collector* collector);

  /// One training step, in an NVTX range.
  void step(const std::string& name);

 private:
  cuda::MemoryOptions memoryOptions();
  void label(uint64_t id, bool begins);

  Collector* collector_;
  cuda::Runner runner_;
};

}  // namespace moeblaze::profiler
