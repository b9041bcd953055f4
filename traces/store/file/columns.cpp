#include "traces/store/file/columns.h"

#include <zstd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cstring>
#include <new>
#include <type_traits>

#include "core/base/error.h"

namespace moeblaze {
namespace {

/// How a column's values are stored. Differences to the row before compress well where values mostly count up.
enum class Code : uint8_t { plain, difference };

template <typename Value>
uint64_t toBits(Value value) {
  if constexpr (std::is_same_v<Value, double>)
    return std::bit_cast<uint64_t>(value);
  else
    return static_cast<uint64_t>(value);
}

template <typename Value>
Value fromBits(uint64_t bits) {
  if constexpr (std::is_same_v<Value, double>)
    return std::bit_cast<double>(bits);
  else
    return static_cast<Value>(bits);
}

// Zigzag coding: small differences of either sign become small numbers, whose upper byte planes are zero.
uint64_t zigzag(uint64_t difference) { return (difference << 1) ^ (0 - (difference >> 63)); }
uint64_t unzigzag(uint64_t coded) { return (coded >> 1) ^ (0 - (coded & 1)); }

class Encoder {
 public:
  explicit Encoder(std::string& out) : out_(out) { out_.clear(); }

  template <Code kCode = Code::plain, typename Rows, typename Get>
  void column(const Rows& rows, Get get) {
    using Value = std::remove_cvref_t<decltype(get(rows[0]))>;
    static_assert(kCode == Code::plain || sizeof(Value) == 8);
    values_.resize(rows.size());
    uint64_t before = 0, any = 0;
    for (size_t i = 0; i < rows.size(); ++i) {
      uint64_t bits = toBits(get(rows[i]));
      if constexpr (kCode == Code::difference) bits = zigzag(bits - std::exchange(before, bits));
      values_[i] = bits;
      any |= bits;
    }
    putPlanes(sizeof(Value), any);
  }

 private:
  void putPlanes(size_t width, uint64_t any) {
    const size_t rows = values_.size(), at = out_.size();
    out_.resize(at + rows * width);
    for (size_t plane = 0; plane < width; ++plane) {
      if ((any >> (8 * plane) & 0xff) == 0) continue;  // resize() has already filled the plane with zeros
      char* to = out_.data() + at + plane * rows;
      for (size_t i = 0; i < rows; ++i) to[i] = static_cast<char>(values_[i] >> (8 * plane));
    }
  }

  std::string& out_;
  std::vector<uint64_t> values_;
};

class Decoder {
 public:
  Decoder(const std::string& source, std::string_view bytes) : source_(source), bytes_(bytes) {}

  template <Code kCode = Code::plain, typename Rows, typename Get>
  void column(Rows& rows, Get get) {
    using Value = std::remove_cvref_t<decltype(get(rows[0]))>;
    takePlanes(rows.size(), sizeof(Value));
    uint64_t before = 0;
    for (size_t i = 0; i < rows.size(); ++i) {
      uint64_t bits = values_[i];
      if constexpr (kCode == Code::difference) bits = before += unzigzag(bits);
      if constexpr (std::is_same_v<Value, bool>)
        if (bits > 1) refuse(source_, "row {}: a flag is {}, must be 0 or 1", i, bits);
      get(rows[i]) = fromBits<Value>(bits);
    }
  }

  /// Skips columns of `rowBytes` bytes a row in all.
  void skip(size_t rows, size_t rowBytes) { bytes_.remove_prefix(rows * rowBytes); }

 private:
  void takePlanes(size_t rows, size_t width) {
    values_.assign(rows, 0);
    for (size_t plane = 0; plane < width; ++plane, bytes_.remove_prefix(rows)) {
      const char* from = bytes_.data();
      if (rows == 0 || (from[0] == 0 && std::memcmp(from, from + 1, rows - 1) == 0))
        continue;  // the whole plane is zero
      for (size_t i = 0; i < rows; ++i)
        values_[i] |= static_cast<uint64_t>(static_cast<unsigned char>(from[i])) << (8 * plane);
    }
  }

  const std::string& source_;
  std::string_view bytes_;
  std::vector<uint64_t> values_;
};

// Each layout is written once and serves the encoder and the decoder.

template <typename Coder, typename Rows>
void layOutAllocations(Coder& coder, Rows& rows) {
  coder.template column<Code::difference>(
      rows, [](auto& row) -> auto& { return row.id; });
  coder.template column<Code::difference>(
      rows, [](auto& row) -> auto& { return row.allocation.allocNs; });
  coder.column(
      rows, [](auto& row) -> auto& { return row.allocation.bytes; });
  coder.column(
      rows, [](auto& row) -> auto& { return row.allocation.requestedBytes; });
  coder.column(
      rows, [](auto& row) -> auto& { return row.allocation.address; });
  coder.column(
      rows, [](auto& row) -> auto& { return row.allocation.stream; });
  coder.column(
      rows, [](auto& row) -> auto& { return row.allocation.name; });
  coder.column(
      rows, [](auto& row) -> auto& { return row.allocation.stack; });
  coder.column(
      rows, [](auto& row) -> auto& { return row.allocation.step; });
  coder.column(
      rows, [](auto& row) -> auto& { return row.allocation.role; });
  coder.column(
      rows, [](auto& row) -> auto& { return row.allocation.older; });
}

template <typename Coder, typename Rows>
void layOutFrees(Coder& coder, Rows& rows) {
  coder.template column<Code::difference>(
      rows, [](auto& row) -> auto& { return row.id; });
  coder.template column<Code::difference>(
      rows, [](auto& row) -> auto& { return row.freeNs; });
  coder.template column<Code::difference>(
      rows, [](auto& row) -> auto& { return row.freeRequestedNs; });
  coder.column(
      rows, [](auto& row) -> auto& { return row.bytes; });
}

template <typename Coder, typename Rows>
void layOutSpans(Coder& coder, Rows& rows) {
  coder.template column<Code::difference>(
      rows, [](auto& row) -> auto& { return row.id; });
  coder.template column<Code::difference>(
      rows, [](auto& row) -> auto& { return row.span.startNs; });
  coder.column(
      rows, [](auto& row) -> auto& { return row.span.durationNs; });
  coder.column(
      rows, [](auto& row) -> auto& { return row.span.name; });
  coder.column(
      rows, [](auto& row) -> auto& { return row.span.step; });
}

template <typename Coder, typename Rows>
void layOutPoints(Coder& coder, Rows& rows) {
  coder.template column<Code::difference>(
      rows, [](auto& row) -> auto& { return row.first; });
  coder.column(
      rows, [](auto& row) -> auto& { return row.second; });
}

void expectSize(const std::string& source, std::string_view bytes, size_t wanted) {
  if (bytes.size() != wanted) refuse(source, "columns take {} bytes, must be {}", bytes.size(), wanted);
}

using CrcTables = std::array<std::array<uint32_t, 256>, 8>;

constexpr CrcTables makeCrcTables() {
  CrcTables tables{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t sum = i;
    for (int bit = 0; bit < 8; ++bit) sum = (sum >> 1) ^ ((sum & 1) ? 0xEDB88320u : 0u);
    tables[0][i] = sum;
  }
  for (size_t table = 1; table < 8; ++table)
    for (size_t i = 0; i < 256; ++i)
      tables[table][i] = (tables[table - 1][i] >> 8) ^ tables[0][tables[table - 1][i] & 0xff];
  return tables;
}

}  // namespace

void encode(const MemoryRows& rows, std::string& out) {
  Encoder encoder(out);
  layOutAllocations(encoder, rows.allocations);
  layOutFrees(encoder, rows.frees);
  assert(out.size() == rows.allocations.size() * kAllocationRowBytes + rows.frees.size() * kFreeRowBytes);
}

void encode(std::span<const SpanRow> rows, std::string& out) {
  Encoder encoder(out);
  layOutSpans(encoder, rows);
  assert(out.size() == rows.size() * kSpanRowBytes);
}

void encode(std::span<const PointRow> rows, std::string& out) {
  Encoder encoder(out);
  layOutPoints(encoder, rows);
  assert(out.size() == rows.size() * kPointRowBytes);
}

void decode(const std::string& source, std::string_view bytes, MemoryRows& rows) {
  expectSize(source, bytes, rows.allocations.size() * kAllocationRowBytes + rows.frees.size() * kFreeRowBytes);
  Decoder decoder(source, bytes);
  layOutAllocations(decoder, rows.allocations);
  layOutFrees(decoder, rows.frees);
}

void decodeCurve(const std::string& source, std::string_view bytes, MemoryRows& rows) {
  const size_t allocations = rows.allocations.size(), frees = rows.frees.size();
  expectSize(source, bytes, allocations * kAllocationRowBytes + frees * kFreeRowBytes);
  Decoder decoder(source, bytes);
  decoder.skip(allocations, 8);
  decoder.column<Code::difference>(
      rows.allocations, [](auto& row) -> auto& { return row.allocation.allocNs; });
  decoder.column(
      rows.allocations, [](auto& row) -> auto& { return row.allocation.bytes; });
  decoder.skip(allocations, kAllocationRowBytes - 24);
  decoder.skip(frees, 8);
  decoder.column<Code::difference>(
      rows.frees, [](auto& row) -> auto& { return row.freeNs; });
  decoder.skip(frees, 8);
  decoder.column(
      rows.frees, [](auto& row) -> auto& { return row.bytes; });
}

void decode(const std::string& source, std::string_view bytes, std::vector<SpanRow>& rows) {
  expectSize(source, bytes, rows.size() * kSpanRowBytes);
  Decoder decoder(source, bytes);
  layOutSpans(decoder, rows);
}

void decode(const std::string& source, std::string_view bytes, std::vector<PointRow>& rows) {
  expectSize(source, bytes, rows.size() * kPointRowBytes);
  Decoder decoder(source, bytes);
  layOutPoints(decoder, rows);
}

uint32_t crc32(std::string_view bytes, uint32_t sum) {
  static constexpr CrcTables kTables = makeCrcTables();  // eight tables, to take eight bytes in each turn
  sum = ~sum;
  for (; bytes.size() >= 8; bytes.remove_prefix(8)) {
    std::array<unsigned char, 8> part;
    std::memcpy(part.data(), bytes.data(), 8);
    for (size_t i = 0; i < 4; ++i) part[i] = static_cast<unsigned char>(part[i] ^ (sum >> (8 * i)));
    sum = 0;
    for (size_t i = 0; i < 8; ++i) sum ^= kTables[7 - i][part[i]];
  }
  for (char c : bytes) sum = (sum >> 8) ^ kTables[0][(sum ^ static_cast<unsigned char>(c)) & 0xff];
  return ~sum;
}

void Zstd::Free::operator()(ZSTD_CCtx_s* context) const { ZSTD_freeCCtx(context); }
void Zstd::Free::operator()(ZSTD_DCtx_s* context) const { ZSTD_freeDCtx(context); }

std::string_view Zstd::pack(std::string_view bytes) {
  constexpr int kLevel = 3;
  if (!packer_) packer_.reset(ZSTD_createCCtx());
  if (!packer_) throw std::bad_alloc();
  buffer_.resize(std::max(buffer_.size(), ZSTD_compressBound(bytes.size())));
  const size_t size =
      ZSTD_compressCCtx(packer_.get(), buffer_.data(), buffer_.size(), bytes.data(), bytes.size(), kLevel);
  if (ZSTD_isError(size)) throw std::bad_alloc();  // with enough room for the result, nothing else can fail
  return std::string_view(buffer_).substr(0, size);
}

std::string_view Zstd::unpack(const std::string& source, std::string_view packed, size_t size) {
  if (!unpacker_) unpacker_.reset(ZSTD_createDCtx());
  if (!unpacker_) throw std::bad_alloc();
  buffer_.resize(std::max(buffer_.size(), size));
  const size_t found = ZSTD_decompressDCtx(unpacker_.get(), buffer_.data(), size, packed.data(), packed.size());
  if (ZSTD_isError(found)) refuse(source, "cannot be decompressed: {}", ZSTD_getErrorName(found));
  if (found != size) refuse(source, "decompresses to {} bytes, must be {}", found, size);
  return std::string_view(buffer_).substr(0, size);
}

}  // namespace moeblaze
