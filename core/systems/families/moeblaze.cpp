// MoEBlaze (arXiv 2601.05296), composed of indexed dispatch and fused kernels. `moeblaze` saves A and B, which SonicMoE
// (arXiv 2512.14080) showed to be enough. `moeblaze-paper` saves Y too, as Algorithm 1 of the paper does.
// `moeblaze-min` saves x alone and recomputes A and B, a few experts at a time if asked.
#include <array>

#include "core/systems/common_parameters.h"
#include "core/systems/composition.h"
#include "system_families.h"

namespace moeblaze {
namespace {

void planMoeblaze(PlanBuilder& builder, const System&) {
  planComposition(builder, {.preactivation = builder.config().dtype});
}

void planMoeblazePaper(PlanBuilder& builder, const System& system) {
  Composition composition{.save = Save::paper, .preactivation = builder.config().dtype};
  for (DType dtype : kFloatDTypes)
    if (system.value("preactivation") == name(dtype)) composition.preactivation = dtype;
  planComposition(builder, composition);
}

void planMoeblazeMin(PlanBuilder& builder, const System& system) {
  planComposition(
      builder,
      {.save = Save::input, .preactivation = builder.config().dtype, .chunk = chunkOf(builder.config(), system)});
}

constexpr std::array<std::string_view, 4> kPreactivations{"same", "bf16", "fp16", "fp32"};
constexpr std::array kPaperParameters{SystemParameter{"preactivation", kPreactivations, SystemParameter::Number::none,
                                                      "same", "element type of A and B; same = the config's"}};
constexpr std::array kMinParameters{kChunkParameter};

constexpr std::array kSystems{
    SystemInfo{10, "moeblaze", "indexed", "x, A, B", "fused kernels, in-place activation backward", planMoeblaze},
    SystemInfo{20, "moeblaze-paper", "indexed", "x, A, B, Y", "arXiv 2601.05296, Algorithm 1", planMoeblazePaper,
               kPaperParameters},
    SystemInfo{30, "moeblaze-min", "indexed", "x; A, B recomputed", "fused kernels, chunked over experts",
               planMoeblazeMin, kMinParameters},
};

}  // namespace

std::span<const SystemInfo> families::moeblaze() { return kSystems; }

}  // namespace moeblaze
