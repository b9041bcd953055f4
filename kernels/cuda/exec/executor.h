#pragma once

#include <functional>

#include "kernels/cuda/run/memory.h"
#include "kernels/cuda/run/plan_run.h"
#include "kernels/layer/execution.h"

namespace moeblaze::cuda {

/// One Plan on a GPU, to be run as often as wanted. Steps are launched in the Plan's order on the context's stream. The
/// host waits only for the Steps of which the Plan says so.
class Runner {
 public:
  /// Throws InputError when the backend cannot run the Plan, DeviceError when the GPU has too little memory. Both
  /// references must outlive this.
  Runner(const Plan& plan, Context& context, MemoryOptions options = {});
  ~Runner();

  /// Copies what the Plan is given to the GPU: parameters, x, expert ids, gates and the output gradient. Throws
  /// InputError when the ids do not follow the Plan's routing.
  void give(const LayerInputs& inputs);
  /// Does the same with random numbers made on the GPU: x and the output gradient are N(0,1), weights N(0, 1/fan-in),
  /// and ids are the routing's, which must be the Plan's.
  void giveRandom(const Routing& routing, uint64_t seed);

  void forward();
  void backward();
  /// Frees the outputs and gradients that backward leaves. `forward` begins with this.
  void discard();
  /// Called before (`begins`) and after every Step is launched, if set.
  std::function<void(int32_t step, bool begins)> observer;

  LayerResults results(const LayerInputs& inputs) const;
  /// The bytes of a result buffer in device memory, by the Plan's name; null when there is no such result.
  const std::byte* result(const std::string& name) const;
  int64_t countedBytes() const { return memory_.countedBytes(); }
  int64_t arenaBytes() const { return memory_.arenaBytes(); }

 private:
  void run(int32_t first, int32_t last);
  void begin(int32_t step);
  void end(int32_t step);
  std::byte* storageFor(BufferId id);
  void copyIn(BufferId id, const void* source, size_t bytes);

  const Plan& plan_;
  Context& context_;
  PlanRun run_;
  Memory memory_;
  std::vector<std::byte*> given_;  ///< by buffer: copies of the inputs that the Plan counts, for the buffers' first
                                   ///< uses; null for all others
};

/// Runs `plan` once on the context's GPU as executeOnHost does on the processor. Step times are the GPU's, in ns.
/// Throws PlanFailure, InputError when the backend cannot run the Plan or the ids do not follow its routing,
/// DeviceError, and Interrupted between Steps under an InterruptWatch.
Execution executeOnCuda(const Plan& plan, const LayerInputs& inputs, Context& context, MemoryOptions options);

}  // namespace moeblaze::cuda
