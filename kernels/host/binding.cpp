#include "kernels/host/binding.h"

#include <algorithm>
#include <string>
#include <utility>

#include "core/base/error.h"
#include "core/plan/buffer_names.h"
#include "kernels/host/tensor.h"

namespace moeblaze {
namespace {

using namespace buffer_names;

/// A buffer that a vector of LayerInputs or LayerResults fills as it is.
template <typename Layer>
struct NamedTensor {
  std::string name;
  std::vector<double> Layer::*values;
};

const std::vector<NamedTensor<LayerInputs>>& givenTensors() {
  static const std::vector<NamedTensor<LayerInputs>> kTensors{
      {std::string(kInput), &LayerInputs::x},
      {std::string(kOutputGradient), &LayerInputs::outputGradient},
      {std::string(kW1), &LayerInputs::w1},
      {std::string(kW2), &LayerInputs::w2},
      {std::string(kW3), &LayerInputs::w3},
      {sharedOf(kW1), &LayerInputs::sharedW1},
      {sharedOf(kW2), &LayerInputs::sharedW2},
      {sharedOf(kW3), &LayerInputs::sharedW3},
      {std::string(kRouterWeight), &LayerInputs::routerWeight},
      {std::string(kRouterBias), &LayerInputs::routerBias}};
  return kTensors;
}

const std::vector<NamedTensor<LayerResults>>& resultTensors() {
  static const std::vector<NamedTensor<LayerResults>> kTensors{
      {std::string(kOutput), &LayerResults::output},
      {std::string(kInputGradient), &LayerResults::x},
      {gradientOf(kW1), &LayerResults::w1},
      {gradientOf(kW2), &LayerResults::w2},
      {gradientOf(kW3), &LayerResults::w3},
      {gradientOf(sharedOf(kW1)), &LayerResults::sharedW1},
      {gradientOf(sharedOf(kW2)), &LayerResults::sharedW2},
      {gradientOf(sharedOf(kW3)), &LayerResults::sharedW3},
      {gradientOf(kRouterWeight), &LayerResults::routerWeight}};
  return kTensors;
}

/// The vector of that name; null when the layer has none.
template <typename Layer>
std::vector<double> Layer::*tensorNamed(const std::vector<NamedTensor<Layer>>& tensors, const std::string& name) {
  const auto found = std::ranges::find(tensors, name, &NamedTensor<Layer>::name);
  return found == tensors.end() ? nullptr : found->values;
}

/// Stores `values`, as many as the buffer has elements, one after another in the buffer's dtype.
void writeNumbers(const Buffer& buffer, const std::vector<double>& values, std::byte* data) {
  assert(std::ssize(values) == buffer.shape.count());
  for (double value : values) {
    host::storeElement<double>(buffer.dtype, data, value);
    data += sizeOf(buffer.dtype);
  }
}

std::vector<double> readNumbers(const Buffer& buffer, const std::byte* data) {
  std::vector<double> values(buffer.shape.count());
  for (double& value : values) {
    value = host::loadElement<double>(buffer.dtype, data);
    data += sizeOf(buffer.dtype);
  }
  return values;
}

/// W1 and W2, [E, d, h] each, side by side: [E, d, 2h]. `width` is h.
std::vector<double> join(const std::vector<double>& w1, const std::vector<double>& w2, int64_t width) {
  std::vector<double> joined;
  joined.reserve(w1.size() + w2.size());
  for (size_t at = 0; at < w1.size(); at += width) {
    joined.insert(joined.end(), w1.begin() + at, w1.begin() + at + width);
    joined.insert(joined.end(), w2.begin() + at, w2.begin() + at + width);
  }
  return joined;
}

/// The reverse of join.
void split(const std::vector<double>& joined, int64_t width, std::vector<double>& w1, std::vector<double>& w2) {
  for (size_t at = 0; at < joined.size(); at += 2 * width) {
    w1.insert(w1.end(), joined.begin() + at, joined.begin() + at + width);
    w2.insert(w2.end(), joined.begin() + at + width, joined.begin() + at + 2 * width);
  }
}

/// Values of slots [L, k] as a dense map [E, L], zero where a token did not choose the expert.
std::vector<double> spread(const LayerInputs& inputs, const std::vector<double>& slots) {
  const MoeConfig& c = inputs.config;
  std::vector<double> map(c.experts * c.tokens, 0.0);
  for (int64_t slot = 0; slot < c.rows(); ++slot) map[inputs.topkIds[slot] * c.tokens + slot / c.topK] = slots[slot];
  return map;
}

/// The reverse of spread.
std::vector<double> collect(const LayerInputs& inputs, const std::vector<double>& map) {
  const MoeConfig& c = inputs.config;
  std::vector<double> slots(c.rows());
  for (int64_t slot = 0; slot < c.rows(); ++slot) slots[slot] = map[inputs.topkIds[slot] * c.tokens + slot / c.topK];
  return slots;
}

}  // namespace

void requirePlannedRouting(const Plan& plan, std::span<const int32_t> topkIds) {
  const bool given = std::ranges::any_of(
      plan.buffers, [](const Buffer& buffer) { return buffer.name == kTopkIds && buffer.external; });
  if (!given) return;
  if (const std::string mismatch = routingMismatch(plan.tokensPerExpert, topkIds); !mismatch.empty())
    throw InputError("topk_ids do not follow the routing " + plan.routing + " of the Plan: " + mismatch);
}

bool writeInput(const Plan& plan, BufferId id, const LayerInputs& in, std::byte* data) {
  const Buffer& buffer = plan.buffer(id);
  const auto write = [&](const std::vector<double>& values) {
    writeNumbers(buffer, values, data);
    return true;
  };
  if (const auto values = tensorNamed(givenTensors(), buffer.name)) return write(in.*values);
  if (buffer.name == kW12) return write(join(in.w1, in.w2, in.config.dFf));
  if (buffer.name == kTopkIds) return write({in.topkIds.begin(), in.topkIds.end()});
  if (buffer.name == kGates) return write(buffer.layout == Layout::expertTokens ? spread(in, in.gates) : in.gates);
  return false;
}

LayerResults readResults(const Plan& plan, const LayerInputs& inputs,
                         const std::function<const std::byte*(BufferId)>& dataOf) {
  LayerResults results;
  for (size_t i = 0; i < plan.buffers.size(); ++i) {
    const Buffer& buffer = plan.buffers[i];
    if (!buffer.isResult()) continue;
    const std::vector<double> read = readNumbers(buffer, dataOf(static_cast<BufferId>(i)));
    if (const auto values = tensorNamed(resultTensors(), buffer.name)) {
      results.*values = read;
    } else if (buffer.name == gradientOf(kW12)) {
      split(read, inputs.config.dFf, results.w1, results.w2);
    } else if (buffer.name == kGateGradient) {
      results.gates = buffer.layout == Layout::expertTokens ? collect(inputs, read) : read;
    }
  }
  return results;
}

}  // namespace moeblaze
