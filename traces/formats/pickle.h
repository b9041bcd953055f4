#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "traces/formats/read_progress.h"
#include "traces/formats/value_tree.h"

namespace moeblaze {

inline constexpr size_t kMaxPickleBytes = size_t{2} << 30;

/// The data in a Python pickle of protocol 2 to 5. Only opcodes that build plain data are known, so nothing is ever
/// imported or called; any other throws InputError with its name and byte, as does whatever is malformed or beyond a
/// limit. `source` stands for the file in errors.
ValueTree readPickle(std::string_view bytes, std::string_view source, const ReadProgress& progress = {});

/// Writes one pickle of protocol 2, with the opcodes PyTorch itself uses. Values are given in order; a dict takes its
/// keys and values in turn.
class PickleWriter {
 public:
  /// A later reference() to this stands for the same value.
  enum class Memo : uint32_t {};

  PickleWriter();

  void beginDict();
  void endDict();
  void beginList();
  void endList();
  /// The pair of the two values written last.
  void pair();
  void none();
  void boolean(bool value);
  void integer(int64_t value);
  void integer(uint64_t value);
  void real(double value);
  /// Each text is written once, and referred to after.
  void text(std::string_view value);
  /// Keeps the value written last.
  Memo remember();
  void reference(Memo memo);
  /// The whole pickle; the writer is spent.
  std::string finish();

 private:
  void bytes(uint64_t value, size_t count);
  void longInteger(uint64_t low, bool negative);

  std::string out_;
  std::unordered_map<std::string, Memo> texts_;
  uint32_t memos_ = 0;
};

}  // namespace moeblaze
