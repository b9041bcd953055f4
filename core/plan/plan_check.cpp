#include <fmt/format.h>

#include <string_view>
#include <unordered_set>

#include "core/plan/plan.h"

namespace moeblaze {
namespace {

/// Collects what is wrong with a Plan, Step by Step.
class PlanChecker {
 public:
  explicit PlanChecker(const Plan& plan) : plan_(plan), written_(plan.buffers.size(), false) {}

  std::vector<std::string> run() {
    checkNames();
    checkBuffers();
    checkOperands();
    if (!problems_.empty()) return problems_;  // the checks below follow aliases and operands, which must be valid
    checkSteps();
    checkResults();
    checkLifetimes();
    return problems_;
  }

 private:
  template <typename... Args>
  void problem(fmt::format_string<Args...> format, Args&&... args) {
    problems_.push_back(fmt::format(format, std::forward<Args>(args)...));
  }

  /// Executors, reports and the comparison with measured buffers tell the buffers of a Plan apart by their names.
  void checkNames() {
    std::unordered_set<std::string_view> names;
    for (const Buffer& buffer : plan_.buffers)
      if (!names.insert(buffer.name).second) problem("buffer {} is not the only one of its name", buffer.name);
  }

  void checkBuffers() {
    for (size_t i = 0; i < plan_.buffers.size(); ++i) {
      const Buffer& buffer = plan_.buffers[i];
      if (buffer.bytes != buffer.shape.count() * sizeOf(buffer.dtype) || buffer.bytes < 0)
        problem("buffer {} has {} bytes, its shape and dtype {}", buffer.name, buffer.bytes,
                buffer.shape.count() * sizeOf(buffer.dtype));
      if (buffer.ownsStorage()) continue;
      if (index(buffer.aliasOf) >= i) {
        problem("buffer {} aliases a buffer declared after it", buffer.name);
      } else if (buffer.bytes > plan_.buffer(buffer.aliasOf).bytes) {
        problem("buffer {} is larger than {}, which it aliases", buffer.name, plan_.buffer(buffer.aliasOf).name);
      }
    }
  }

  void checkOperands() {
    for (const Step& step : plan_.steps)
      for (const Operand& operand : plan_.operandsOf(step))
        if (index(operand.id) >= plan_.buffers.size()) problem("step {} names a buffer that does not exist", step.name);
  }

  void checkSteps() {
    for (size_t i = 0; i < plan_.steps.size(); ++i) {
      const Step& step = plan_.steps[i];
      if ((step.phase == Phase::forward) != (static_cast<int32_t>(i) < plan_.forwardSteps))
        problem("step {} is {} on the wrong side of the boundary", step.name, name(step.phase));
      if (step.bytesRead < 0 || step.bytesWritten < 0 || !(step.flops >= 0))
        problem("step {} has a negative cost", step.name);
      for (const Operand& operand : plan_.reads(step)) checkRead(step, operand.id);
      for (const auto [id, use] : plan_.writes(step)) {
        if (plan_.buffer(id).role == Role::weight)
          problem("step {} writes weight {}", step.name, plan_.buffer(id).name);
        written_[index(id)] = true;
      }
    }
  }

  void checkRead(const Step& step, BufferId id) {
    const Buffer& buffer = plan_.buffer(id);
    const bool given = buffer.external || buffer.role == Role::input;
    // An alias may be a view, which is read without having been written: its base holds the elements.
    const bool viaBase = !buffer.ownsStorage() && written_[index(buffer.aliasOf)];
    if (!given && !written_[index(id)] && !viaBase)
      problem("step {} reads {} before it is written", step.name, buffer.name);
  }

  void checkResults() {
    for (size_t i = 0; i < plan_.buffers.size(); ++i) {
      const Buffer& buffer = plan_.buffers[i];
      if (buffer.isResult() && !written_[i]) problem("{} {} is never written", name(buffer.role), buffer.name);
    }
  }

  void checkLifetimes() {
    Plan derived = plan_;
    deriveLifetimes(derived);
    for (size_t i = 0; i < plan_.buffers.size(); ++i) {
      const Buffer& buffer = plan_.buffers[i];
      const Lifetime expected = derived.buffers[i].lifetime;
      if (expected.last < expected.first) problem("buffer {} is never used", buffer.name);
      if (buffer.lifetime.first != expected.first || buffer.lifetime.last != expected.last)
        problem("buffer {} lives from step {} to {}, its first write and last read ask for {} to {}", buffer.name,
                buffer.lifetime.first, buffer.lifetime.last, expected.first, expected.last);
      const bool held = plan_.isHeldForBackward(buffer) && buffer.role != Role::input && buffer.role != Role::index;
      if (held != (buffer.role == Role::saved) && buffer.ownsStorage())
        problem("buffer {} is {} but {} for backward", buffer.name, name(buffer.role), held ? "held" : "not held");
    }
  }

  const Plan& plan_;
  std::vector<bool> written_;
  std::vector<std::string> problems_;
};

}  // namespace

std::vector<std::string> checkPlan(const Plan& plan) { return PlanChecker(plan).run(); }

}  // namespace moeblaze
