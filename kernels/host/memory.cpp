#include "kernels/host/memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "kernels/layer/execution.h"

namespace moeblaze::host {
namespace {

constexpr int64_t kCanaryBytes = 64;
constexpr std::byte kCanary{0xa5};
constexpr int kPoison = 0xff;

}  // namespace

void Memory::allocate(BufferId id) {
  const Buffer& buffer = plan_.buffer(id);
  auto& block = blocks_[index(id)];
  block.reset(new std::byte[buffer.bytes + kCanaryBytes]);
  std::memset(block.get(), kPoison, buffer.bytes);
  std::fill_n(block.get() + buffer.bytes, kCanaryBytes, kCanary);
  if (!buffer.external) countedBytes_ += buffer.bytes;
}

void Memory::checkCanary(BufferId id, const std::string& after) const {
  const Buffer& buffer = plan_.buffer(id);
  const std::byte* canary = blocks_[index(id)].get() + buffer.bytes;
  if (!std::all_of(canary, canary + kCanaryBytes, [](std::byte b) { return b == kCanary; }))
    throw PlanFailure(fmt::format("step {} wrote behind buffer {}", after, buffer.name));
}

void Memory::checkCanaries(const std::string& after) const {
  for (size_t i = 0; i < blocks_.size(); ++i)
    if (blocks_[i] != nullptr) checkCanary(static_cast<BufferId>(i), after);
}

void Memory::free(BufferId id, const std::string& after) {
  checkCanary(id, after);
  const Buffer& buffer = plan_.buffer(id);
  std::memset(blocks_[index(id)].get(), kPoison, buffer.bytes);
  blocks_[index(id)].reset();
  if (!buffer.external) countedBytes_ -= buffer.bytes;
}

}  // namespace moeblaze::host
