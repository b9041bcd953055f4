#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/trace/trace.h"

namespace moeblaze {

/// Fills a Trace from a foreign file. It keeps texts valid UTF-8 and the bytes of a track within kMaxTrackBytes, and
/// counts what is lost.
class TraceImport {
 public:
  /// `source` stands for the file in errors.
  explicit TraceImport(std::string source) : source_(std::move(source)) {}

  Trace& trace() { return trace_; }
  const std::string& source() const { return source_; }

  /// Adds `count` to the loss `what`.
  void lose(std::string_view what, int64_t count = 1);
  /// Adds `text` to the trace's strings. Bytes that are not UTF-8 become '?', and the text is then counted as a loss.
  StringId text(std::string_view text);
  /// Adds an allocation and returns its index. Throws InputError when its track would hold too many bytes.
  size_t add(const Allocation& allocation);
  /// Names an allocation by its stack: "file:function:line" of the innermost frame outside PyTorch itself, the file
  /// without its folders. When all frames are inside PyTorch, the innermost one is taken. Empty without frames.
  StringId nameOf(StackId stack);

 private:
  std::string source_;
  Trace trace_;
  std::vector<int64_t> trackBytes_;               ///< of all allocations, by track
  std::unordered_map<uint32_t, StringId> names_;  ///< by stack
};

}  // namespace moeblaze
