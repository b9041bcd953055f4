// Any legal combination of the axes of a Composition.
#include <array>

#include "core/base/error.h"
#include "core/systems/common_parameters.h"
#include "core/systems/composition.h"
#include "system_families.h"

namespace moeblaze {
namespace {

constexpr Choices<Dispatch, 4> kDispatches{{{"indexed", Dispatch::indexed},
                                            {"permuted", Dispatch::permuted},
                                            {"blocked", Dispatch::blocked},
                                            {"padded", Dispatch::padded}}};
constexpr Choices<Save, 4> kSaves{
    {{"projections", Save::projections}, {"all", Save::all}, {"paper", Save::paper}, {"input", Save::input}}};

void planCustom(PlanBuilder& builder, const System& system) {
  const std::string_view fused = system.value("fused");
  Composition composition{.dispatch = choose(system.value("dispatch"), kDispatches),
                          .save = choose(system.value("save"), kSaves),
                          .preactivation = builder.config().dtype,
                          .chunk = chunkOf(builder.config(), system),
                          .capacity = capacityOf(builder.config(), system)};
  composition.fused = fused == "auto" ? composition.save != Save::all : fused == "1";
  if (composition.fused && composition.save == Save::all)
    throw InputError(
        "system custom: fused=1 contradicts save=all, which is what unfused nodes keep (allowed: fused=0)");
  if (composition.dispatch != Dispatch::padded && system.value(kCapacityParameter.name) != kCapacityParameter.fallback)
    throw InputError("system custom: capacity is given, but only dispatch=padded has one");
  planComposition(builder, composition);
}

constexpr auto kDispatchWords = wordsOf(kDispatches);
constexpr auto kSaveWords = wordsOf(kSaves);
constexpr std::array<std::string_view, 3> kFusedWords{"auto", "0", "1"};
constexpr std::array kParameters{
    SystemParameter{"dispatch", kDispatchWords, SystemParameter::Number::none, kDispatchWords[0],
                    "how tokens reach their experts' rows"},
    SystemParameter{"save", kSaveWords, SystemParameter::Number::none, kSaveWords[0],
                    "what forward leaves for backward"},
    SystemParameter{"fused", kFusedWords, SystemParameter::Number::none, "auto",
                    "activations in the products' epilogues; auto = unless save=all"},
    kChunkParameter,
    kCapacityParameter,
};

constexpr std::array kSystems{
    SystemInfo{1000, "custom", "any", "any", "any legal combination of the axes", planCustom, kParameters}};

}  // namespace

std::span<const SystemInfo> families::custom() { return kSystems; }

}  // namespace moeblaze
