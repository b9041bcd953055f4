#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/trace/trace.h"
#include "traces/formats/read_progress.h"
#include "traces/store/file/store_reader.h"

namespace moeblaze::store {

/// Fills a Trace from a trace file. Each call reads what was added to the file since the call before.
class TraceLoader {
 public:
  explicit TraceLoader(std::string path) : path_(std::move(path)) {}

  /// Reads what the file holds beyond what was read before. Throws InputError where the file is damaged, and where it
  /// is not the file that was read before; the loader cannot be used any more then.
  void advance(const ReadProgress& progress);
  const Trace& trace() const { return trace_; }
  Trace take() { return std::move(trace_); }
  /// Whether the recording was finished.
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
  IdCounts counts_;
  size_t chunks_ = 0;     ///< chunks read so far
  uint32_t lastCrc_ = 0;  ///< of the last chunk read
  bool finished_ = false;
  std::vector<bool> isFreed_;
  std::vector<int64_t> totalBytes_;  ///< by track
  // Rows of the chunk being read; kept to reuse their memory.
  MemoryRows memory_;
  std::vector<SpanRow> spans_;
  std::vector<PointRow> points_;
};

}  // namespace moeblaze::store
