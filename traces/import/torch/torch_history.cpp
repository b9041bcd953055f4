#include "traces/import/torch/torch_history.h"

#include <algorithm>

namespace moeblaze {

TorchHistory::TorchHistory(const std::vector<TorchEvent>& events)
    : completesFrees_(std::ranges::any_of(
          events, [](const TorchEvent& event) { return event.action == TorchAction::freeCompleted; })) {
  for (size_t i = 0; i < events.size(); ++i) read(events[i], i);
}

void TorchHistory::read(const TorchEvent& event, size_t number) {
  const bool isFree = event.action == TorchAction::freeRequested || event.action == TorchAction::freeCompleted;
  if (!isFree && event.action != TorchAction::alloc) return;
  const auto [entry, isNew] = addresses_.try_emplace(event.address);
  Address& address = entry->second;
  if (!isFree) {
    address = {.isLive = true, .lastAlloc = number};
    return;
  }
  if (isNew) {
    freesOfOlderBlocks_.push_back(number);
    address.isLive = true;
  }
  if (event.action == TorchAction::freeCompleted || !completesFrees_) address.isLive = false;
}

bool TorchHistory::lastsToTheEnd(uint64_t address, size_t event) const {
  const auto found = addresses_.find(address);
  return found != addresses_.end() && found->second.isLive && found->second.lastAlloc == event;
}

}  // namespace moeblaze
