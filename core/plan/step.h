#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/plan/buffer.h"
#include "core/plan/op.h"

namespace moeblaze {

enum class Phase : uint8_t { forward, backward };
std::string_view name(Phase phase);

/// The part that an operand plays in its Step, where the order of the operands does not tell.
enum class Use : uint8_t { data, gates, a, b, y, parts, recompute };

/// A buffer that a Step reads or writes.
struct Operand {
  BufferId id = BufferId::none;
  Use use = Use::data;
};

/// Which extent of a matrix product is the number of rows of an expert, and so differs from expert to expert.
enum class Ragged : uint8_t {
  none,       ///< no extent is: one dense product
  rows,       ///< m
  reduction,  ///< k
};

/// The matrix product of a Step: one [m, k]·[k, n] for each expert in [firstExpert, firstExpert + experts), or a single
/// dense product. The ragged extent is left 0, since every expert has its own.
struct GemmShape {
  Ragged ragged = Ragged::none;
  int64_t m = 0, n = 0, k = 0;
  int32_t firstExpert = 0, experts = 0;  ///< also set for Steps that address experts' rows without a product
  bool transposed = false;               ///< the product sums over the last extent of the weight
  bool empty() const { return m == 0 && n == 0 && k == 0; }
};

/// Who wrote the kernel that a Step runs. The cost model gives each family its own speed.
enum class KernelFamily : uint8_t {
  library,  ///< products of cuBLAS or CUTLASS, elementwise kernels of a framework
  triton,   ///< Triton block kernels
  fused,    ///< hand-written kernels with gather and epilogue fused
};

enum class StepId : int32_t { none = -1 };
constexpr size_t index(StepId id) { return static_cast<size_t>(id); }

/// One operation of a training step. FLOPs count a multiply-add as two. Bytes are those that must cross memory: each
/// operand once, and gathered rows once per slot.
struct Step {
  std::string name;  ///< Steps that do the same, such as an addition at two places, can have the same name
  Op op = Op::release;
  Phase phase = Phase::forward;
  KernelFamily family = KernelFamily::library;
  bool router = false;  ///< belongs to the router
  int32_t stream = 0;
  int32_t launches = 1;    ///< kernels launched
  int32_t hostStalls = 0;  ///< times the GPU runs out of work while the host waits for a result or starts from idle
  GemmShape gemm;
  double flops = 0;
  int64_t bytesRead = 0;
  int64_t bytesWritten = 0;
  /// Indices into Plan::operands: the Step reads [operandsBegin, writesBegin) and writes [writesBegin, operandsEnd).
  int32_t operandsBegin = 0, writesBegin = 0, operandsEnd = 0;
};

}  // namespace moeblaze
