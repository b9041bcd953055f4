#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "core/trace/trace.h"
#include "gui/timeline/index/categories.h"

namespace moeblaze::gui {

/// What a trace's roles, names, Steps and stacks are called, each as a number: sorting and searching millions of
/// allocations then compares numbers. Immutable; what it makes on first use is for any thread.
class TraceLabels {
 public:
  explicit TraceLabels(std::shared_ptr<const Trace> trace);

  const Trace& trace() const { return *trace_; }
  size_t keys(Attribute attribute) const { return labels_[static_cast<size_t>(attribute)].size(); }
  const std::string& label(Attribute attribute, size_t key) const {
    return labels_[static_cast<size_t>(attribute)][key];
  }
  const std::string& label(Attribute attribute, const Allocation& allocation) const {
    return label(attribute, keyOf(allocation, attribute));
  }
  /// Place of every key in alphabetical order.
  const std::vector<uint32_t>& ranks(Attribute attribute) const;
  /// By key, whether the label, or any frame of a stack, holds `text`; upper and lower case are one.
  std::vector<bool> matches(Attribute attribute, std::string_view text) const;
  /// A line a frame, innermost first; empty without a stack.
  std::string stackText(StackId stack) const;

 private:
  void addSteps();
  void addStacks();

  std::shared_ptr<const Trace> trace_;
  std::array<std::vector<std::string>, kAttributes.size()> labels_;
  mutable std::array<std::once_flag, kAttributes.size()> ranked_;
  mutable std::array<std::vector<uint32_t>, kAttributes.size()> ranks_;
};

}  // namespace moeblaze::gui
