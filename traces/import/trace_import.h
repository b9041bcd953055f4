#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "core/trace/trace.h"

namespace moeblaze {

/// Fills a Trace from a foreign file: keeps its texts valid, its sums within int64 and count of what is lost.
class TraceImport {
 public:
  /// `source` stands for the file in errors.
  explicit TraceImport(std::string source) : source_(std::move(source)) {}

  Trace& trace() { return trace_; }
  const std::string& source() const { return source_; }

  /// Adds `count` to the loss `what`.
  void lose(std::string_view what, int64_t count = 1);
  /// `text`, with '?' for every byte that is not UTF-8, which is counted as a loss.
  StringId text(std::string_view text);
  /// The index of the allocation; throws InputError when the track's bytes would leave int64.
  size_t add(const Allocation& allocation);
  /// "file:function:line" of the innermost frame outside PyTorch itself, the file without folders; the innermost frame
  /// when all are inside, empty without frames.
  StringId nameOf(StackId stack);

 private:
  std::string source_;
  Trace trace_;
  int64_t totalBytes_ = 0;
  std::unordered_map<uint32_t, StringId> names_;  ///< by stack
};

}  // namespace moeblaze
