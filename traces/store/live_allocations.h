#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>

namespace moeblaze::store {

/// The allocations that are alive, by id. Ids mostly count up, so they are kept in pages, and a page is dropped when
/// none of its ids is alive.
class LiveAllocations {
 public:
  struct Entry {
    int32_t track = -1;  ///< -1 when not alive
    int64_t bytes = 0;
    int64_t allocNs = 0;
  };

  void add(int64_t id, const Entry& entry) {
    Page& page = pages_[id / kPageIds];
    if (!page.entries) page.entries = std::make_unique<Entries>();
    (*page.entries)[static_cast<size_t>(id % kPageIds)] = entry;
    ++page.alive;
  }

  /// Returns nothing when `id` is not alive.
  std::optional<Entry> find(int64_t id) const {
    const auto page = pages_.find(id / kPageIds);
    if (id < 0 || page == pages_.end()) return std::nullopt;
    const Entry& entry = (*page->second.entries)[static_cast<size_t>(id % kPageIds)];
    return entry.track < 0 ? std::nullopt : std::optional(entry);
  }

  /// `id` must be alive.
  void remove(int64_t id) {
    const auto page = pages_.find(id / kPageIds);
    (*page->second.entries)[static_cast<size_t>(id % kPageIds)].track = -1;
    if (--page->second.alive == 0) pages_.erase(page);
  }

 private:
  static constexpr int64_t kPageIds = 256;
  using Entries = std::array<Entry, kPageIds>;
  struct Page {
    std::unique_ptr<Entries> entries;
    int32_t alive = 0;
  };
  std::unordered_map<int64_t, Page> pages_;
};

}  // namespace moeblaze::store
