#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/trace/trace.h"
#include "core/trace/trace_limits.h"
#include "traces/store/file/store_file.h"
#include "traces/store/row_ids.h"

namespace moeblaze::store {

/// Writes the small tables of a trace file: everything that rows of columns refer to by id. Throws InputError for what
/// a trace cannot hold.
class TraceTables {
 public:
  /// Errors call the file `path`. Both must outlive the tables.
  TraceTables(StoreFile& file, const std::string& path);

  void addMeta(std::string_view key, std::string_view value);
  void add(const Device& device);
  TrackId add(const Track& track);
  /// Adds the counter itself; its points are rows.
  CounterId add(const Counter& counter);
  /// Texts and stacks are kept once: an equal one has the same id.
  StringId add(std::string_view text);
  StackId add(std::span<const Frame> frames);
  void add(const Loss& loss);

  IdCounts counts() const { return {tracks_, strings_.size(), stacks_.size()}; }
  size_t counters() const { return counters_; }

 private:
  void checkText(std::string_view text) const;
  void insertNewStack(std::span<const Frame> frames);

  StoreFile& file_;
  const std::string& path_;
  Strings strings_;
  Stacks stacks_;
  std::unordered_map<std::string, uint32_t> frameIds_;  ///< by "function:file:line"
  std::vector<Loss> losses_;
  size_t devices_ = 0, tracks_ = 0, counters_ = 0;
};

}  // namespace moeblaze::store
