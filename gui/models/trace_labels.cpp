#include "gui/models/trace_labels.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <numeric>

#include "gui/timeline/index/span_order.h"

namespace moeblaze::gui {
namespace {

char lower(char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); }

bool holds(std::string_view text, std::string_view lowered) {
  return std::ranges::search(text, lowered, {}, lower).begin() != text.end() || lowered.empty();
}

std::string frameText(const Trace& trace, const Frame& frame) {
  const std::string_view name = fileName(trace, frame);
  if (name.empty()) return trace.strings[frame.function];
  return frame.line > 0 ? fmt::format("{} ({}:{})", trace.strings[frame.function], name, frame.line)
                        : fmt::format("{} ({})", trace.strings[frame.function], name);
}

}  // namespace

TraceLabels::TraceLabels(std::shared_ptr<const Trace> trace) : trace_(std::move(trace)) {
  auto& roles = labels_[static_cast<size_t>(Attribute::role)];
  for (size_t role = 0; role <= static_cast<size_t>(Role::unknown); ++role)
    roles.emplace_back(moeblaze::name(static_cast<Role>(role)));
  auto& names = labels_[static_cast<size_t>(Attribute::name)];
  for (size_t id = 0; id < trace_->strings.size(); ++id) names.push_back(trace_->strings[static_cast<StringId>(id)]);
  names[0] = "(no name)";
  addSteps();
  addStacks();
}

void TraceLabels::addSteps() {
  auto& steps = labels_[static_cast<size_t>(Attribute::step)];
  steps.emplace_back("(no Step)");
  const auto labelOf = [&](StepId step) -> std::string& {
    const size_t key = index(step) + 1;
    if (key >= steps.size()) steps.resize(key + 1);
    return steps[key];
  };
  for (const Allocation& allocation : trace_->allocations)
    if (allocation.step != StepId::none) labelOf(allocation.step);
  const std::vector<StringId> names = stepNames(*trace_);
  for (size_t step = 0; step < names.size(); ++step)
    if (names[step] != StringId::empty) labelOf(static_cast<StepId>(step)) = trace_->strings[names[step]];
  for (size_t key = 1; key < steps.size(); ++key)
    if (steps[key].empty()) steps[key] = fmt::format("Step {}", key - 1);
}

void TraceLabels::addStacks() {
  auto& stacks = labels_[static_cast<size_t>(Attribute::stack)];
  for (size_t id = 0; id < trace_->stacks.size(); ++id) {
    const std::span<const Frame> frames = trace_->stacks[static_cast<StackId>(id)];
    stacks.push_back(frames.empty() ? "(no stack)" : frameText(*trace_, ownFrame(*trace_, frames)));
  }
}

const std::vector<uint32_t>& TraceLabels::ranks(Attribute attribute) const {
  const size_t at = static_cast<size_t>(attribute);
  std::call_once(ranked_[at], [&] {
    std::vector<uint32_t> order(labels_[at].size());
    std::iota(order.begin(), order.end(), 0u);
    // Steps keep their own order, which is the order of time.
    if (attribute != Attribute::step)
      std::ranges::stable_sort(order, {}, [&](uint32_t key) { return labels_[at][key]; });
    ranks_[at].resize(order.size());
    for (size_t place = 0; place < order.size(); ++place) ranks_[at][order[place]] = static_cast<uint32_t>(place);
  });
  return ranks_[at];
}

std::vector<bool> TraceLabels::matches(Attribute attribute, std::string_view text) const {
  std::string lowered(text);
  std::ranges::transform(lowered, lowered.begin(), lower);
  const auto& labels = labels_[static_cast<size_t>(attribute)];
  std::vector<bool> found(labels.size());
  for (size_t key = 0; key < labels.size(); ++key) found[key] = holds(labels[key], lowered);
  if (attribute != Attribute::stack) return found;
  const std::vector<bool> names = matches(Attribute::name, text);
  for (size_t key = 0; key < labels.size(); ++key)
    for (const Frame& frame : trace_->stacks[static_cast<StackId>(key)])
      found[key] = found[key] || names[index(frame.function)] || names[index(frame.file)];
  return found;
}

std::string TraceLabels::stackText(StackId stack) const {
  std::string text;
  for (const Frame& frame : trace_->stacks[stack]) {
    if (!text.empty()) text += '\n';
    text += trace_->strings[frame.function];
    if (frame.file != StringId::empty) text += "  " + trace_->strings[frame.file];
    if (frame.line > 0) text += fmt::format(":{}", frame.line);
  }
  return text;
}

}  // namespace moeblaze::gui
