#pragma once

#include <cstdint>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/trace/trace.h"

namespace moeblaze::gui {

/// Bytes by call stack: the outermost function at the root, each function's callees beneath it, largest first. Keeps
/// its texts, not the trace.
class FlameTree {
 public:
  struct Node {
    std::string function, place;  ///< place: "file.py:12", without folders
    std::string file;             ///< with folders
    int64_t bytes = 0;            ///< with everything beneath
    int64_t count = 0;            ///< allocations
    int64_t offset = 0;           ///< bytes of what lies to the left
    uint32_t parent = 0;          ///< the root's is itself
    uint16_t depth = 0;
    std::vector<uint32_t> children;
  };

  /// Of these allocations (indices into Trace::allocations). Those without a stack are counted apart. Throws
  /// Interrupted when stopped.
  FlameTree(const Trace& trace, std::span<const size_t> allocations, const std::stop_token& stop = {});

  /// The first is the root of everything.
  const std::vector<Node>& nodes() const { return nodes_; }
  /// Rows below and including the root's.
  int depth() const { return depth_; }
  /// Bytes of allocations without a stack; no part of the tree.
  int64_t stacklessBytes() const { return stacklessBytes_; }
  bool empty() const { return nodes_.front().children.empty(); }
  /// The node of a row that holds this byte; where none does, the last one above.
  uint32_t at(int row, int64_t byte) const;
  /// By node, whether its function or file holds `text`, whatever the case; and the bytes of those, each once.
  std::pair<std::vector<bool>, int64_t> search(std::string_view text) const;

 private:
  void addStack(const Trace& trace, StackId stack, int64_t bytes, int64_t count);
  void arrange();

  std::vector<Node> nodes_;
  int depth_ = 1;
  int64_t stacklessBytes_ = 0;
};

}  // namespace moeblaze::gui
