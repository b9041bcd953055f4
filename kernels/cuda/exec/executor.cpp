#include "kernels/cuda/exec/executor.h"

#include <cuda_runtime.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/base/error.h"
#include "core/base/interrupt.h"
#include "kernels/cuda/base/check.h"
#include "kernels/cuda/exec/run_step.h"
#include "kernels/cuda/exec/support.h"
#include "kernels/cuda/library/random_fill.h"
#include "kernels/host/binding.h"

namespace moeblaze::cuda {
Runner::Runner(const Plan& plan, Context& context, MemoryOptions options)
    : plan_(runnable(plan)),
      context_(context),
      run_{context},
      memory_(plan, context, std::move(options)),
      given_(plan.buffers.size()) {}

Runner::~Runner() {
  for (std::byte* block : given_) cudaFree(block);
}

/// Where the numbers of a given buffer go: to its own storage when it is external, else to a copy from which `begin`
/// fills the buffer when its lifetime begins.
std::byte* Runner::storageFor(BufferId id) {
  if (plan_.buffer(id).external) return memory_.data(id);
  std::byte*& copy = given_[index(id)];
  if (copy == nullptr) MOEBLAZE_CUDA_CHECK(cudaMalloc(&copy, static_cast<size_t>(plan_.buffer(id).bytes)));
  return copy;
}

/// Copies on the stream that allocated and poisoned the memory; another stream's copy might come before the poison.
void Runner::copyIn(BufferId id, const void* source, size_t bytes) {
  MOEBLAZE_CUDA_CHECK(cudaMemcpyAsync(storageFor(id), source, bytes, cudaMemcpyHostToDevice, context_.stream()));
  context_.synchronize();
}

void Runner::give(const LayerInputs& inputs) {
  requirePlannedRouting(plan_, inputs.topkIds);
  std::vector<std::byte> bytes;
  for (size_t i = 0; i < plan_.buffers.size(); ++i) {
    const Buffer& buffer = plan_.buffers[i];
    if (!buffer.external && buffer.role != Role::input) continue;
    const BufferId id = static_cast<BufferId>(i);
    bytes.resize(static_cast<size_t>(buffer.bytes));
    if (writeInput(plan_, id, inputs, bytes.data())) copyIn(id, bytes.data(), bytes.size());
  }
}

void Runner::giveRandom(const Routing& routing, uint64_t seed) {
  const MoeConfig& c = plan_.config;
  for (size_t i = 0; i < plan_.buffers.size(); ++i) {
    const Buffer& buffer = plan_.buffers[i];
    if (!buffer.external && buffer.role != Role::input) continue;
    std::byte* const data = storageFor(static_cast<BufferId>(i));
    if (buffer.meaning == Meaning::expertOfSlot) {
      std::vector<int32_t> ids;
      for (int64_t slot = 0; slot < c.rows(); ++slot) ids.push_back(routing.expertOf(slot / c.topK, slot % c.topK));
      requirePlannedRouting(plan_, ids);
      copyIn(static_cast<BufferId>(i), ids.data(), sizeof(int32_t) * ids.size());
      continue;
    }
    const auto extents = buffer.shape.extents();
    float mean = 0, deviation = 1;
    if (buffer.role == Role::weight) deviation = 1 / std::sqrt(static_cast<float>(extents[extents.size() - 2]));
    if (buffer.layout == Layout::slots) {
      mean = 1 / static_cast<float>(c.topK);
      deviation = mean / 4;
    }
    fillNormal(data, buffer.dtype, buffer.shape.count(), mean, deviation, seed + i, context_.stream());
  }
  context_.synchronize();
}

void Runner::begin(int32_t step) {
  for (size_t i = 0; i < plan_.buffers.size(); ++i) {
    const Buffer& buffer = plan_.buffers[i];
    if (buffer.external || !buffer.ownsStorage() || buffer.lifetime.first != step) continue;
    const BufferId id = static_cast<BufferId>(i);
    memory_.allocate(id);
    if (given_[i] != nullptr)
      MOEBLAZE_CUDA_CHECK(cudaMemcpyAsync(memory_.data(id), given_[i], static_cast<size_t>(buffer.bytes),
                                          cudaMemcpyDeviceToDevice, context_.stream()));
  }
}

void Runner::end(int32_t step) {
  memory_.checkCanaries(plan_.steps[step].name);
  for (size_t i = 0; i < plan_.buffers.size(); ++i) {
    const Buffer& buffer = plan_.buffers[i];
    if (buffer.external || !buffer.ownsStorage() || buffer.isResult() || buffer.lifetime.last != step) continue;
    memory_.free(static_cast<BufferId>(i), plan_.steps[step].name);
  }
}

void Runner::run(int32_t first, int32_t last) {
  for (int32_t i = first; i < last; ++i) {
    const Step& step = plan_.steps[i];
    begin(i);
    if (observer) observer(i, true);
    const auto storageOf = [&](BufferId storage) {
      if (!memory_.exists(storage))
        throw PlanFailure(
            fmt::format("step {} uses buffer {}, which does not exist then", step.name, plan_.buffer(storage).name));
      return memory_.data(storage);
    };
    runStep(bindStep(plan_, step, storageOf), run_);
    if (observer) observer(i, false);
    end(i);
  }
}

void Runner::discard() {
  for (size_t i = 0; i < plan_.buffers.size(); ++i) {
    const BufferId id = static_cast<BufferId>(i);
    if (!plan_.buffers[i].external && plan_.buffers[i].ownsStorage() && memory_.exists(id))
      memory_.free(id, "the last");
  }
}

void Runner::forward() {
  discard();
  run(0, plan_.forwardSteps);
}

void Runner::backward() { run(plan_.forwardSteps, static_cast<int32_t>(plan_.steps.size())); }

LayerResults Runner::results(const LayerInputs& inputs) const {
  std::vector<std::byte> bytes;
  context_.synchronize();
  return readResults(plan_, inputs, [&](BufferId id) {
    bytes.resize(static_cast<size_t>(plan_.buffer(id).bytes));
    MOEBLAZE_CUDA_CHECK(cudaMemcpy(bytes.data(), memory_.data(id), bytes.size(), cudaMemcpyDeviceToHost));
    return bytes.data();
  });
}

const std::byte* Runner::result(const std::string& name) const {
  for (size_t i = 0; i < plan_.buffers.size(); ++i)
    if (plan_.buffers[i].isResult() && plan_.buffers[i].name == name) return memory_.data(static_cast<BufferId>(i));
  return nullptr;
}

namespace {

/// Takes times on the GPU before and after every Step of one run.
class StepClock {
 public:
  explicit StepClock(size_t steps) : events_(2 * steps) {
    for (cudaEvent_t& event : events_) MOEBLAZE_CUDA_CHECK(cudaEventCreate(&event));
  }
  ~StepClock() {
    for (cudaEvent_t event : events_) cudaEventDestroy(event);
  }
  StepClock(const StepClock&) = delete;
  StepClock& operator=(const StepClock&) = delete;

  void mark(int32_t step, bool begins, cudaStream_t stream) {
    MOEBLAZE_CUDA_CHECK(cudaEventRecord(events_[2 * step + (begins ? 0 : 1)], stream));
  }
  /// Time in ns from the start of Step 0 to a mark, which the stream must have passed.
  int64_t at(int32_t step, bool begins) const {
    float ms = 0;
    MOEBLAZE_CUDA_CHECK(cudaEventElapsedTime(&ms, events_[0], events_[2 * step + (begins ? 0 : 1)]));
    return std::llround(1e6 * static_cast<double>(ms));
  }

 private:
  std::vector<cudaEvent_t> events_;
};

/// Adds the observed track: the Steps' spans and the buffers that were held, by the times at which the GPU reached each
/// Step.
void addObserved(const Plan& plan, const StepClock& clock, const std::string& name, Trace& trace) {
  constexpr TrackId kObserved{1};  // makeTrace's planned track is track 0
  trace.tracks.push_back({name, TrackKind::observed});
  for (int32_t i = 0; i < std::ssize(plan.steps); ++i)
    trace.spans.push_back({kObserved, trace.strings.add(plan.steps[i].name), clock.at(i, true),
                           clock.at(i, false) - clock.at(i, true), static_cast<StepId>(i)});
  for (const Buffer& buffer : plan.buffers) {
    if (buffer.external || !buffer.ownsStorage()) continue;
    trace.allocations.push_back({.track = kObserved,
                                 .name = trace.strings.add(buffer.name),
                                 .role = buffer.role,
                                 .bytes = buffer.bytes,
                                 .allocNs = clock.at(buffer.lifetime.first, true),
                                 .freeNs = buffer.isResult() ? kNever : clock.at(buffer.lifetime.last, false),
                                 .step = static_cast<StepId>(buffer.lifetime.first)});
  }
}

}  // namespace

Execution executeOnCuda(const Plan& plan, const LayerInputs& inputs, Context& context, MemoryOptions options) {
  Runner runner(plan, context, std::move(options));
  runner.give(inputs);
  Execution execution;
  StepClock clock(plan.steps.size());
  const std::vector<int64_t> planned = bytesPerStep(plan);
  runner.observer = [&](int32_t i, bool begins) {
    InterruptWatch::check();
    clock.mark(i, begins, context.stream());
    if (!begins) return;
    execution.observedPerStep.push_back(runner.countedBytes());
    if (runner.countedBytes() != planned[i])
      throw PlanFailure(fmt::format("step {} runs with {} bytes, {} are planned", plan.steps[i].name,
                                    runner.countedBytes(), planned[i]));
  };
  runner.forward();
  runner.backward();
  context.synchronize();
  for (int32_t i = 0; i < std::ssize(plan.steps); ++i)
    execution.stepNs.push_back(clock.at(i, false) - clock.at(i, true));
  execution.results = runner.results(inputs);
  execution.trace = makeTrace(plan, execution.stepNs);
  addObserved(plan, clock, plan.system + " on " + context.gpu(), execution.trace);
  return execution;
}

}  // namespace moeblaze::cuda
