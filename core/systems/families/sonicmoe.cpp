// SonicMoE (arXiv 2512.14080; Dao-AILab/sonic-moe 8565e84): indexed dispatch with index structures of its own, W1 and
// W2 as one parameter, and gradients of A and B in storage of their own.
#include <array>

#include "core/systems/composition.h"
#include "system_families.h"

namespace moeblaze {
namespace {

void planSonicmoe(PlanBuilder& builder, const System&) {
  planComposition(
      builder, {.inPlace = false, .fusedWeights = true, .sonicIndices = true, .preactivation = builder.config().dtype});
}

constexpr std::array kSystems{
    SystemInfo{90, "sonicmoe", "indexed", "x, Z", "SonicMoE 8565e84; read from code", planSonicmoe}};

}  // namespace

std::span<const SystemInfo> families::sonicmoe() { return kSystems; }

}  // namespace moeblaze
