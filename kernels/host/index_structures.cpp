#include "kernels/host/index_structures.h"

#include "kernels/host/binding.h"
#include "kernels/host/memory.h"
#include "kernels/host/step.h"

namespace moeblaze::host {

std::map<std::string, std::vector<int64_t>> buildIndexStructures(const Plan& plan, const LayerInputs& inputs) {
  Memory memory(plan);
  std::map<std::string, std::vector<int64_t>> structures;
  const auto tensor = [&](const Operand& operand) {
    if (!memory.exists(operand.id)) {
      memory.allocate(operand.id);
      writeInput(plan, operand.id, inputs, memory.data(operand.id));
    }
    return Tensor{{&plan.buffer(operand.id), operand.use, memory.data(operand.id), 1}};
  };
  for (const Step& step : plan.steps) {
    if (step.op != Op::sort && step.op != Op::buildIndex) continue;
    std::vector<Tensor> reads, writes;
    for (const Operand& operand : plan.reads(step)) reads.push_back(tensor(operand));
    for (const Operand& operand : plan.writes(step)) writes.push_back(tensor(operand));
    StepRun<float>(plan, step, reads, writes).run();
    for (const Tensor& written : writes) {
      if (written.buffer->role != Role::index) continue;
      auto& values = structures[written.buffer->name];
      for (int64_t i = 0; i < written.buffer->shape.count(); ++i) values.push_back(written.integer(i));
    }
  }
  return structures;
}

}  // namespace moeblaze::host
