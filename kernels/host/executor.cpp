#include "kernels/host/executor.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "core/base/error.h"
#include "core/base/interrupt.h"
#include "core/base/report.h"
#include "core/trace/copy_track.h"
#include "kernels/host/binding.h"
#include "kernels/host/memory.h"
#include "kernels/host/step.h"

namespace moeblaze {
namespace {

using Clock = std::chrono::steady_clock;

/// One run of a Plan on the processor, Step by Step.
class HostRun {
 public:
  HostRun(const Plan& plan, const LayerInputs& inputs) : plan_(plan), inputs_(inputs), memory_(plan) {}

  Execution run() {
    requirePlannedRouting(plan_, inputs_.topkIds);
    allocateExternals();
    const std::vector<int64_t> planned = bytesPerStep(plan_);
    start_ = Clock::now();
    for (int32_t i = 0; i < std::ssize(plan_.steps); ++i) {
      InterruptWatch::check();
      begin(i);
      execution_.observedPerStep.push_back(memory_.countedBytes());
      if (memory_.countedBytes() != planned[i])
        throw PlanFailure(fmt::format("step {} runs with {} bytes, {} are planned", plan_.steps[i].name,
                                      memory_.countedBytes(), planned[i]));
      runStep(i);
      end(i);
    }
    execution_.results = readResults(plan_, inputs_, [this](BufferId id) { return memory_.data(id); });
    finishTrace();
    return std::move(execution_);
  }

 private:
  int64_t now() const { return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - start_).count(); }

  void allocateExternals() {
    for (size_t i = 0; i < plan_.buffers.size(); ++i) {
      if (!plan_.buffers[i].external) continue;
      memory_.allocate(static_cast<BufferId>(i));
      give(static_cast<BufferId>(i));
    }
  }

  void give(BufferId id) { writeInput(plan_, id, inputs_, memory_.data(id)); }

  /// Allocates every storage whose planned lifetime begins with Step i.
  void begin(int32_t i) {
    for (size_t b = 0; b < plan_.buffers.size(); ++b) {
      const Buffer& buffer = plan_.buffers[b];
      if (buffer.external || buffer.aliasOf != BufferId::none || buffer.lifetime.first != i) continue;
      const BufferId id = static_cast<BufferId>(b);
      memory_.allocate(id);
      if (buffer.role == Role::input) give(id);
      alive_.emplace_back(id, observed_.allocations.size());
      observed_.allocations.push_back({.track = kObserved,
                                       .name = observed_.strings.add(buffer.name),
                                       .role = buffer.role,
                                       .buffer = id,
                                       .bytes = buffer.bytes,
                                       .allocNs = now(),
                                       .step = static_cast<StepId>(i)});
    }
  }

  void end(int32_t i) {
    memory_.checkCanaries(plan_.steps[i].name);
    collectDispatch(i);
    std::erase_if(alive_, [&](const auto& entry) {
      const auto [id, allocation] = entry;
      const Buffer& buffer = plan_.buffer(id);
      if (buffer.isResult() || buffer.lifetime.last != i) return false;
      memory_.free(id, plan_.steps[i].name);
      observed_.allocations[allocation].freeNs = now();
      return true;
    });
  }

  host::Tensor tensor(const Operand& operand, const Step& step) const {
    if (index(operand.id) >= plan_.buffers.size())
      throw PlanFailure(fmt::format("step {} names a buffer that does not exist", step.name));
    const Buffer& buffer = plan_.buffer(operand.id);
    const BufferId storage = plan_.storageOf(operand.id);
    if (!memory_.exists(storage))
      throw PlanFailure(fmt::format("step {} uses buffer {}, which does not exist then", step.name, buffer.name));
    return {bindOperand(plan_, operand, memory_.data(storage))};
  }

  void runStep(int32_t i) {
    const Step& step = plan_.steps[i];
    std::vector<host::Tensor> reads, writes;
    for (const Operand& operand : plan_.reads(step)) reads.push_back(tensor(operand, step));
    for (const Operand& operand : plan_.writes(step)) writes.push_back(tensor(operand, step));
    const int64_t startNs = now();
    if (step.op == Op::release) {
      // The framework lets go of what the Step names; nothing runs.
    } else {
      run(step, std::move(reads), std::move(writes));
    }
    execution_.stepNs.push_back(now() - startNs);
    observed_.spans.push_back(
        {kObserved, observed_.strings.add(step.name), startNs, execution_.stepNs.back(), static_cast<StepId>(i)});
  }

  void run(const Step& step, std::vector<host::Tensor> reads, std::vector<host::Tensor> writes) const {
    try {
      if (plan_.config.dtype == DType::fp64) {
        host::StepRun<double>(plan_, step, std::move(reads), std::move(writes)).run();
      } else {
        host::StepRun<float>(plan_, step, std::move(reads), std::move(writes)).run();
      }
    } catch (const std::out_of_range&) {
      throw PlanFailure(fmt::format("step {} lacks an operand of {}", step.name, name(step.op)));
    }
  }

  /// Notes which slots the Plan's dispatch gave a row, once the structure that tells exists.
  void collectDispatch(int32_t i) {
    for (const Operand& operand : plan_.writes(plan_.steps[i])) {
      const Buffer& buffer = plan_.buffer(operand.id);
      if (buffer.meaning != Meaning::rowOfSlot) continue;
      const host::Tensor map{{&buffer, Use::data, memory_.data(operand.id), 1}};
      std::vector<uint8_t> kept;
      for (int64_t slot = 0; slot < buffer.shape.count(); ++slot) kept.push_back(map.integer(slot) >= 0);
      if (std::ranges::count(kept, 0) > 0) execution_.kept = std::move(kept);
    }
  }

  void finishTrace() {
    Trace& trace = execution_.trace = makeTrace(plan_, execution_.stepNs);
    trace.tracks.push_back({plan_.system + " on the host", TrackKind::observed});
    copyTrack(observed_, kObserved, trace, kObserved);
  }

  static constexpr TrackId kObserved{1};  // makeTrace's planned track is track 0

  const Plan& plan_;
  const LayerInputs& inputs_;
  host::Memory memory_;
  Clock::time_point start_;
  Execution execution_;
  std::vector<std::pair<BufferId, size_t>> alive_;  ///< with their place in observed_.allocations
  Trace observed_;                                  ///< the allocations and spans of the run, all on kObserved
};

}  // namespace

Execution executeOnHost(const Plan& plan, const LayerInputs& inputs) { return HostRun(plan, inputs).run(); }

void checkHostMemory(const Plan& plan) {
  int64_t bytes = memoryFigures(plan).peak;
  for (const Buffer& buffer : plan.buffers)
    if (buffer.external) bytes += buffer.bytes + 2 * buffer.shape.count() * sizeOf(DType::fp64);
  const int64_t present = static_cast<int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
  if (bytes > present)
    throw DeviceError(
        fmt::format("{} under {} needs about {} and this machine has {}; give fewer --tokens or a smaller layer",
                    plan.config.name, plan.system, bytesText(bytes), bytesText(present)));
}

}  // namespace moeblaze
