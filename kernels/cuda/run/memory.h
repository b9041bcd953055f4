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
  perBuffer,  ///< one stream-ordered allocation each, made and freed with its lifetime
  arena,      ///< one block for all, laid out by lifetimes
};

struct MemoryOptions {
  MemoryMode mode = MemoryMode::perBuffer;
  /// Buffers are poisoned when their lifetime begins and ends, and guarded by canaries that are looked at after every
  /// Step: what proves that a Step needs nothing but its operands. Slow.
  bool checked = false;
  /// Called around every allocation of a buffer, if set: what lets a profiler name it.
  std::function<void(BufferId id, bool begins)> onAllocate;
};

/// The buffers of one Plan on a GPU.
class Memory {
 public:
  /// Allocates the external buffers, and the arena if that is the mode. Throws DeviceError naming the Plan's peak and
  /// what is free when the GPU has too little, and has released everything then.
  Memory(const Plan& plan, Context& context, MemoryOptions options);
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  /// Storage of a buffer that owns it, alive from `allocate` to `free`.
  void allocate(BufferId id);
  /// Throws PlanFailure when something was written behind the buffer.
  void free(BufferId id, const std::string& after);
  /// Throws PlanFailure, naming the Step that ran last, when something was written behind any buffer; waits for it.
  void checkCanaries(const std::string& after) const;

  bool exists(BufferId id) const { return blocks_[index(id)] != nullptr; }
  std::byte* data(BufferId id) const { return blocks_[index(id)]; }
  /// Bytes of the buffers that count: external ones apart.
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
  std::vector<std::byte*> blocks_;  ///< by buffer; null where not alive, and for aliases
  int64_t countedBytes_ = 0;
};

}  // namespace moeblaze::cuda
