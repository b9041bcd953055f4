#include "traces/import/torch/torch_settings.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "core/base/error.h"
#include "traces/formats/torch_meta.h"

namespace moeblaze {
namespace {

using Json = nlohmann::ordered_json;

constexpr int64_t kMaxPlainValues = 10'000;

/// Rebuilds a value as JSON. What the value shares is copied, so both its depth and its number of values are bounded.
class JsonBuilder {
 public:
  explicit JsonBuilder(const ValueTree& tree) : tree_(tree) {}

  Json build(ValueId id, int level) {
    if (level > kMaxSettingsLevels || ++values_ > kMaxPlainValues) {
      refuse(tree_.source(), "allocator_settings is too large; allowed: up to {} levels and {} values",
             kMaxSettingsLevels, kMaxPlainValues);
    }
    switch (tree_.kind(id)) {
      case ValueKind::none:
        return nullptr;
      case ValueKind::boolean:
        return id == ValueId::yes;
      case ValueKind::integer:
        return static_cast<int64_t>(tree_.bits(id));
      case ValueKind::unsignedInteger:
        return tree_.bits(id);
      case ValueKind::real:
        return tree_.real(id);
      case ValueKind::text:
        return std::string(tree_.text(id));
      default:
        return container(id, level);
    }
  }

 private:
  Json container(ValueId id, int level) {
    const std::span<const ValueId> items = tree_.items(id);
    if (tree_.kind(id) != ValueKind::dict) {
      Json array = Json::array();
      for (ValueId item : items) array.push_back(build(item, level + 1));
      return array;
    }
    Json object = Json::object();
    for (size_t i = 0; i < items.size(); i += 2) {
      const bool isText = tree_.kind(items[i]) == ValueKind::text;
      object[isText ? std::string(tree_.text(items[i])) : describe(tree_, items[i])] = build(items[i + 1], level + 1);
    }
    return object;
  }

  const ValueTree& tree_;
  int64_t values_ = 0;
};

}  // namespace

TorchAllocatorRules readTorchAllocatorRules(const ValueTree& tree, const ValueRecord& settings) {
  constexpr int64_t kMaxBytes = std::numeric_limits<int64_t>::max();
  TorchAllocatorRules rules;
  rules.expandableSegments = settings.boolean("expandable_segments", false);
  rules.maxSplitBytes = std::max<int64_t>(settings.integer("max_split_size", -1, kMaxBytes, -1), 0);
  if (const std::optional<ValueId> divisions = settings.find("roundup_power2_divisions")) {
    const ValueRecord record(tree, *divisions, {"allocator_settings.roundup_power2_divisions"});
    for (size_t i = 0; i < rules.divisions.size(); ++i)
      rules.divisions[i] = record.integer(std::to_string(1 << i), 0, int64_t{1} << 20, 0);
  }
  return rules;
}

std::string valueAsJson(const ValueTree& tree, ValueId id) {
  // The text is only shown, so bytes that are not UTF-8 may be replaced.
  return JsonBuilder(tree).build(id, 0).dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace moeblaze
