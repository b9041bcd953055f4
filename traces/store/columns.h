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

/// The bytes of a trace file's chunks. FORMAT.md describes them for other programs.
namespace moeblaze {

/// Most rows in a chunk: keeps what must be unpacked at once, and what a killed writer loses, small.
inline constexpr size_t kMaxChunkRows = 1 << 16;

/// An allocation that happened, without its track and its end.
struct AllocationRow {
  int64_t id = 0;  ///< index into Trace::allocations
  Allocation allocation;
};

/// The end of an allocation; its bytes again, so that a chunk alone gives its part of the memory curve.
struct FreeRow {
  int64_t id = 0;
  int64_t bytes = 0;
  int64_t freeNs = kNever;  ///< kNever: let go of, but not known to be reusable
  int64_t freeRequestedNs = kNever;
};

/// A span without its track.
struct SpanRow {
  int64_t id = 0;  ///< index into Trace::spans
  Span span;
};

using PointRow = std::pair<int64_t, double>;

/// What a track's memory did while a chunk was filled.
struct MemoryRows {
  std::vector<AllocationRow> allocations;
  std::vector<FreeRow> frees;
  size_t size() const { return allocations.size() + frees.size(); }
};

/// Bytes of a row of each kind before compression.
inline constexpr size_t kAllocationRowBytes = 62, kFreeRowBytes = 32, kSpanRowBytes = 32, kPointRowBytes = 16;

/// Rows to bytes: column after column, each as planes of its bytes, low ones first. `out` is overwritten.
void encode(const MemoryRows& rows, std::string& out);
void encode(std::span<const SpanRow> rows, std::string& out);
void encode(std::span<const PointRow> rows, std::string& out);

/// The reverse, into as many rows as `rows` has. Throws InputError naming `source` when the sizes do not match or a
/// value cannot be; ids, times and sizes are for the caller to check.
void decode(const std::string& source, std::string_view bytes, MemoryRows& rows);
void decode(const std::string& source, std::string_view bytes, std::vector<SpanRow>& rows);
/// Only times and bytes: all that a memory curve needs.
void decodeCurve(const std::string& source, std::string_view bytes, MemoryRows& rows);
void decode(const std::string& source, std::string_view bytes, std::vector<PointRow>& rows);

/// CRC-32 (IEEE 802.3) of `bytes`, continuing `sum`.
uint32_t crc32(std::string_view bytes, uint32_t sum = 0);

/// zstd with its working memory kept. What is returned lasts until the next call.
class Zstd {
 public:
  std::string_view pack(std::string_view bytes);
  /// Exactly `size` bytes; anything else is refused, naming `source`.
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
