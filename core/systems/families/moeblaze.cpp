// MoEBlaze (arXiv 2601.05296), composed of indexed dispatch and fused kernels. `moeblaze` saves A and B, which SonicMoE
// (arXiv 2512.14080) showed to be enough. `moeblaze-paper` saves Y too, as Algorithm 1 of the paper does.
// `moeblaze-min` saves x alone and recomputes A and B, a few experts at a time if asked.
#include <array>

#include "core/systems/common_parameters.h"
#include "core/systems/composition.h"

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
constexpr std::array kPaperParameters{SystemParameter{
    .name = "preactivation",
    .words = kPreactivations,
    .fallback = "same",
    .help = "element type of A and B; same = the config's",
}};
constexpr std::array kMinParameters{kChunkParameter};

constexpr std::array kSystems{
    SystemInfo{
        .rank = 10,
        .name = "moeblaze",
        .dispatch = "indexed",
        .save = "x, A, B",
        .source = "fused kernels, in-place activation backward",
        .parameters = {},
        .plan = planMoeblaze,
    },
    SystemInfo{
        .rank = 20,
        .name = "moeblaze-paper",
        .dispatch = "indexed",
        .save = "x, A, B, Y",
        .source = "arXiv 2601.05296, Algorithm 1",
        .parameters = kPaperParameters,
        .plan = planMoeblazePaper,
    },
    SystemInfo{
        .rank = 30,
        .name = "moeblaze-min",
        .dispatch = "indexed",
        .save = "x; A, B recomputed",
        .source = "fused kernels, chunked over experts",
        .parameters = kMinParameters,
        .plan = planMoeblazeMin,
    },
};

}  // namespace

namespace families {

std::span<const SystemInfo> moeblaze() { return kSystems; }

}  // namespace families
}  // namespace moeblaze
