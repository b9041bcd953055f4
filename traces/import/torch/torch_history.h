#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <unordered_map>
#include <vector>

#include "traces/import/torch/torch_records.h"

namespace moeblaze {

/// What all events of one device together say of each address. A replay must know it before the first event: which
/// blocks are older than the recording, and which allocations are never freed.
class TorchHistory {
 public:
  explicit TorchHistory(const std::vector<TorchEvent>& events);

  /// Whether the recording tells when frees are completed. Where it does not, a request is the free itself.
  bool completesFrees() const { return completesFrees_; }
  /// Whether any event allocates or frees a block at `address`.
  bool knows(uint64_t address) const { return addresses_.contains(address); }
  /// Whether the block that event number `event` allocates at `address` is alive after the last event.
  bool lastsToTheEnd(uint64_t address, size_t event) const;
  /// The numbers of the first free of each block that no event allocated, in order. These blocks are older than the
  /// recording.
  const std::vector<size_t>& freesOfOlderBlocks() const { return freesOfOlderBlocks_; }

 private:
  struct Address {
    bool isLive = false;
    size_t lastAlloc = std::numeric_limits<size_t>::max();  ///< number of the last event that allocates here
  };

  void read(const TorchEvent& event, size_t number);

  bool completesFrees_ = false;
  std::unordered_map<uint64_t, Address> addresses_;
  std::vector<size_t> freesOfOlderBlocks_;
};

}  // namespace moeblaze
