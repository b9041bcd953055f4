#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/plan/arena.h"
#include "kernels/cuda/run/context.h"

namespace moeblaze::cuda {

/// Where a Plan's buffers come from.
enum class MemoryMode : uint8_t {
  perBuffer,  ///< each buffer has a stream-ordered allocation of its own, made and freed with its lifetime
  arena,      ///< all buffers lie in one block, placed by their lifetimes
};

struct MemoryOptions {
  MemoryMode mode = MemoryMode::perBuffer;
  /// Poisons every buffer when its lifetime begins and when it ends, and checks the canaries behind all buffers after
  /// every Step. This proves that a Step needs nothing but its operands, and it is slow.
  bool checked = false;
  /// Called before and after the allocation of a buffer, if set, so that a profiler can name the allocation.
  std::function<void(BufferId id, bool begins)> onAllocate = nullptr;
};

/// The memory of one Plan's buffers on a GPU.
class Memory {
 public:
  /// Allocates the external buffers and, in arena mode, the arena. When the GPU has too little memory it releases
  /// everything and throws DeviceError, which names the Plan's peak and the free memory.
  Memory(const Plan& plan, Context& context, MemoryOptions options);
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  /// Begins and ends the life of a buffer that owns its storage. `free` throws PlanFailure, naming the Step `after`,
  /// when something was written behind the buffer.
  void allocate(BufferId id);
  void free(BufferId id, const std::string& after);
  /// Waits for the GPU, and throws PlanFailure, naming the Step `after`, when something was written behind any buffer.
  void checkCanaries(const std::string& after) const;

  bool exists(BufferId id) const { return blocks_[index(id)] != nullptr; }
  std::byte* data(BufferId id) const { return blocks_[index(id)]; }
  /// Bytes of the buffers alive, without the external ones, which a Plan does not count.
  int64_t countedBytes() const { return countedBytes_; }
  int64_t arenaBytes() const { return arena_.bytes; }

 private:
  std::byte* take(int64_t bytes);
  std::byte* takeFor(BufferId id);
  void poison(BufferId id) const;
  void checkCanary(BufferId id, const std::string& after) const;
  void release();

  const Plan& plan_;
  Context& context_;
  MemoryOptions options_;
  cudaMemPool_t pool_ = nullptr;
  Arena arena_;
  std::byte* arenaBlock_ = nullptr;
  std::vector<std::byte*> blocks_;  ///< by buffer; null for aliases and for buffers that are not alive
  int64_t countedBytes_ = 0;
};

}  // namespace moeblaze::cuda
