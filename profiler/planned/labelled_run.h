#pragma once

#include <string>

#include "kernels/cuda/exec/executor.h"
#include "profiler/recording/recording.h"

namespace moeblaze::profiler {

/// The options for recording a LabelledRun of `plan`, which must outlive the recording.
RecordingOptions recordingOf(const Plan& plan);

/// Runs a Plan on a GPU. While it does, it tells the collector, if there is one, the buffer or the Step that each call
/// is made for.
class LabelledRun {
 public:
  /// Gives the Plan random inputs. Throws as cuda::Runner does. The references and the collector must outlive this.
  LabelledRun(const Plan& plan, const Routing& routing, cuda::Context& context, Collector* collector);

  /// Enqueues one training step within an NVTX range called `name`.
  void step(const std::string& name);

 private:
  cuda::MemoryOptions memoryOptions();
  void label(uint64_t id, bool begins);

  Collector* collector_;
  cuda::Runner runner_;
};

}  // namespace moeblaze::profiler
