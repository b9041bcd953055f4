#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "core/plan/plan.h"

namespace moeblaze::host {

/// The memory of one execution's buffers, which it poisons, guards with canaries, and counts.
class Memory {
 public:
  explicit Memory(const Plan& plan) : plan_(plan), blocks_(plan.buffers.size()) {}

  /// Allocates the storage of `id` with every byte 0xff, which is NaN in each floating type and -1 in each integer
  /// type.
  void allocate(BufferId id);
  /// Checks the canaries behind the buffer, poisons it and frees it. Throws PlanFailure naming `after`, the Step that
  /// ran last.
  void free(BufferId id, const std::string& after);
  /// Throws PlanFailure, naming the Step `after`, when something was written behind any buffer.
  void checkCanaries(const std::string& after) const;

  bool exists(BufferId id) const { return blocks_[index(id)] != nullptr; }
  /// First byte of a buffer that owns its storage.
  std::byte* data(BufferId id) const { return blocks_[index(id)].get(); }
  /// Bytes of the buffers alive, without the external ones, which a Plan does not count.
  int64_t countedBytes() const { return countedBytes_; }

 private:
  void checkCanary(BufferId id, const std::string& after) const;

  const Plan& plan_;
  std::vector<std::unique_ptr<std::byte[]>>
      blocks_;  ///< by buffer; null for aliases and for buffers that are not alive
  int64_t countedBytes_ = 0;
};

}  // namespace moeblaze::host
