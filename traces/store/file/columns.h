#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/trace/trace.h"

struct ZSTD_CCtx_s;
struct ZSTD_DCtx_s;

/// The bytes of a trace file's chunks, which FORMAT.md describes for other programs.
namespace moeblaze {

/// Most rows in a chunk. It bounds what a reader unpacks at once and what a killed writer loses.
inline constexpr int32_t kMaxChunkRows = 1 << 16;

/// The beginning of an allocation. Its track is the chunk's, and its end is a FreeRow.
struct AllocationRow {
  int64_t id = 0;  ///< index into Trace::allocations
  Allocation allocation;
};

/// The end of an allocation. It repeats the bytes, so that a chunk alone gives its part of the memory curve.
struct FreeRow {
  int64_t id = 0;  ///< that of the allocation
  int64_t bytes = 0;
  int64_t freeNs = kNever;  ///< kNever when the free was requested, but is not known to be complete
  int64_t freeRequestedNs = kNever;
};

/// A span; its track is the chunk's.
struct SpanRow {
  int64_t id = 0;  ///< index into Trace::spans
  Span span;
};

/// A point of a counter: its time in ns and its value.
using PointRow = std::pair<int64_t, double>;

/// The allocations and frees of one track in one chunk.
struct MemoryRows {
  std::vector<AllocationRow> allocations;
  std::vector<FreeRow> frees;
  size_t size() const { return allocations.size() + frees.size(); }
};

/// Bytes of one row of each kind before compression.
inline constexpr size_t kAllocationRowBytes = 62, kFreeRowBytes = 32, kSpanRowBytes = 32, kPointRowBytes = 16;

/// Writes rows as bytes: one column after the other, each as planes of its bytes with the lowest byte first. `out` is
/// overwritten.
void encode(const MemoryRows& rows, std::string& out);
void encode(std::span<const SpanRow> rows, std::string& out);
void encode(std::span<const PointRow> rows, std::string& out);

/// Reads the bytes back into the rows that `rows` has. Throws InputError naming `source` when the sizes do not match or
/// a flag is neither 0 nor 1. The caller must check ids, times and sizes.
void decode(const std::string& source, std::string_view bytes, MemoryRows& rows);
void decode(const std::string& source, std::string_view bytes, std::vector<SpanRow>& rows);
/// Reads only times and bytes, which are all that a memory curve needs.
void decodeCurve(const std::string& source, std::string_view bytes, MemoryRows& rows);
void decode(const std::string& source, std::string_view bytes, std::vector<PointRow>& rows);

/// CRC-32 (IEEE 802.3) of the bytes behind `sum` followed by `bytes`.
uint32_t crc32(std::string_view bytes, uint32_t sum = 0);

/// Compresses and decompresses with zstd, and keeps its working memory between calls. Results last until the next call.
class Zstd {
 public:
  std::string_view pack(std::string_view bytes);
  /// Throws InputError naming `source` unless `packed` decompresses to exactly `size` bytes.
  std::string_view unpack(const std::string& source, std::string_view packed, size_t size);

 private:
  struct Free {
    void operator()(ZSTD_CCtx_s* context) const;
    void operator()(ZSTD_DCtx_s* context) const;
  };
  std::unique_ptr<ZSTD_CCtx_s, Free> packer_;
  std::unique_ptr<ZSTD_DCtx_s, Free> unpacker_;
  std::string buffer_;
};

}  // namespace moeblaze
