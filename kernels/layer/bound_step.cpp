#include "kernels/layer/bound_step.h"

namespace moeblaze {

int64_t BoundOperand::columnsOf(const Buffer& buffer) {
  const auto extents = buffer.shape.extents();
  switch (buffer.layout) {
    case Layout::flat:
    case Layout::expertTokens:
      return 1;
    case Layout::rows:
      return extents.size() == 1 ? 1 : extents[1];
    case Layout::slots:
    case Layout::choiceSlots:
      return extents.size() == 2 ? 1 : extents[2];
    case Layout::tokens:
    case Layout::weight:
      break;
  }
  return buffer.shape.last();
}

BoundOperand bindOperand(const Plan& plan, const Operand& operand, std::byte* storage) {
  const Buffer& buffer = plan.buffer(operand.id);
  int64_t offset = 0;
  BufferId owner = operand.id;
  for (; plan.buffer(owner).aliasOf != BufferId::none; owner = plan.buffer(owner).aliasOf)
    offset += plan.buffer(owner).aliasColumn * sizeOf(plan.buffer(owner).dtype);
  const bool view = owner != operand.id && buffer.shape.count() < plan.buffer(owner).shape.count();
  return {&buffer, operand.use, storage + offset, BoundOperand::columnsOf(view ? plan.buffer(buffer.aliasOf) : buffer)};
}

BoundStep bindStep(const Plan& plan, const Step& step, const std::function<std::byte*(BufferId)>& storageOf) {
  BoundStep bound{plan, step, {}, {}};
  for (const Operand& operand : plan.reads(step))
    bound.reads.push_back(bindOperand(plan, operand, storageOf(plan.storageOf(operand.id))));
  for (const Operand& operand : plan.writes(step))
    bound.writes.push_back(bindOperand(plan, operand, storageOf(plan.storageOf(operand.id))));
  return bound;
}

}  // namespace moeblaze
