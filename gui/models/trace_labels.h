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

/// The texts of a trace's roles, names, Steps and stacks by their keys, see keyOf(). Millions of allocations can be
/// sorted and searched by comparing numbers. Immutable; what is made on first use can be used from any thread.
class TraceLabels {
 public:
  explicit TraceLabels(std::shared_ptr<const Trace> trace);

  const Trace& trace() const { return *trace_; }
  /// The number of keys of an attribute; keys go from 0 up.
  size_t keys(Attribute attribute) const { return labels_[static_cast<size_t>(attribute)].size(); }
  /// The text of a key.
  const std::string& label(Attribute attribute, size_t key) const {
    return labels_[static_cast<size_t>(attribute)][key];
  }
  const std::string& label(Attribute attribute, const Allocation& allocation) const {
    return label(attribute, keyOf(allocation, attribute));
  }
  /// The place of each key in the alphabetical order of the labels; Steps are in the order of their ids.
  const std::vector<uint32_t>& ranks(Attribute attribute) const;
  /// Says for each key whether its label contains `text`, ignoring case. A stack matches also if one of its frames
  /// does.
  std::vector<bool> matches(Attribute attribute, std::string_view text) const;
  /// One line for each frame, innermost first; empty without a stack.
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
