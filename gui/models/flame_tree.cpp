#include "gui/models/flame_tree.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <ranges>

#include "core/base/interrupt.h"
#include "gui/timeline/index/categories.h"

namespace moeblaze::gui {
namespace {

constexpr size_t kMaxDepth = 512;

char lower(char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); }

bool holds(std::string_view text, std::string_view part) {
  return !std::ranges::search(text, part, {}, lower, lower).empty();
}

}  // namespace

FlameTree::FlameTree(const Trace& trace, std::span<const size_t> allocations, const std::stop_token& stop) {
  nodes_.push_back({.function = "all", .place = {}, .file = {}, .children = {}});
  std::vector<std::pair<int64_t, int64_t>> byStack(trace.stacks.size());
  for (size_t id : allocations) {
    const Allocation& allocation = trace.allocations[id];
    auto& [bytes, count] = byStack[index(allocation.stack)];
    bytes += allocation.bytes;
    ++count;
  }
  stacklessBytes_ = byStack[0].first;
  for (size_t stack = 1; stack < byStack.size(); ++stack) {
    if (stop.stop_requested()) throw Interrupted();
    const auto [bytes, count] = byStack[stack];
    if (count > 0) addStack(trace, static_cast<StackId>(stack), bytes, count);
  }
  arrange();
}

void FlameTree::addStack(const Trace& trace, StackId stack, int64_t bytes, int64_t count) {
  const std::span<const Frame> frames = trace.stacks[stack].first(std::min(trace.stacks[stack].size(), kMaxDepth));
  uint32_t node = 0;
  nodes_[0].bytes += bytes;
  nodes_[0].count += count;
  for (const Frame& frame : frames | std::views::reverse) {
    const std::string& function = trace.strings[frame.function];
    const std::string& file = trace.strings[frame.file];
    const auto found = std::ranges::find_if(nodes_[node].children, [&](uint32_t child) {
      return nodes_[child].function == function && nodes_[child].file == file;
    });
    if (found != nodes_[node].children.end()) {
      node = *found;
    } else {
      const auto made = static_cast<uint32_t>(nodes_.size());
      const std::string name(fileName(trace, frame));
      nodes_.push_back({.function = function,
                        .place = frame.line > 0 ? fmt::format("{}:{}", name, frame.line) : name,
                        .file = file,
                        .parent = node,
                        .depth = static_cast<uint16_t>(nodes_[node].depth + 1),
                        .children = {}});
      nodes_[node].children.push_back(made);
      node = made;
    }
    nodes_[node].bytes += bytes;
    nodes_[node].count += count;
    depth_ = std::max(depth_, nodes_[node].depth + 1);
  }
}

void FlameTree::arrange() {
  // A parent stands before its children in the list, so its offset is already known.
  for (Node& node : nodes_) {
    std::ranges::stable_sort(node.children, std::greater{}, [&](uint32_t child) { return nodes_[child].bytes; });
    int64_t offset = node.offset;
    for (uint32_t child : node.children) {
      nodes_[child].offset = offset;
      offset += nodes_[child].bytes;
    }
  }
}

uint32_t FlameTree::at(int row, int64_t byte) const {
  uint32_t node = 0;
  while (nodes_[node].depth < row) {
    const auto& children = nodes_[node].children;
    const auto found = std::ranges::find_if(children, [&](uint32_t child) {
      return nodes_[child].offset <= byte && byte < nodes_[child].offset + nodes_[child].bytes;
    });
    if (found == children.end()) return node;
    node = *found;
  }
  return node;
}

std::pair<std::vector<bool>, int64_t> FlameTree::search(std::string_view text) const {
  std::vector<bool> found(nodes_.size()), within(nodes_.size());
  int64_t bytes = 0;
  for (size_t i = 1; i < nodes_.size() && !text.empty(); ++i) {
    const Node& node = nodes_[i];
    found[i] = holds(node.function, text) || holds(node.file, text);
    within[i] = within[node.parent] || found[i];
    if (found[i] && !within[node.parent]) bytes += node.bytes;
  }
  return {found, bytes};
}

}  // namespace moeblaze::gui
