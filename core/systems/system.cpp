#include "core/systems/system.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "core/base/error.h"
#include "core/systems/layer.h"
#include "core/systems/plan_builder.h"

namespace moeblaze {
namespace {

constexpr std::array<std::string_view, 2> kMomoeSaves{"0", "100"};
constexpr std::array<std::string_view, 4> kPreactivations{"same", "bf16", "fp16", "fp32"};
constexpr std::array<std::string_view, 1> kChunks{"all"};
constexpr std::array<std::string_view, 1> kCapacities{"config"};
constexpr std::array<std::string_view, 2> kPermutes{"unfused", "fused"};
constexpr std::array<std::string_view, 4> kDispatches{"indexed", "permuted", "blocked", "padded"};
constexpr std::array<std::string_view, 4> kSaves{"projections", "all", "paper", "input"};
constexpr std::array<std::string_view, 3> kFused{"auto", "0", "1"};

using Number = SystemParameter::Number;

constexpr SystemParameter kChunk{"chunk", kChunks, Number::experts, "all", "experts run at a time"};
constexpr SystemParameter kCapacity{"capacity", kCapacities, Number::positive, "config",
                                    "rows of an expert over the mean; config = its capacity_factor, or 1.25"};

constexpr std::array kMomoeParameters{
    SystemParameter{"save", kMomoeSaves, Number::none, "0", "percent of the intermediates kept for backward"}};
constexpr std::array kPaperParameters{SystemParameter{"preactivation", kPreactivations, Number::none, "same",
                                                      "element type of A and B; same = the config's"}};
constexpr std::array kMinParameters{kChunk};
constexpr std::array kMegatronParameters{
    SystemParameter{"permute", kPermutes, Number::none, "unfused", "moe_permute_fusion"}};
constexpr std::array kGshardParameters{kCapacity};
constexpr std::array kCustomParameters{
    SystemParameter{"dispatch", kDispatches, Number::none, "indexed", "how tokens reach their experts' rows"},
    SystemParameter{"save", kSaves, Number::none, "projections", "what forward leaves for backward"},
    SystemParameter{"fused", kFused, Number::none, "auto",
                    "activations in the products' epilogues; auto = unless save=all"},
    kChunk, kCapacity};

constexpr std::array kSystems{
    SystemInfo{"moeblaze", "indexed", "x, A, B", "fused kernels, in-place activation backward", {}, planMoeblaze},
    SystemInfo{"moeblaze-paper", "indexed", "x, A, B, Y", "arXiv 2601.05296, Algorithm 1", kPaperParameters,
               planMoeblazePaper},
    SystemInfo{"moeblaze-min", "indexed", "x; A, B recomputed", "fused kernels, chunked over experts", kMinParameters,
               planMoeblazeMin},
    SystemInfo{"megablocks", "permuted", "all", "MegaBlocks 78eea65, grouped GEMM; measured", {}, planMegablocks},
    SystemInfo{"megablocks-memopt",
               "permuted",
               "permuted x, A, B, output rows",
               "MegaBlocks 78eea65, memory_optimized_mlp; measured",
               {},
               planMegablocksMemopt},
    SystemInfo{"megablocks-sparse",
               "blocked",
               "all",
               "MegaBlocks 78eea65, block-sparse; read from code",
               {},
               planMegablocksSparse},
    SystemInfo{"scattermoe",
               "permuted in backward",
               "all, but x unpermuted",
               "ScatterMoE 47b5e15; measured",
               {},
               planScattermoe},
    SystemInfo{"momoe", "permuted in backward", "x; save=100 adds A, B, output rows", "MoMoE d6e2d68; measured",
               kMomoeParameters, planMomoe},
    SystemInfo{"sonicmoe", "indexed", "x, Z", "SonicMoE 8565e84; read from code", {}, planSonicmoe},
    SystemInfo{"megatron", "permuted", "x, permuted x, fc1 and fc2 inputs, Z", "Megatron-Core d98e8a6; read from code",
               kMegatronParameters, planMegatron},
    SystemInfo{"megatron-moe-act", "permuted", "x, permuted x, Z", "Megatron-Core d98e8a6, moe_act; read from code",
               kMegatronParameters, planMegatronMoeAct},
    SystemInfo{"torch", "permuted", "all", "PyTorch 2.11, torch._grouped_mm; measured", {}, planTorch},
    SystemInfo{"gshard", "padded", "all", "capacity-limited, GShard and Switch", kGshardParameters, planGshard},
    SystemInfo{"custom", "any", "any", "any legal combination of the axes", kCustomParameters, planCustom},
};

const SystemInfo& findSystem(std::string_view word) {
  const auto found = std::find_if(kSystems.begin(), kSystems.end(), [&](const auto& s) { return s.name == word; });
  if (found != kSystems.end()) return *found;
  std::vector<std::string_view> names;
  for (const SystemInfo& system : kSystems) names.push_back(system.name);
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
  const std::string words = listNames(parameter.words);
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

std::span<const SystemInfo> systems() { return kSystems; }

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
  assert(false && "parameter is not in the registry");
  return {};
}

Plan buildPlan(const MoeConfig& config, const Routing& routing, const System& system, PlanOptions options) {
  PlanBuilder builder(config, routing, system.text(), options);
  system.info().plan(builder, system);
  return builder.finish();
}

}  // namespace moeblaze
