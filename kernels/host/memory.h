#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "core/plan/plan.h"

namespace moeblaze::host {

/// The buffers of one execution: allocated poisoned, guarded by canaries, counted.
class Memory {
 public:
  explicit Memory(const Plan& plan) : plan_(plan), blocks_(plan.buffers.size()) {}

  /// Allocates the storage of `id`, every byte 0xff: NaN in each floating type, -1 in each integer.
  void allocate(BufferId id);
  /// Checks the canaries, poisons and frees. Throws PlanFailure naming `after`, the Step that ran last.
  void free(BufferId id, const std::string& after);
  /// Throws PlanFailure when something was written behind any buffer.
  void checkCanaries(const std::string& after) const;

  bool exists(BufferId id) const { return blocks_[index(id)] != nullptr; }
  /// First byte of a buffer that owns its storage.
  std::byte* data(BufferId id) const { return blocks_[index(id)].get(); }
  /// Bytes of the buffers that count: external ones apart.
  int64_t countedBytes() const { return countedBytes_; }

 private:
  void checkCanary(BufferId id, const std::string& after) const;

  const Plan& plan_;
  std::vector<std::unique_ptr<std::byte[]>> blocks_;  ///< by buffer; null where not alive, and for aliases
  int64_t countedBytes_ = 0;
};

}  // namespace moeblaze::host
