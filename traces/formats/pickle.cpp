#include "traces/formats/pickle.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <vector>

#include "core/base/error.h"
#include "traces/formats/pickle_opcodes.h"

namespace moeblaze {
namespace {

constexpr size_t kMaxMarks = 256;

uint64_t littleEndian(std::string_view bytes) {
  uint64_t value = 0;
  for (size_t i = bytes.size(); i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

/// Runs the opcodes of a pickle over a stack of ids. An opcode costs at most the bytes it reads or the items it moves,
/// so time and memory stay within a small multiple of the file's size.
class PickleParser {
 public:
  PickleParser(std::string_view bytes, std::string_view source, const ReadProgress& progress)
      : bytes_(bytes), progress_(progress), tree_(std::string(source)) {}

  ValueTree parse() {
    if (bytes_.size() > ValueTree::kMaxFileBytes)
      fail("has {} bytes; allowed: up to {}", bytes_.size(), ValueTree::kMaxFileBytes);
    if (bytes_.empty() || static_cast<uint8_t>(bytes_[0]) != static_cast<uint8_t>(PickleOp::proto)) {
      fail("is not a pickle of protocol 2 to 5");
    }
    for (size_t opcodes = 0; !stopped_; ++opcodes) {
      if (isMilestone(opcodes)) progress_.at(position_, bytes_.size());
      opcodeAt_ = position_;
      const auto opcode = static_cast<uint8_t>(take(1)[0]);
      const auto op = static_cast<PickleOp>(opcode);
      if (!control(op) && !scalar(op) && !container(op) && !memo(op)) refuseOpcode(opcode);
    }
    if (position_ != bytes_.size()) fail("has {} bytes after the end of its pickle", bytes_.size() - position_);
    return std::move(tree_);
  }

 private:
  template <typename... Args>
  [[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) const {
    refuse(tree_.source(), "{}", fmt::format(format, std::forward<Args>(args)...));
  }

  [[noreturn]] void malformed(std::string_view why) const { fail("byte {}: pickle {}", opcodeAt_, why); }

  [[noreturn]] void refuseOpcode(uint8_t opcode) const {
    const std::string_view name = refusedOpcodeName(opcode);
    if (name.empty()) fail("byte {}: 0x{:02x} is no pickle opcode", opcodeAt_, opcode);
    fail("byte {}: pickle opcode {} is refused; allowed: plain data only", opcodeAt_, name);
  }

  std::string_view take(uint64_t count) {
    if (count > bytes_.size() - position_) {
      fail("byte {}: pickle is truncated: {} bytes announced, {} left", opcodeAt_, count, bytes_.size() - position_);
    }
    position_ += count;
    return bytes_.substr(position_ - count, count);
  }

  uint64_t number(size_t bytes) { return littleEndian(take(bytes)); }

  /// The stack below here belongs to outer marks; the current opcode may not touch it.
  size_t floor() const { return marks_.empty() ? 0 : marks_.back(); }

  void need(size_t count) const {
    if (stack_.size() - floor() < count) malformed("lacks a value on its stack");
  }

  ValueId popped() {
    need(1);
    const ValueId id = stack_.back();
    stack_.pop_back();
    return id;
  }

  /// Removes the last mark and returns the length that the stack had at it.
  size_t popMark() {
    if (marks_.empty()) malformed("lacks a mark");
    const size_t begin = marks_.back();
    marks_.pop_back();
    return begin;
  }

  bool control(PickleOp op) {
    switch (op) {
      case PickleOp::proto:
        if (const uint64_t version = number(1); version < 2 || version > 5) {
          fail("has pickle protocol {}; allowed: 2 to 5", version);
        }
        return true;
      case PickleOp::frame:
        if (const uint64_t length = number(8); length > bytes_.size() - position_) malformed("frame is truncated");
        return true;
      case PickleOp::stop:
        tree_.setRoot(popped());
        stopped_ = true;
        return true;
      case PickleOp::mark:
        if (marks_.size() == kMaxMarks) {
          fail("byte {}: is nested too deep; allowed: up to {} levels", opcodeAt_, kMaxMarks);
        }
        marks_.push_back(stack_.size());
        return true;
      case PickleOp::pop:
        if (!marks_.empty() && marks_.back() == stack_.size()) {
          marks_.pop_back();
        } else {
          popped();
        }
        return true;
      default:
        return false;
    }
  }

  bool scalar(PickleOp op) {
    switch (op) {
      case PickleOp::none:
        return push(ValueId::none);
      case PickleOp::newTrue:
        return push(ValueId::yes);
      case PickleOp::newFalse:
        return push(ValueId::no);
      case PickleOp::binInt:
        return push(tree_.addInteger(static_cast<int32_t>(static_cast<uint32_t>(number(4)))));
      case PickleOp::binInt1:
        return push(tree_.addInteger(static_cast<int64_t>(number(1))));
      case PickleOp::binInt2:
        return push(tree_.addInteger(static_cast<int64_t>(number(2))));
      case PickleOp::long1:
        return push(longInteger(take(number(1))));
      case PickleOp::binFloat: {
        std::string bigEndian(take(8));
        std::ranges::reverse(bigEndian);
        return push(tree_.addReal(std::bit_cast<double>(littleEndian(bigEndian))));
      }
      case PickleOp::shortBinUnicode:
      case PickleOp::shortBinBytes:
        return push(tree_.addText(take(number(1))));
      case PickleOp::binUnicode:
      case PickleOp::binBytes:
        return push(tree_.addText(take(number(4))));
      case PickleOp::binUnicode8:
      case PickleOp::binBytes8:
        return push(tree_.addText(take(number(8))));
      default:
        return false;
    }
  }

  /// Reads an integer in two's complement of any length. One that 64 bits cannot hold becomes the nearest that they
  /// can.
  ValueId longInteger(std::string_view bytes) {
    if (bytes.empty()) return tree_.addInteger(0);
    const bool negative = static_cast<unsigned char>(bytes.back()) >> 7;
    const char fill = negative ? '\xff' : '\0';
    while (!bytes.empty() && bytes.back() == fill) bytes.remove_suffix(1);
    const uint64_t low = littleEndian(bytes.substr(0, 8));
    if (!negative) {
      if (bytes.size() <= 8) return tree_.addUnsigned(low);
      tree_.countClamped();
      return tree_.addUnsigned(std::numeric_limits<uint64_t>::max());
    }
    const uint64_t extended = bytes.size() >= 8 ? low : low | ~uint64_t{0} << 8 * bytes.size();
    if (bytes.size() <= 8 && extended >> 63) return tree_.addInteger(static_cast<int64_t>(extended));
    tree_.countClamped();
    return tree_.addInteger(std::numeric_limits<int64_t>::min());
  }

  bool container(PickleOp op) {
    switch (op) {
      case PickleOp::emptyTuple:
        return push(tree_.addContainer(ValueKind::tuple));
      case PickleOp::emptyList:
        return push(tree_.addContainer(ValueKind::list));
      case PickleOp::emptyDict:
        return push(tree_.addContainer(ValueKind::dict));
      case PickleOp::tuple1:
        return collect(ValueKind::tuple, lastItems(1));
      case PickleOp::tuple2:
        return collect(ValueKind::tuple, lastItems(2));
      case PickleOp::tuple3:
        return collect(ValueKind::tuple, lastItems(3));
      case PickleOp::tuple:
        return collect(ValueKind::tuple, popMark());
      case PickleOp::list:
        return collect(ValueKind::list, popMark());
      case PickleOp::dict:
        return collect(ValueKind::dict, popMark());
      case PickleOp::append:
        return extend(ValueKind::list, lastItems(1));
      case PickleOp::appends:
        return extend(ValueKind::list, popMark());
      case PickleOp::setItem:
        return extend(ValueKind::dict, lastItems(2));
      case PickleOp::setItems:
        return extend(ValueKind::dict, popMark());
      default:
        return false;
    }
  }

  size_t lastItems(size_t count) const {
    need(count);
    return stack_.size() - count;
  }

  /// Moves the items from `begin` into `target`.
  void fill(ValueId target, ValueKind kind, size_t begin) {
    const std::span<const ValueId> items = std::span(stack_).subspan(begin);
    if (kind == ValueKind::dict && items.size() % 2 != 0) malformed("dict lacks a value");
    tree_.append(target, items);
    stack_.resize(begin);
  }

  bool collect(ValueKind kind, size_t begin) {
    const ValueId made = tree_.addContainer(kind);
    fill(made, kind, begin);
    return push(made);
  }

  bool extend(ValueKind kind, size_t begin) {
    if (begin <= floor()) malformed("lacks a value on its stack");
    const ValueId target = stack_[begin - 1];
    if (tree_.kind(target) != kind) {
      fail("byte {}: pickle adds items to a {}; allowed: a {}", opcodeAt_, name(tree_.kind(target)), name(kind));
    }
    fill(target, kind, begin);
    return true;
  }

  bool memo(PickleOp op) {
    switch (op) {
      case PickleOp::binPut:
        return store(number(1));
      case PickleOp::longBinPut:
        return store(number(4));
      case PickleOp::memoize:
        return store(memos_);
      case PickleOp::binGet:
        return push(fetch(number(1)));
      case PickleOp::longBinGet:
        return push(fetch(number(4)));
      default:
        return false;
    }
  }

  static constexpr ValueId kNoMemo{std::numeric_limits<uint32_t>::max()};

  bool store(uint64_t slot) {
    need(1);
    // Picklers count slots from zero, so a slot beyond the file's size is nonsense. Allowing it would only cost memory.
    const size_t slots = std::max<size_t>(bytes_.size(), 256);
    if (slot >= slots) fail("byte {}: memo slot {} is out of range; allowed: below {}", opcodeAt_, slot, slots);
    if (slot >= memo_.size()) memo_.resize(std::max<size_t>(slot + 1, std::min(2 * memo_.size(), slots)), kNoMemo);
    if (memo_[slot] == kNoMemo) ++memos_;
    memo_[slot] = stack_.back();
    return true;
  }

  ValueId fetch(uint64_t slot) const {
    if (slot >= memo_.size() || memo_[slot] == kNoMemo) fail("byte {}: memo slot {} is empty", opcodeAt_, slot);
    return memo_[slot];
  }

  bool push(ValueId id) {
    stack_.push_back(id);
    return true;
  }

  std::string_view bytes_;
  const ReadProgress& progress_;
  ValueTree tree_;
  size_t position_ = 0;
  size_t opcodeAt_ = 0;  ///< where the current opcode begins
  bool stopped_ = false;
  std::vector<ValueId> stack_;
  std::vector<size_t> marks_;  ///< lengths that the stack had when each mark was set
  std::vector<ValueId> memo_;
  size_t memos_ = 0;  ///< how many slots of memo_ are filled
};

}  // namespace

ValueTree readPickle(std::string_view bytes, std::string_view source, const ReadProgress& progress) {
  return PickleParser(bytes, source, progress).parse();
}

}  // namespace moeblaze
