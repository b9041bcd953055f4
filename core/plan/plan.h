#pragma once

#include <array>
#include <cassert>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/dtype.h"
#include "core/config/config.h"
#include "core/plan/op.h"

namespace moeblaze {

/// What a buffer is for. `saved` is never declared: a transient that forward leaves for backward becomes it; `unknown`
/// is what a trace of other programs says of their memory.
enum class Role : uint8_t { input, output, weight, gradient, saved, transient, index, workspace, unknown };
enum class Phase : uint8_t { forward, backward };

/// How a buffer's elements are ordered. A row is one (token, expert) pair, grouped by expert; a slot is the same pair
/// in the order of the tokens.
enum class Layout : uint8_t {
  flat,          ///< scratch, or an index structure that its Meaning describes
  tokens,        ///< [L, ...]
  rows,          ///< [rows, ...]; one value a row when the shape has no second extent
  slots,         ///< [L, k, ...]
  choiceSlots,   ///< [k, L, ...]
  expertTokens,  ///< [E, L]: one value for each pair that exists
  weight,        ///< [E, in, out], or [in, out] of shared experts and the router
};

/// What an index structure maps.
enum class Meaning : uint8_t {
  none,
  expertOfSlot,  ///< [L, k]: the router's choice
  tokenOfRow,
  slotOfRow,  ///< token·k + choice
  choiceOfRow,
  expertOfRow,
  rowOfSlot,      ///< -1 where the slot was dropped
  tokenOffsets,   ///< [L]: first slot of each token
  offsets,        ///< [E+1]: first row of each expert, and the number of rows
  ends,           ///< [E]: one past the last row of each expert
  pairEnds,       ///< [E]: the same before rows are padded
  counts,         ///< [E]: tokens of each expert
  blockTopology,  ///< of a block-sparse product; the host follows expertOfRow instead
  scratch,        ///< kept by the framework, read by nothing
};

/// The part an operand plays where order does not tell.
enum class Use : uint8_t { data, gates, a, b, y, parts, recompute };

std::string_view name(Role role);
std::string_view name(Phase phase);

enum class BufferId : int32_t { none = -1 };
enum class StepId : int32_t { none = -1 };
constexpr size_t index(BufferId id) { return static_cast<size_t>(id); }
constexpr size_t index(StepId id) { return static_cast<size_t>(id); }

/// Up to four extents, row-major.
class Shape {
 public:
  Shape() = default;
  Shape(std::initializer_list<int64_t> extents) {
    assert(extents.size() <= extents_.size());
    for (int64_t extent : extents) extents_[rank_++] = extent;
  }
  std::span<const int64_t> extents() const { return {extents_.data(), rank_}; }
  int64_t last() const { return extents_[rank_ - 1]; }
  /// Number of elements.
  int64_t count() const {
    int64_t product = 1;
    for (int64_t extent : extents()) product *= extent;
    return product;
  }

 private:
  std::array<int64_t, 4> extents_{};
  uint8_t rank_ = 0;
};

/// Steps [first, last] during which a buffer's storage exists; both are indices into Plan::steps.
struct Lifetime {
  int32_t first = 0;
  int32_t last = -1;
  bool contains(int32_t step) const { return first <= step && step <= last; }
};

/// A planned tensor. An alias shares the storage of `aliasOf` and costs nothing; its base lives as long as both need.
struct Buffer {
  std::string name;
  Role role = Role::transient;
  DType dtype = DType::bf16;
  Layout layout = Layout::flat;
  Meaning meaning = Meaning::none;
  bool external = false;      ///< exists before the step and is not part of its peak: parameters, x, output gradient
  bool intermediate = false;  ///< lies between the two MLPs
  bool router = false;        ///< the router's own
  Shape shape;
  int64_t bytes = 0;  ///< shape × dtype, also for an alias
  BufferId aliasOf = BufferId::none;
  int64_t aliasColumn = 0;  ///< an alias narrower than its base is a view of the base's columns from here on
  Lifetime lifetime;  ///< derived: first write to last read; outputs and gradients to the end; inputs from the start

  bool ownsStorage() const { return aliasOf == BufferId::none; }
  /// True for what a step gives back: the output and the gradients it computes.
  bool isResult() const { return !external && (role == Role::output || role == Role::gradient); }
};

/// Which dimension of a matrix product is the row count of an expert.
enum class Ragged : uint8_t { none, rows, reduction };

/// Matrix product of a Step: per expert [m,k]·[k,n], or one dense product when nothing is ragged. The ragged dimension
/// is left 0: it is the rows of each expert in [firstExpert, firstExpert + experts).
struct GemmShape {
  Ragged ragged = Ragged::none;
  int64_t m = 0, n = 0, k = 0;
  int32_t firstExpert = 0, experts = 0;  ///< of every Step that addresses rows, products or not
  bool transposed = false;               ///< the weight's last extent is the reduced one
  bool empty() const { return m == 0 && n == 0 && k == 0; }
};

/// A buffer a Step reads or writes.
struct Operand {
  BufferId id = BufferId::none;
  Use use = Use::data;
};

/// Who wrote the kernel a Step runs; the cost model prices them apart.
enum class KernelFamily : uint8_t {
  library,  ///< cuBLAS or CUTLASS products, framework elementwise kernels
  triton,   ///< Triton block kernels
  fused,    ///< hand-written kernels with gather and epilogue fused
};

/// One operation. FLOPs count multiply-adds as two; bytes are what must cross memory: each operand once, gathered rows
/// once per slot.
struct Step {
  std::string name;
  Op op = Op::release;
  Phase phase = Phase::forward;
  KernelFamily family = KernelFamily::library;
  int32_t stream = 0;
  int32_t launches = 1;
  int32_t hostStalls = 0;  ///< times the device runs dry: a result is read back, or an eager host starts from idle
  GemmShape gemm;
  double flops = 0;
  int64_t bytesRead = 0;
  int64_t bytesWritten = 0;
  int32_t operandsBegin = 0, writesBegin = 0, operandsEnd = 0;  ///< into Plan::operands: reads, then writes
};

/// What one MoE layer's forward and backward run and materialise: Steps in order over named Buffers. The only source of
/// sizes, layouts, names and lifetimes for simulation, execution and reports.
struct Plan {
  MoeConfig config;
  std::string system;   ///< canonical text, parameters included
  std::string routing;  ///< canonical text
  std::vector<int64_t> tokensPerExpert;
  std::vector<int64_t>
      rowsPerExpert;  ///< rows the system gives each: the same, or with padding and without dropped ones
  std::vector<Buffer> buffers;
  std::vector<Step> steps;
  std::vector<Operand> operands;
  int64_t rowBlock = 1;        ///< rows of an expert are padded to a multiple of this
  int64_t expertCapacity = 0;  ///< rows every expert has, its tokens beyond them dropped; 0: as many as tokens
  int32_t forwardSteps = 0;    ///< steps before this index are forward

  std::span<const Operand> reads(const Step& step) const {
    return std::span(operands).subspan(step.operandsBegin, step.writesBegin - step.operandsBegin);
  }
  std::span<const Operand> writes(const Step& step) const {
    return std::span(operands).subspan(step.writesBegin, step.operandsEnd - step.writesBegin);
  }
  const Buffer& buffer(BufferId id) const { return buffers[index(id)]; }
  /// The buffer that owns the storage of `id`.
  BufferId storageOf(BufferId id) const {
    while (buffer(id).aliasOf != BufferId::none) id = buffer(id).aliasOf;
    return id;
  }
  /// True for the owner of storage that forward leaves for backward: read or written there, parameters, outputs and
  /// gradients apart.
  bool isHeldForBackward(const Buffer& buffer) const {
    return buffer.aliasOf == BufferId::none && buffer.role != Role::weight && buffer.role != Role::output &&
           buffer.role != Role::gradient && buffer.lifetime.first < forwardSteps &&
           buffer.lifetime.last >= forwardSteps;
  }
};

/// Sets every buffer's lifetime from the Plan's Steps.
void deriveLifetimes(Plan& plan);

/// Sizes in bytes, as the design defines them.
struct MemoryFigures {
  int64_t saved = 0;          ///< storages held from the end of forward for backward; x, indices and gates included
  int64_t intermediates = 0;  ///< the part of `saved` between the two MLPs
  int64_t peak = 0;           ///< most alive at once above parameters, x and the output gradient
  int64_t workspace = 0;      ///< most library scratch alive at once
  int64_t index = 0;          ///< the part of `saved` that is index structures
  int32_t peakStep = 0;
};

/// Folds the Plan's lifetimes once.
MemoryFigures memoryFigures(const Plan& plan);

/// Planned bytes alive during each Step, external buffers excluded.
std::vector<int64_t> bytesPerStep(const Plan& plan);

/// Buffers that own counted storage alive during `step`, largest first.
std::vector<BufferId> liveAt(const Plan& plan, int32_t step);

/// Slots that get no row, and rows that serve no slot.
struct Waste {
  int64_t droppedSlots = 0;
  int64_t paddedRows = 0;
};
Waste wasteOf(const Plan& plan);

/// Parameters and their gradients, in bytes each.
int64_t weightBytes(const Plan& plan);

/// Everything wrong with a Plan, a line each; empty when it is sound: operands exist, reads come after writes, weights
/// are never written, every output and gradient is written, aliases fit their base, sizes match shapes, forward comes
/// before backward, lifetimes cover every access and nothing more.
std::vector<std::string> checkPlan(const Plan& plan);

}  // namespace moeblaze
