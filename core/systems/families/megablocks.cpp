// MegaBlocks (databricks/megablocks 78eea65: layers/dmoe.py, layers/glu.py, ops/gather.py, ops/scatter.py), one
// autograd node after the other as it allocates and frees. The grouped variants were measured on an H200.
#include <array>

#include "core/systems/permuted_layer.h"
#include "system_families.h"

namespace moeblaze {
namespace {

class Megablocks : public PermutedLayer {
 public:
  explicit Megablocks(PlanBuilder& builder) : PermutedLayer(builder, builder.config().dtype) {}

  /// Grouped products; each node of the MLP keeps its own tensors.
  void planGrouped() {
    sortForGroupedProducts();
    runUnfusedMlp();
  }

  /// Block-sparse products (stk).
  void planSparse() {
    const int64_t rowBlocks = rows_ / kBlock, columnBlocks = (config_.dFf + kBlock - 1) / kBlock;
    const Shape blocks{rowBlocks * columnBlocks};
    const Sorted sorted = sortedStructures(Meaning::pairEnds);
    const BufferId paddedBins = builder_.indices("padded_bins", Meaning::ends, DType::int32, {config_.experts});
    addressing_ = {sorted.indices, sorted.binIds};
    bounds_ = {sorted.binIds};
    for (const char* name : {"topology.row_indices", "topology.column_indices", "topology.column_indices_t"})
      topology_.push_back(builder_.indices(name, Meaning::blockTopology, DType::int16, blocks));
    topology_.push_back(builder_.indices("topology.block_offsets_t", Meaning::blockTopology, DType::int32, blocks));
    products_ = KernelFamily::triton;
    sortAndPermute({sorted.bins, paddedBins});
    auto topology = builder_.step("topology", Op::sort).reads(layer_.topkIds, sorted.bins, paddedBins);
    for (BufferId id : topology_) topology.writes(id);
    topology.launches(4);
    runUnfusedMlp();
  }

  /// Grouped products; the whole MLP is one autograd node, so everything that it saves stays until that node returns.
  void planMemoryOptimized() {
    sortForGroupedProducts();
    FrameworkActivation act;
    up(act);
    activationForward(builder_, act, "");
    down(act.y);
    builder_.release("mlp_return", act.y);
    unpermute();

    FrameworkActivation again{.a = act.a, .b = act.b};
    activationForward(builder_, again, ".recomputed");
    again.kept = act.a;  // even for relu, whose result is overwritten below
    const BufferId yGradient = downBackward(again.y);
    activationBackward(builder_, again, yGradient, "");
    const BufferId dx = upBackward(again);
    builder_.release("mlp_backward_return", yGradient, xPermuted_, act.a, again.aGradient, act.b, again.bGradient);
    finishBackward(dx);
  }

  /// Rows and columns of a block of the block-sparse products; each expert's rows are padded to it.
  static constexpr int64_t kBlock = 128;

 private:
  struct Sorted {
    BufferId binIds, indices, bins;
  };

  /// Declares the structures that sorting the slots by expert gives; `bins` has the meaning `ofBins`.
  Sorted sortedStructures(Meaning ofBins) {
    const int64_t slots = config_.rows();
    Sorted sorted;
    sorted.binIds = builder_.indices("bin_ids", Meaning::expertOfRow, DType::int32, {slots});
    sorted.indices = builder_.indices("indices", Meaning::slotOfRow, DType::int32, {slots});
    sorted.bins = builder_.indices("bins", ofBins, DType::int32, {config_.experts});
    return sorted;
  }

  void sortForGroupedProducts() {
    const Sorted sorted = sortedStructures(Meaning::ends);
    addressing_ = {sorted.indices, sorted.binIds, sorted.bins};
    bounds_ = {sorted.bins};
    sortAndPermute({});
  }

  /// Plans the router, the sort, which also writes the structures `extra`, and the copy of x to rows.
  void sortAndPermute(std::initializer_list<BufferId> extra) {
    router_.forward();
    const BufferId castIds = builder_.workspace("cast_ids", DType::int32, {config_.rows()});
    const BufferId iota = builder_.workspace("iota", DType::int32, {config_.rows()});
    auto sort = builder_.step("sort", Op::sort).reads(layer_.topkIds).writes(castIds, iota);
    for (BufferId id : addressing_) sort.writes(id);
    for (BufferId id : extra) sort.writes(id);
    sort.launches(8).hostStalls(1);  // the host reads the tokens per expert back
    permute();
  }

  /// Backward of the last product in the memory-optimised MLP. The gradient of Y overwrites the recomputed Y.
  BufferId downBackward(BufferId y) {
    weightGradient("down_weight_gradient", y, outputGradientRows_, layer_.w3Gradient)
        .groupedReduction(config_.dFf, config_.dModel);
    const BufferId yGradient = builder_.alias("dY", y, {rows_, config_.dFf});
    product("down_input_gradient", outputGradientRows_, layer_.w3, yGradient)
        .grouped(config_.dFf, config_.dModel)
        .transposed();
    return yGradient;
  }

  /// Backward of the first products in the memory-optimised MLP. The input gradient in rows overwrites the output
  /// gradient in rows.
  BufferId upBackward(const FrameworkActivation& act) {
    const int64_t d = config_.dModel, h = config_.dFf;
    weightGradient("up_weight_gradient_A", xPermuted_, act.aGradient, layer_.w1Gradient).groupedReduction(d, h);
    if (gated())
      weightGradient("up_weight_gradient_B", xPermuted_, act.bGradient, layer_.w2Gradient).groupedReduction(d, h);
    const BufferId dx = builder_.alias("dx_rows", outputGradientRows_, {rows_, d});
    product("up_input_gradient_A", act.aGradient, layer_.w1, dx).grouped(d, h).transposed();
    if (gated()) {
      const BufferId fromB = builder_.transient("dx_B", Layout::rows, {rows_, d});
      product("up_input_gradient_B", act.bGradient, layer_.w2, fromB).grouped(d, h).transposed();
      builder_.step("add_up_gradients", Op::add).reads(fromB, dx).writes(dx);
    }
    return dx;
  }
};

void planMegablocks(PlanBuilder& builder, const System&) { Megablocks(builder).planGrouped(); }

void planMegablocksMemopt(PlanBuilder& builder, const System&) { Megablocks(builder).planMemoryOptimized(); }

void planMegablocksSparse(PlanBuilder& builder, const System&) {
  builder.padRows(Megablocks::kBlock);
  Megablocks(builder).planSparse();
}

constexpr std::array kSystems{
    SystemInfo{40, "megablocks", "permuted", "all", "MegaBlocks 78eea65, grouped GEMM; measured", planMegablocks},
    SystemInfo{50, "megablocks-memopt", "permuted", "permuted x, A, B, output rows",
               "MegaBlocks 78eea65, memory_optimized_mlp; measured", planMegablocksMemopt},
    SystemInfo{60, "megablocks-sparse", "blocked", "all", "MegaBlocks 78eea65, block-sparse; read from code",
               planMegablocksSparse},
};

}  // namespace

std::span<const SystemInfo> families::megablocks() { return kSystems; }

}  // namespace moeblaze
