#include "kernels/cuda/run/memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "core/base/error.h"
#include "core/base/report.h"
#include "kernels/cuda/base/check.h"
#include "kernels/layer/execution.h"

namespace moeblaze::cuda {
namespace {

constexpr int64_t kCanaryBytes = 256;
constexpr int kPoison = 0xff, kCanary = 0xa5;

}  // namespace

Memory::Memory(const Plan& plan, Context& context, MemoryOptions options)
    : plan_(plan), context_(context), options_(std::move(options)), blocks_(plan.buffers.size()) {
  try {
    // Freed memory stays in the pool, so that a step that has run before asks the driver for nothing.
    MOEBLAZE_CUDA_CHECK(cudaDeviceGetDefaultMemPool(&pool_, context.device()));
    uint64_t threshold = std::numeric_limits<uint64_t>::max();
    MOEBLAZE_CUDA_CHECK(cudaMemPoolSetAttribute(pool_, cudaMemPoolAttrReleaseThreshold, &threshold));
    if (options_.mode == MemoryMode::arena) {
      arena_ = packArena(
          plan, [](const Buffer& buffer) { return !buffer.external; }, options_.checked ? kCanaryBytes : 0);
      arenaBlock_ = take(arena_.bytes);
    }
    for (size_t i = 0; i < plan.buffers.size(); ++i)
      if (plan.buffers[i].external) allocate(static_cast<BufferId>(i));
  } catch (...) {
    release();
    throw;
  }
}

Memory::~Memory() { release(); }

void Memory::release() {
  cudaStreamSynchronize(context_.stream());
  for (size_t i = 0; i < blocks_.size(); ++i) {
    const bool inArena = arenaBlock_ != nullptr && arena_.offsets[i] >= 0;
    if (blocks_[i] != nullptr && !inArena) cudaFreeAsync(blocks_[i], context_.stream());
    blocks_[i] = nullptr;
  }
  if (arenaBlock_ != nullptr) cudaFreeAsync(arenaBlock_, context_.stream());
  arenaBlock_ = nullptr;
  cudaStreamSynchronize(context_.stream());
  if (pool_ != nullptr) cudaMemPoolTrimTo(pool_, 0);
}

std::byte* Memory::take(int64_t bytes) {
  void* block = nullptr;
  const cudaError_t status =
      cudaMallocFromPoolAsync(&block, static_cast<size_t>(std::max<int64_t>(bytes, 1)), pool_, context_.stream());
  if (status == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    size_t free = 0, total = 0;
    MOEBLAZE_CUDA_CHECK(cudaMemGetInfo(&free, &total));
    int64_t external = 0;
    for (const Buffer& buffer : plan_.buffers) external += buffer.external ? buffer.bytes : 0;
    throw DeviceError(fmt::format(
        "GPU out of memory: {} under {} needs {} at its peak beside {} of parameters and inputs, and {} of {} are free "
        "on {} after what was allocated before; give fewer --tokens or a system that saves less",
        plan_.config.name, plan_.system, bytesText(memoryFigures(plan_).peak), bytesText(external),
        bytesText(static_cast<int64_t>(free)), bytesText(static_cast<int64_t>(total)), context_.gpu()));
  }
  MOEBLAZE_CUDA_CHECK(status);
  return static_cast<std::byte*>(block);
}

std::byte* Memory::takeFor(BufferId id) {
  if (options_.onAllocate) options_.onAllocate(id, true);
  std::byte* const block = take(plan_.buffer(id).bytes + (options_.checked ? kCanaryBytes : 0));
  if (options_.onAllocate) options_.onAllocate(id, false);
  return block;
}

void Memory::allocate(BufferId id) {
  const Buffer& buffer = plan_.buffer(id);
  const bool inArena = arenaBlock_ != nullptr && !buffer.external;
  std::byte*& block = blocks_[index(id)];
  block = inArena ? arenaBlock_ + arena_.offsets[index(id)] : takeFor(id);
  if (!buffer.external) countedBytes_ += buffer.bytes;
  if (!options_.checked) return;
  poison(id);
  MOEBLAZE_CUDA_CHECK(cudaMemsetAsync(block + buffer.bytes, kCanary, kCanaryBytes, context_.stream()));
}

void Memory::poison(BufferId id) const {
  MOEBLAZE_CUDA_CHECK(
      cudaMemsetAsync(data(id), kPoison, static_cast<size_t>(plan_.buffer(id).bytes), context_.stream()));
}

void Memory::checkCanary(BufferId id, const std::string& after) const {
  const Buffer& buffer = plan_.buffer(id);
  std::array<unsigned char, kCanaryBytes> bytes{};
  MOEBLAZE_CUDA_CHECK(
      cudaMemcpyAsync(bytes.data(), data(id) + buffer.bytes, bytes.size(), cudaMemcpyDeviceToHost, context_.stream()));
  context_.synchronize();
  if (!std::ranges::all_of(bytes, [](unsigned char byte) { return byte == kCanary; }))
    throw PlanFailure(fmt::format("step {} wrote behind buffer {}", after, buffer.name));
}

void Memory::checkCanaries(const std::string& after) const {
  if (!options_.checked) return;
  for (size_t i = 0; i < blocks_.size(); ++i)
    if (blocks_[i] != nullptr) checkCanary(static_cast<BufferId>(i), after);
}

void Memory::free(BufferId id, const std::string& after) {
  if (options_.checked) {
    checkCanary(id, after);
    poison(id);
  }
  const Buffer& buffer = plan_.buffer(id);
  std::byte*& block = blocks_[index(id)];
  const bool inArena = arenaBlock_ != nullptr && !buffer.external;
  if (!inArena) MOEBLAZE_CUDA_CHECK(cudaFreeAsync(block, context_.stream()));
  block = nullptr;
  if (!buffer.external) countedBytes_ -= buffer.bytes;
}

}  // namespace moeblaze::cuda
