#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/trace/trace.h"
#include "traces/formats/read_progress.h"
#include "traces/store/store_index.h"

namespace moeblaze::store {

/// Fills a Trace from a file, all of it or what was added since the last time.
class TraceLoader {
 public:
  explicit TraceLoader(std::string path) : path_(std::move(path)) {}

  /// Reads what the file holds beyond what was read before. Afterwards the trace is whole again; when this throws, the
  /// loader is spent. Throws InputError also where the file is not the one that was read before.
  void advance(const ReadProgress& progress);
  const Trace& trace() const { return trace_; }
  Trace take() { return std::move(trace_); }
  /// Whether the recording came to its end.
  bool finished() const { return finished_; }

 private:
  void readNames(StoreReader& reader);
  void readStacks(StoreReader& reader);
  void readCounters(StoreReader& reader);
  void checkContinues(const std::vector<ChunkInfo>& index) const;
  void reserve(const std::vector<ChunkInfo>& index);
  void readChunk(StoreReader& reader, size_t chunk, const ChunkInfo& info);
  void readMemory(const std::string& source, const ChunkInfo& info);
  void endAllocation(const std::string& source, const FreeRow& row, int64_t track);
  void readSpans(const std::string& source, const ChunkInfo& info, std::string_view columns);
  void readPoints(const std::string& source, const ChunkInfo& info, std::string_view columns);
  StringId stringId(const char* what, int64_t id) const {
    checkId(path_, what, id, trace_.strings.size());
    return static_cast<StringId>(id);
  }

  std::string path_;
  Trace trace_;
  Counts counts_;
  size_t chunks_ = 0;  ///< read so far
  uint32_t lastCrc_ = 0;
  bool finished_ = false;
  std::vector<bool> isFreed_;
  std::vector<int64_t> totalBytes_;  ///< by track
  MemoryRows memory_;
  std::vector<SpanRow> spans_;
  std::vector<PointRow> points_;
};

}  // namespace moeblaze::store
