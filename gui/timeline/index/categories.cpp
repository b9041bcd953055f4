#include "gui/timeline/index/categories.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <unordered_map>

#include "gui/timeline/index/span_order.h"

namespace moeblaze::gui {
namespace {

size_t keyCount(const Trace& trace, CategoryMode mode) {
  switch (mode) {
    case CategoryMode::role:
      return static_cast<size_t>(Role::unknown) + 1;
    case CategoryMode::name:
      return trace.strings.size();
    case CategoryMode::stack:
      return trace.stacks.size();
    case CategoryMode::step:
      break;
  }
  int32_t steps = 0;
  for (const Allocation& allocation : trace.allocations) steps = std::max(steps, static_cast<int32_t>(allocation.step));
  return static_cast<size_t>(steps) + 2;
}

/// What Steps are called; spans tell, planned ones rather than kernels that ran for them.
std::string stepName(const Trace& trace, int32_t step) {
  if (step < 0) return "no step";
  for (const bool planned : {true, false})
    for (const Span& span : trace.spans)
      if (static_cast<int32_t>(span.step) == step && isPlanned(trace, span.track) == planned)
        return trace.strings[span.name];
  return fmt::format("step {}", step);
}

/// The innermost frame that is a program's own, as far as one can tell: allocators and operators come first.
std::string stackName(const Trace& trace, StackId stack) {
  const std::span<const Frame> frames = trace.stacks[stack];
  if (frames.empty()) return "no stack";
  const auto own = std::ranges::find_if(frames, [&](const Frame& frame) {
    const std::string& file = trace.strings[frame.file];
    return file.ends_with(".py") && file.find("/torch/") == std::string::npos;
  });
  const Frame& frame = own == frames.end() ? frames.front() : *own;
  const std::string& file = trace.strings[frame.file];
  return fmt::format("{} ({}:{})", trace.strings[frame.function], file.substr(file.rfind('/') + 1), frame.line);
}

Category categoryOf(const Trace& trace, CategoryMode mode, size_t key) {
  switch (mode) {
    case CategoryMode::role:
      return {std::string(name(static_cast<Role>(key))), static_cast<Role>(key), true, false};
    case CategoryMode::name:
      return {key == 0 ? "no name" : trace.strings[static_cast<StringId>(key)]};
    case CategoryMode::step:
      return {stepName(trace, static_cast<int32_t>(key) - 1)};
    case CategoryMode::stack:
      return {stackName(trace, static_cast<StackId>(key))};
  }
  return {};
}

/// By key, the first of those that are shown as one: stacks that come from one line of a program.
std::vector<uint32_t> groupsOf(const Trace& trace, CategoryMode mode) {
  std::vector<uint32_t> groups(keyCount(trace, mode));
  std::iota(groups.begin(), groups.end(), 0);
  if (mode != CategoryMode::stack) return groups;
  std::unordered_map<std::string, uint32_t> firsts;
  for (uint32_t key = 0; key < groups.size(); ++key)
    groups[key] = firsts.try_emplace(stackName(trace, static_cast<StackId>(key)), key).first->second;
  return groups;
}

}  // namespace

std::string_view name(CategoryMode mode) {
  constexpr std::array<std::string_view, kCategoryModes.size()> kNames{"role", "name", "step", "stack"};
  return kNames[static_cast<size_t>(mode)];
}

Categorizer::Categorizer(std::string name) : categories_{{std::move(name)}} {}

Categorizer::Categorizer(const Trace& trace, TrackId track, CategoryMode mode) : mode_(mode) {
  const std::vector<uint32_t> groups = groupsOf(trace, mode);
  std::vector<double> areas(groups.size(), 0.0);
  int64_t endNs = 0;
  for (const Allocation& allocation : trace.allocations) endNs = std::max(endNs, allocation.allocNs);
  for (const Allocation& allocation : trace.allocations) {
    if (allocation.track != track) continue;
    const int64_t freeNs = std::max(allocation.allocNs, allocation.freeNs == kNever ? endNs : allocation.freeNs);
    areas[groups[keyOf(allocation)]] += static_cast<double>(allocation.bytes) *
                                        (static_cast<double>(freeNs) - static_cast<double>(allocation.allocNs) + 1);
  }
  std::vector<size_t> keys;
  for (size_t key = 0; key < areas.size(); ++key)
    if (areas[key] > 0) keys.push_back(key);
  const size_t own = keys.size() <= kMaxCategories ? keys.size() : kMaxCategories - 1;
  std::partial_sort(keys.begin(), keys.begin() + static_cast<ptrdiff_t>(own), keys.end(),
                    [&](size_t a, size_t b) { return areas[a] != areas[b] ? areas[a] > areas[b] : a < b; });
  const size_t others = keys.size() - own;
  keys.resize(own);
  if (mode == CategoryMode::role) std::ranges::sort(keys);

  std::vector<uint8_t> ofGroup(areas.size(), static_cast<uint8_t>(others > 0 ? own : 0));
  for (size_t i = 0; i < own; ++i) {
    ofGroup[keys[i]] = static_cast<uint8_t>(i);
    categories_.push_back(categoryOf(trace, mode, keys[i]));
  }
  for (uint32_t group : groups) ofKey_.push_back(ofGroup[group]);
  if (others > 0) categories_.push_back({fmt::format("{} others", others), Role::unknown, false, true});
  if (categories_.empty()) categories_.push_back({"memory"});
}

size_t Categorizer::keyOf(const Allocation& allocation) const {
  switch (mode_) {
    case CategoryMode::role:
      return static_cast<size_t>(allocation.role);
    case CategoryMode::name:
      return index(allocation.name);
    case CategoryMode::step:
      return static_cast<size_t>(static_cast<int32_t>(allocation.step) + 1);
    case CategoryMode::stack:
      return index(allocation.stack);
  }
  return 0;
}

size_t Categorizer::operator()(const Allocation& allocation) const {
  return ofKey_.empty() ? 0 : ofKey_[keyOf(allocation)];
}

}  // namespace moeblaze::gui
