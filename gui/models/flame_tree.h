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

/// Bytes by call stack, as a tree: the outermost function is at the top, and the functions it calls are below it,
/// largest first. The tree keeps its own texts and does not need the trace.
class FlameTree {
 public:
  struct Node {
    std::string function, place;  ///< place: "file.py:12", without folders
    std::string file;             ///< the full path
    int64_t bytes = 0;            ///< including all nodes below
    int64_t count = 0;            ///< number of allocations, including all nodes below
    int64_t offset = 0;           ///< bytes of the nodes to the left of it
    uint32_t parent = 0;          ///< the root is its own parent
    uint16_t depth = 0;
    std::vector<uint32_t> children;
  };

  /// Builds the tree of some allocations, given as indices into Trace::allocations. Those without a stack are not in
  /// the tree, see stacklessBytes(). Throws Interrupted when stopped.
  FlameTree(const Trace& trace, std::span<const size_t> allocations, const std::stop_token& stop = {});

  /// All nodes; the first one is the root.
  const std::vector<Node>& nodes() const { return nodes_; }
  /// The number of rows, including that of the root.
  int depth() const { return depth_; }
  /// Bytes of the allocations without a stack, which are not in the tree.
  int64_t stacklessBytes() const { return stacklessBytes_; }
  /// True if no allocation has a stack.
  bool empty() const { return nodes_.front().children.empty(); }
  /// The node that covers `byte` in a row, or the lowest node above that row which does.
  uint32_t at(int row, int64_t byte) const;
  /// Says for each node whether its function or file contains `text`, ignoring case, and sums the bytes of the nodes
  /// found, counting nested ones once.
  std::pair<std::vector<bool>, int64_t> search(std::string_view text) const;

 private:
  void addStack(const Trace& trace, StackId stack, int64_t bytes, int64_t count);
  void arrange();

  std::vector<Node> nodes_;
  int depth_ = 1;
  int64_t stacklessBytes_ = 0;
};

}  // namespace moeblaze::gui
