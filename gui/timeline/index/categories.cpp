#include "gui/timeline/index/categories.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <unordered_map>

#include "gui/timeline/index/span_order.h"

namespace moeblaze::gui {
namespace {

size_t keyCount(const Trace& trace, Attribute attribute) {
  switch (attribute) {
    case Attribute::role:
      return static_cast<size_t>(Role::unknown) + 1;
    case Attribute::name:
      return trace.strings.size();
    case Attribute::stack:
      return trace.stacks.size();
    case Attribute::step:
      break;
  }
  int32_t steps = 0;
  for (const Allocation& allocation : trace.allocations) steps = std::max(steps, static_cast<int32_t>(allocation.step));
  return static_cast<size_t>(steps) + 2;
}

std::string stepName(const Trace& trace, size_t step) {
  const std::vector<StringId> names = stepNames(trace);
  const bool isKnown = step < names.size() && names[step] != StringId::empty;
  return isKnown ? trace.strings[names[step]] : fmt::format("step {}", step);
}

std::string stackName(const Trace& trace, StackId stack) {
  const std::span<const Frame> frames = trace.stacks[stack];
  if (frames.empty()) return "no stack";
  const Frame& frame = ownFrame(trace, frames);
  const std::string& file = trace.strings[frame.file];
  return fmt::format("{} ({}:{})", trace.strings[frame.function], file.substr(file.rfind('/') + 1), frame.line);
}

Category categoryOf(const Trace& trace, Attribute attribute, size_t key) {
  switch (attribute) {
    case Attribute::role:
      return {std::string(name(static_cast<Role>(key))), static_cast<Role>(key), true, false};
    case Attribute::name:
      return {key == 0 ? "no name" : trace.strings[static_cast<StringId>(key)]};
    case Attribute::step:
      return {key == 0 ? "no step" : stepName(trace, key - 1)};
    case Attribute::stack:
      return {stackName(trace, static_cast<StackId>(key))};
  }
  return {};
}

/// For each key, the first key that is shown in the same band: stacks from the same line of the program share one.
std::vector<uint32_t> groupsOf(const Trace& trace, Attribute attribute) {
  std::vector<uint32_t> groups(keyCount(trace, attribute));
  std::iota(groups.begin(), groups.end(), 0);
  if (attribute != Attribute::stack) return groups;
  std::unordered_map<std::string, uint32_t> firsts;
  for (uint32_t key = 0; key < groups.size(); ++key)
    groups[key] = firsts.try_emplace(stackName(trace, static_cast<StackId>(key)), key).first->second;
  return groups;
}

}  // namespace

std::string_view name(Attribute attribute) {
  constexpr std::array<std::string_view, kAttributes.size()> kNames{"role", "name", "Step", "stack"};
  return kNames[static_cast<size_t>(attribute)];
}

size_t keyOf(const Allocation& allocation, Attribute attribute) {
  switch (attribute) {
    case Attribute::role:
      return static_cast<size_t>(allocation.role);
    case Attribute::name:
      return index(allocation.name);
    case Attribute::step:
      return static_cast<size_t>(static_cast<int32_t>(allocation.step) + 1);
    case Attribute::stack:
      break;
  }
  return index(allocation.stack);
}

const Frame& ownFrame(const Trace& trace, std::span<const Frame> frames) {
  const auto own = std::ranges::find_if(frames, [&](const Frame& frame) {
    const std::string& file = trace.strings[frame.file];
    return file.ends_with(".py") && file.find("/torch/") == std::string::npos;
  });
  return own == frames.end() ? frames.front() : *own;
}

std::string_view fileName(const Trace& trace, const Frame& frame) {
  const std::string_view file = trace.strings[frame.file];
  return file.substr(file.find_last_of("/\\") + 1);
}

Categorizer::Categorizer(std::string name) : categories_{{std::move(name)}} {}

Categorizer::Categorizer(const Trace& trace, TrackId track, Attribute attribute) : attribute_(attribute) {
  const std::vector<uint32_t> groups = groupsOf(trace, attribute);
  std::vector<double> areas(groups.size(), 0.0);
  int64_t endNs = 0;
  for (const Allocation& allocation : trace.allocations) endNs = std::max(endNs, allocation.allocNs);
  for (const Allocation& allocation : trace.allocations) {
    if (allocation.track != track) continue;
    const int64_t freeNs = std::max(allocation.allocNs, allocation.freeNs == kNever ? endNs : allocation.freeNs);
    areas[groups[keyOf(allocation, attribute)]] +=
        static_cast<double>(allocation.bytes) *
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
  if (attribute == Attribute::role) std::ranges::sort(keys);

  std::vector<uint8_t> ofGroup(areas.size(), static_cast<uint8_t>(others > 0 ? own : 0));
  for (size_t i = 0; i < own; ++i) {
    ofGroup[keys[i]] = static_cast<uint8_t>(i);
    categories_.push_back(categoryOf(trace, attribute, keys[i]));
  }
  for (uint32_t group : groups) ofKey_.push_back(ofGroup[group]);
  if (others > 0) categories_.push_back({fmt::format("{} others", others), Role::unknown, false, true});
  if (categories_.empty()) categories_.push_back({"memory"});
}

size_t Categorizer::operator()(const Allocation& allocation) const {
  return ofKey_.empty() ? 0 : ofKey_[keyOf(allocation, attribute_)];
}

}  // namespace moeblaze::gui
