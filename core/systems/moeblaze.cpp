// Named points of the composition: MoEBlaze (arXiv 2601.05296), SonicMoE (arXiv 2512.14080; Dao-AILab/sonic-moe
// 8565e84) and whatever `custom` spells out. `moeblaze` keeps what SonicMoE showed to be enough, A and B;
// `moeblaze-paper` keeps Y as well, as Algorithm 1 does; `moeblaze-min` keeps x alone and recomputes, some experts at a
// time.
#include <array>
#include <charconv>

#include "core/base/error.h"
#include "core/systems/composed.h"

namespace moeblaze {
namespace {

/// `chunk`'s experts at a time; 0 for "all". Throws InputError when the config has fewer experts.
int64_t chunkOf(const PlanBuilder& builder, const System& system) {
  const std::string_view text = system.value("chunk");
  int64_t chunk = 0;
  std::from_chars(text.data(), text.data() + text.size(), chunk);
  if (const int64_t experts = builder.config().experts; chunk > experts)
    refuse("system " + std::string(system.info().name),
           "chunk {} exceeds the config's {} experts; allowed 1 to {}, or all", chunk, experts, experts);
  return chunk;
}

template <typename Enum, size_t N>
Enum choose(std::string_view word, const std::array<std::pair<std::string_view, Enum>, N>& choices) {
  for (const auto& [name, value] : choices)
    if (name == word) return value;
  return choices[0].second;
}

}  // namespace

double capacityOf(const MoeConfig& config, const System& system) {
  constexpr double kDefaultCapacity = 1.25;
  const std::string_view text = system.value("capacity");
  if (text == "config") return config.capacityFactor.value_or(kDefaultCapacity);
  double capacity = kDefaultCapacity;
  std::from_chars(text.data(), text.data() + text.size(), capacity);
  return capacity;
}

void planMoeblaze(PlanBuilder& builder, const System&) {
  planComposed(builder, {.preactivation = builder.config().dtype});
}

void planMoeblazePaper(PlanBuilder& builder, const System& system) {
  Composition how{.save = Save::paper, .preactivation = builder.config().dtype};
  for (DType dtype : kFloatDTypes)
    if (system.value("preactivation") == name(dtype)) how.preactivation = dtype;
  planComposed(builder, how);
}

void planMoeblazeMin(PlanBuilder& builder, const System& system) {
  planComposed(builder,
               {.save = Save::input, .preactivation = builder.config().dtype, .chunk = chunkOf(builder, system)});
}

void planSonicmoe(PlanBuilder& builder, const System&) {
  planComposed(builder,
               {.inPlace = false, .fusedWeights = true, .sonicIndices = true, .preactivation = builder.config().dtype});
}

void planCustom(PlanBuilder& builder, const System& system) {
  constexpr std::array<std::pair<std::string_view, Dispatch>, 4> kDispatches{{{"indexed", Dispatch::indexed},
                                                                              {"permuted", Dispatch::permuted},
                                                                              {"blocked", Dispatch::blocked},
                                                                              {"padded", Dispatch::padded}}};
  constexpr std::array<std::pair<std::string_view, Save>, 4> kSaves{
      {{"projections", Save::projections}, {"all", Save::all}, {"paper", Save::paper}, {"input", Save::input}}};
  Composition how{.dispatch = choose(system.value("dispatch"), kDispatches),
                  .save = choose(system.value("save"), kSaves),
                  .preactivation = builder.config().dtype,
                  .chunk = chunkOf(builder, system),
                  .capacity = capacityOf(builder.config(), system)};
  how.fused = system.value("fused") == "auto" ? how.save != Save::all : system.value("fused") == "1";
  if (how.fused && how.save == Save::all)
    throw InputError(
        "system custom: fused=1 contradicts save=all, which is what unfused nodes keep (allowed: fused=0)");
  if (how.dispatch != Dispatch::padded && system.value("capacity") != "config")
    throw InputError("system custom: capacity is given, but only dispatch=padded has one");
  planComposed(builder, how);
}

}  // namespace moeblaze
