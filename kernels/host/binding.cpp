#include "kernels/host/binding.h"

#include <algorithm>

#include "kernels/host/tensor.h"

namespace moeblaze {
namespace {

/// A buffer as one flat run of numbers.
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

/// W1 and W2 [E, d, h] side by side: [E, d, 2h].
std::vector<double> join(const std::vector<double>& w1, const std::vector<double>& w2, int64_t width) {
  std::vector<double> joined;
  joined.reserve(w1.size() + w2.size());
  for (size_t at = 0; at < w1.size(); at += width) {
    joined.insert(joined.end(), w1.begin() + at, w1.begin() + at + width);
    joined.insert(joined.end(), w2.begin() + at, w2.begin() + at + width);
  }
  return joined;
}

void split(const std::vector<double>& joined, int64_t width, std::vector<double>& w1, std::vector<double>& w2) {
  for (size_t at = 0; at < joined.size(); at += 2 * width) {
    w1.insert(w1.end(), joined.begin() + at, joined.begin() + at + width);
    w2.insert(w2.end(), joined.begin() + at + width, joined.begin() + at + 2 * width);
  }
}

/// [L, k] values as a dense [E, L] map, and back.
std::vector<double> spread(const LayerInputs& inputs, const std::vector<double>& slots) {
  const MoeConfig& c = inputs.config;
  std::vector<double> map(c.experts * c.tokens, 0.0);
  for (int64_t slot = 0; slot < c.rows(); ++slot) map[inputs.topkIds[slot] * c.tokens + slot / c.topK] = slots[slot];
  return map;
}

std::vector<double> collect(const LayerInputs& inputs, const std::vector<double>& map) {
  const MoeConfig& c = inputs.config;
  std::vector<double> slots(c.rows());
  for (int64_t slot = 0; slot < c.rows(); ++slot) slots[slot] = map[inputs.topkIds[slot] * c.tokens + slot / c.topK];
  return slots;
}

}  // namespace

bool writeInput(const Plan& plan, BufferId id, const LayerInputs& in, std::byte* data) {
  const Buffer& buffer = plan.buffer(id);
  const auto write = [&](const std::vector<double>& values) {
    writeNumbers(buffer, values, data);
    return true;
  };
  const std::string& name = buffer.name;
  const std::vector<std::pair<const char*, const std::vector<double>*>> plain{{"x", &in.x},
                                                                              {"dO", &in.outputGradient},
                                                                              {"W1", &in.w1},
                                                                              {"W2", &in.w2},
                                                                              {"W3", &in.w3},
                                                                              {"W1.shared", &in.sharedW1},
                                                                              {"Wr", &in.routerWeight},
                                                                              {"router_bias", &in.routerBias},
                                                                              {"W2.shared", &in.sharedW2},
                                                                              {"W3.shared", &in.sharedW3}};
  for (const auto& [key, values] : plain)
    if (name == key) return write(*values);
  if (name == "W12") return write(join(in.w1, in.w2, in.config.dFf));
  if (name == "topk_ids") return write({in.topkIds.begin(), in.topkIds.end()});
  if (name == "gates") return write(buffer.layout == Layout::expertTokens ? spread(in, in.gates) : in.gates);
  return false;
}

LayerResults readResults(const Plan& plan, const LayerInputs& inputs,
                         const std::function<const std::byte*(BufferId)>& dataOf) {
  LayerResults results;
  const std::vector<std::pair<const char*, std::vector<double>*>> plain{{"O", &results.output},
                                                                        {"dx", &results.x},
                                                                        {"dW1", &results.w1},
                                                                        {"dW2", &results.w2},
                                                                        {"dW3", &results.w3},
                                                                        {"dW1.shared", &results.sharedW1},
                                                                        {"dW2.shared", &results.sharedW2},
                                                                        {"dW3.shared", &results.sharedW3},
                                                                        {"dWr", &results.routerWeight}};
  for (size_t i = 0; i < plan.buffers.size(); ++i) {
    const Buffer& buffer = plan.buffers[i];
    if (!buffer.isResult()) continue;
    const std::vector<double> values = readNumbers(buffer, dataOf(static_cast<BufferId>(i)));
    const auto found =
        std::find_if(plain.begin(), plain.end(), [&](const auto& entry) { return buffer.name == entry.first; });
    if (found != plain.end()) {
      *found->second = values;
    } else if (buffer.name == "dW12") {
      split(values, inputs.config.dFf, results.w1, results.w2);
    } else if (buffer.name == "dgates") {
      results.gates = buffer.layout == Layout::expertTokens ? collect(inputs, values) : values;
    }
  }
  return results;
}

}  // namespace moeblaze
