#pragma once

#include <functional>

#include "kernels/cuda/run/memory.h"
#include "kernels/layer/execution.h"

namespace moeblaze::cuda {

/// One Plan on a GPU, to be run as often as wanted. Steps are launched in the Plan's order on the context's stream;
/// only Steps of which the Plan says so wait for the host.
class Runner {
 public:
  /// Throws InputError when the backend cannot run the Plan, DeviceError when the GPU has too little memory. Both
  /// references must outlive this.
  Runner(const Plan& plan, Context& context, MemoryOptions options = {});
  ~Runner();

  /// What the Plan is given: parameters, x, ids, gates, output gradient.
  void give(const LayerInputs& inputs);
  /// The same with random numbers made on the GPU, x and output gradient N(0,1), weights N(0, 1/fan-in); ids are the
  /// routing's.
  void giveRandom(const Routing& routing, uint64_t seed);

  void forward();
  void backward();
  /// Frees what backward leaves: outputs and gradients. A forward does so first.
  void discard();
  /// Called around every Step if set: (step, before it begins).
  std::function<void(int32_t step, bool begins)> observer;

  LayerResults results(const LayerInputs& inputs) const;
  /// A result buffer's bytes in device memory, by the Plan's name; null when there is none.
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
  Memory memory_;
  std::vector<std::byte*> given_;  ///< by buffer: what the Plan counts and is handed at the first use
};

/// Runs `plan` once on `device` as executeOnHost does on the processor; Step times are the GPU's. Throws PlanFailure,
/// InputError when the backend cannot run the Plan, DeviceError.
Execution executeOnCuda(const Plan& plan, const LayerInputs& inputs, Context& context, MemoryOptions options);

}  // namespace moeblaze::cuda
