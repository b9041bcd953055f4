#include <bit>
#include <utility>

#include "traces/formats/pickle.h"
#include "traces/formats/pickle_opcodes.h"

namespace moeblaze {
namespace {

void put(std::string& out, PickleOp op) { out += static_cast<char>(op); }

}  // namespace

PickleWriter::PickleWriter() {
  put(out_, PickleOp::proto);
  bytes(2, 1);
}

void PickleWriter::bytes(uint64_t value, size_t count) {
  for (size_t i = 0; i < count; ++i) out_ += static_cast<char>(value >> 8 * i & 0xff);
}

void PickleWriter::beginDict() {
  put(out_, PickleOp::emptyDict);
  put(out_, PickleOp::mark);
}

void PickleWriter::endDict() { put(out_, PickleOp::setItems); }

void PickleWriter::beginList() {
  put(out_, PickleOp::emptyList);
  put(out_, PickleOp::mark);
}

void PickleWriter::endList() { put(out_, PickleOp::appends); }

void PickleWriter::pair() { put(out_, PickleOp::tuple2); }

void PickleWriter::none() { put(out_, PickleOp::none); }

void PickleWriter::boolean(bool value) { put(out_, value ? PickleOp::newTrue : PickleOp::newFalse); }

void PickleWriter::integer(int64_t value) {
  if (std::in_range<int32_t>(value)) {
    put(out_, PickleOp::binInt);
    bytes(static_cast<uint64_t>(value), 4);
  } else {
    longInteger(static_cast<uint64_t>(value), value < 0);
  }
}

void PickleWriter::integer(uint64_t value) {
  if (std::in_range<int64_t>(value)) return integer(static_cast<int64_t>(value));
  longInteger(value, false);
}

void PickleWriter::longInteger(uint64_t low, bool negative) {
  // Two's complement needs one bit for the sign above the highest bit that differs from it.
  const size_t bits = static_cast<size_t>(std::bit_width(negative ? ~low : low)) + 1;
  const size_t count = (bits + 7) / 8;
  put(out_, PickleOp::long1);
  bytes(count, 1);
  bytes(low, count < 8 ? count : 8);
  if (count > 8) bytes(0, 1);
}

void PickleWriter::real(double value) {
  put(out_, PickleOp::binFloat);
  const auto bits = std::bit_cast<uint64_t>(value);
  for (size_t i = 8; i-- > 0;) bytes(bits >> 8 * i, 1);
}

void PickleWriter::text(std::string_view value) {
  const auto [entry, isNew] = texts_.try_emplace(std::string(value), Memo{});
  if (!isNew) return reference(entry->second);
  put(out_, PickleOp::binUnicode);
  bytes(value.size(), 4);
  out_ += value;
  entry->second = remember();
}

PickleWriter::Memo PickleWriter::remember() {
  if (memos_ < 256) {
    put(out_, PickleOp::binPut);
    bytes(memos_, 1);
  } else {
    put(out_, PickleOp::longBinPut);
    bytes(memos_, 4);
  }
  return Memo{memos_++};
}

void PickleWriter::reference(Memo memo) {
  const auto slot = static_cast<uint32_t>(memo);
  put(out_, slot < 256 ? PickleOp::binGet : PickleOp::longBinGet);
  bytes(slot, slot < 256 ? 1 : 4);
}

std::string PickleWriter::finish() {
  put(out_, PickleOp::stop);
  return std::move(out_);
}

}  // namespace moeblaze
