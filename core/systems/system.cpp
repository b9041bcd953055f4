#include "core/systems/system.h"

#include <algorithm>
#include <cassert>
#include <charconv>

#include "core/base/error.h"
#include "core/systems/plan_builder.h"
#include "system_families.h"

namespace moeblaze {
namespace {

using Number = SystemParameter::Number;

std::vector<SystemInfo> collectFamilies() {
  std::vector<SystemInfo> all;
  for (const auto family : families::kAll)
    for (const SystemInfo& system : family()) all.push_back(system);
  std::ranges::sort(all, {}, &SystemInfo::rank);
  return all;
}

const SystemInfo& findSystem(std::string_view word) {
  const auto found = std::ranges::find(systems(), word, &SystemInfo::name);
  if (found != systems().end()) return *found;
  std::vector<std::string_view> names;
  for (const SystemInfo& system : systems()) names.push_back(system.name);
  throw InputError("system " + quote(word) + " is unknown" + didYouMean(word, names) +
                   " (allowed: " + listNames(names) + ")");
}

bool isAllowedNumber(Number number, std::string_view value) {
  const char* const end = value.data() + value.size();
  if (number == Number::experts) {
    int64_t count = 0;
    const auto [parsed, error] = std::from_chars(value.data(), end, count);
    return error == std::errc() && parsed == end && count >= 1 && count <= kMaxExperts && value.front() != '0';
  }
  double factor = 0;
  const auto [parsed, error] = std::from_chars(value.data(), end, factor, std::chars_format::fixed);
  return number == Number::positive && error == std::errc() && parsed == end && factor > 0 &&
         factor <= static_cast<double>(kMaxExperts);
}

bool isAllowed(const SystemParameter& parameter, std::string_view value) {
  return std::find(parameter.words.begin(), parameter.words.end(), value) != parameter.words.end() ||
         isAllowedNumber(parameter.number, value);
}

std::string allowedValues(const SystemParameter& parameter) {
  std::string words = listNames(parameter.words);
  switch (parameter.number) {
    case Number::experts:
      return "a count of experts from 1, " + words;
    case Number::positive:
      return "a number above 0, " + words;
    case Number::none:
      break;
  }
  return words;
}

}  // namespace

std::span<const SystemInfo> systems() {
  static const std::vector<SystemInfo> kSystems = collectFamilies();
  return kSystems;
}

System System::parse(std::string_view text) {
  const size_t nameEnd = std::min(text.find(':'), text.size());
  System system(findSystem(text.substr(0, nameEnd)));
  const SystemInfo& info = system.info();
  for (const SystemParameter& parameter : info.parameters) system.values_.emplace_back(parameter.fallback);
  std::vector<bool> given(info.parameters.size());
  std::vector<std::string_view> names;
  for (const SystemParameter& parameter : info.parameters) names.push_back(parameter.name);

  for (size_t begin = nameEnd; begin < text.size();) {
    const size_t end = std::min(text.find(':', begin + 1), text.size());
    const std::string_view assignment = text.substr(begin + 1, end - begin - 1);
    const size_t equals = std::min(assignment.find('='), assignment.size());
    const std::string_view key = assignment.substr(0, equals);
    const std::string_view value = assignment.substr(std::min(equals + 1, assignment.size()));
    const size_t i = std::find(names.begin(), names.end(), key) - names.begin();
    const std::string where = "system " + std::string(info.name) + ": ";
    if (names.empty()) throw InputError(where + "parameter " + quote(assignment) + " given, but it has none");
    if (i == names.size())
      throw InputError(where + "parameter " + quote(key) + " is unknown" + didYouMean(key, names) +
                       " (allowed: " + listNames(names) + ")");
    if (!isAllowed(info.parameters[i], value))
      throw InputError(where + std::string(key) + " " + quote(value) +
                       " is not allowed (allowed: " + allowedValues(info.parameters[i]) + ")");
    if (given[i]) throw InputError(where + std::string(key) + " is given twice");
    given[i] = true;
    system.values_[i] = value;
    begin = end;
  }

  system.text_ = info.name;
  for (size_t i = 0; i < names.size(); ++i)
    system.text_.append(":").append(names[i]).append("=").append(system.values_[i]);
  return system;
}

std::string_view System::value(std::string_view parameter) const {
  for (size_t i = 0; i < values_.size(); ++i)
    if (info_->parameters[i].name == parameter) return values_[i];
  assert(false && "the system has no such parameter");
  return {};
}

Plan buildPlan(const MoeConfig& config, const Routing& routing, const System& system, PlanOptions options) {
  PlanBuilder builder(config, routing, system.text(), options);
  system.info().plan(builder, system);
  return builder.finish();
}

}  // namespace moeblaze
