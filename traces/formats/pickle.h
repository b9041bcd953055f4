#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "traces/formats/read_progress.h"
#include "traces/formats/value_tree.h"

namespace moeblaze {

/// Reads the data of a Python pickle of protocol 2 to 5. Only opcodes that build plain data are known, so nothing is
/// ever imported or called. Throws InputError for any other opcode, with its name and position, and for a pickle that
/// is malformed or beyond a limit of ValueTree. `source` stands for the file in errors.
ValueTree readPickle(std::string_view bytes, std::string_view source, const ReadProgress& progress = {});

/// Writes one pickle of protocol 2, with the opcodes that PyTorch itself uses. Values are given in order; a dict takes
/// its keys and values in turn.
class PickleWriter {
 public:
  /// A value that was remembered, so that reference() can stand for it later.
  enum class Memo : uint32_t {};

  PickleWriter();

  void beginDict();
  void endDict();
  void beginList();
  void endList();
  /// Makes a tuple of the two values written last.
  void pair();
  void none();
  void boolean(bool value);
  void integer(int64_t value);
  void integer(uint64_t value);
  void real(double value);
  /// Writes a text, or a reference to it when it was written before.
  void text(std::string_view value);
  /// Remembers the value written last.
  Memo remember();
  void reference(Memo memo);
  /// Returns the whole pickle. The writer cannot be used any more.
  std::string finish();

 private:
  void bytes(uint64_t value, size_t count);
  void longInteger(uint64_t low, bool negative);

  std::string out_;
  std::unordered_map<std::string, Memo> texts_;
  uint32_t memos_ = 0;
};

}  // namespace moeblaze
