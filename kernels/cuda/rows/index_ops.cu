// Index structures: the paper's four, which one kernel builds in place, or a framework's, which are filled from the
// result of its sort.
#include "kernels/cuda/base/check.h"
#include "kernels/cuda/base/refuse.h"
#include "kernels/cuda/run/ops.h"

namespace moeblaze::cuda {
namespace {

constexpr int kThreads = 256;

DispatchShape shapeOf(const BoundStep& step) {
  const MoeConfig& c = step.plan.config;
  if (c.experts > kMaxDispatchExperts) refuseStep(step, "has more experts than index structures are built for");
  return {c.tokens, static_cast<int32_t>(c.topK), static_cast<int32_t>(c.experts)};
}

const int32_t* idsOf(const BoundStep& step) {
  const BoundOperand* ids = indexOf(step.reads, Meaning::expertOfSlot);
  if (ids == nullptr || ids->buffer->dtype != DType::int32) refuseStep(step, "reads no int32 expert ids");
  return reinterpret_cast<const int32_t*>(ids->data);
}

/// Fills one structure from the paper's four. Each thread handles one index i: it writes entry i of the structure or,
/// for structures by row, the entry of the row that serves slot i.
template <typename Integer>
__global__ void __launch_bounds__(kThreads)
    fillKernel(Meaning meaning, int64_t count, int32_t topK, DispatchIndex index, Integer* out) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= count) return;
  switch (meaning) {
    case Meaning::tokenOfRow:
      out[i] = index.expertTokenIndices[i];
      return;
    case Meaning::slotOfRow:
      out[index.tokenIndexMap[i]] = static_cast<Integer>(i);
      return;
    case Meaning::choiceOfRow:
      out[index.tokenIndexMap[i]] = static_cast<Integer>(i % topK);
      return;
    case Meaning::expertOfRow:
      out[index.tokenIndexMap[i]] = index.tokenExpertIndices[i];
      return;
    case Meaning::rowOfSlot:
      out[i] = index.tokenIndexMap[i];
      return;
    case Meaning::expertOfSlot:
      out[i] = index.tokenExpertIndices[i];
      return;
    case Meaning::tokenOffsets:
      out[i] = static_cast<Integer>(i * topK);
      return;
    case Meaning::offsets:
      out[i] = index.expertTokenOffsets[i];
      return;
    case Meaning::ends:
    case Meaning::pairEnds:  // the same as `ends`, because rows are not padded here
      out[i] = index.expertTokenOffsets[i + 1];
      return;
    case Meaning::counts:
      out[i] = index.expertTokenOffsets[i + 1] - index.expertTokenOffsets[i];
      return;
    default:
      return;
  }
}

/// Fills every structure that the Step writes, in the structure's own dtype.
void fillWritten(const BoundStep& step, const DispatchShape& shape, const DispatchIndex& index, cudaStream_t stream) {
  for (const BoundOperand& out : step.writes) {
    const Meaning meaning = out.buffer->meaning;
    if (meaning == Meaning::none || meaning == Meaning::scratch) continue;
    if (meaning == Meaning::blockTopology) refuseStep(step, "block topologies are not built on GPUs");
    const int64_t count = out.buffer->shape.count();
    const auto blocks = static_cast<unsigned>((count + kThreads - 1) / kThreads);
    if (out.buffer->dtype == DType::int64) {
      fillKernel<<<blocks, kThreads, 0, stream>>>(meaning, count, shape.topK, index,
                                                  reinterpret_cast<int64_t*>(out.data));
    } else if (out.buffer->dtype == DType::int32) {
      fillKernel<<<blocks, kThreads, 0, stream>>>(meaning, count, shape.topK, index,
                                                  reinterpret_cast<int32_t*>(out.data));
    } else {
      refuseStep(step, "writes an index structure that is neither int32 nor int64");
    }
    MOEBLAZE_CUDA_CHECK(cudaGetLastError());
  }
}

/// Where the Plan says that the host stalls, copies the experts' bounds to the host, waits for them, and leaves them
/// for the run's later Steps.
void readBack(const BoundStep& step, const DispatchShape& shape, const int32_t* offsets, PlanRun& run) {
  if (step.step.hostStalls == 0) return;
  const int64_t count = shape.experts + 1;
  int32_t* host = run.context.hostBounds(count);
  MOEBLAZE_CUDA_CHECK(cudaMemcpyAsync(host, offsets, sizeof(int32_t) * static_cast<size_t>(count),
                                      cudaMemcpyDeviceToHost, run.context.stream()));
  run.context.synchronize();
  run.sorted.rowStarts.assign(host, host + count);
}

/// True when an earlier Step of the Plan sorted the same ids.
bool isSorted(const BoundStep& step) {
  for (const Step& other : step.plan.steps) {
    if (&other == &step.step) return false;
    if (other.op == Op::sort) return true;
  }
  return false;
}

/// Sorts the expert ids into the context's memory unless an earlier Step of the Plan has, and fills what the Step
/// writes.
void sortAndFill(const BoundStep& step, bool sorted, PlanRun& run) {
  Context& context = run.context;
  const DispatchShape shape = shapeOf(step);
  if (!sorted) {
    const DispatchIndex index = context.startSort(shape);
    run.sorted.number = context.sorts();
    std::byte* scratch = context.sortScratch(dispatchWorkspaceBytes(DispatchMethod::sort, shape));
    buildDispatch(DispatchMethod::sort, shape, idsOf(step), index, scratch, context.stream());
  }
  if (!context.holdsSort(run.sorted.number)) refuseStep(step, "runs after another plan's sort");
  fillWritten(step, shape, context.sortedIndex(), context.stream());
  readBack(step, shape, context.sortedIndex().expertTokenOffsets, run);
}

/// The paper's four structures as the Step writes them; null members where it writes something else.
DispatchIndex writtenIndex(const BoundStep& step) {
  const auto at = [&](Meaning meaning) -> int32_t* {
    const BoundOperand* found = indexOf(step.writes, meaning);
    if (found == nullptr || found->buffer->dtype != DType::int32) return nullptr;
    return reinterpret_cast<int32_t*>(found->data);
  };
  return {at(Meaning::tokenOfRow), at(Meaning::offsets), at(Meaning::expertOfSlot), at(Meaning::rowOfSlot)};
}

void launchSort(const BoundStep& step, PlanRun& run) { sortAndFill(step, isSorted(step), run); }

void launchBuildIndex(const BoundStep& step, PlanRun& run) {
  const DispatchIndex index = writtenIndex(step);
  const BoundOperand* workspace = nullptr;
  int structures = 0;
  for (const BoundOperand& out : step.writes) {
    if (out.buffer->role == Role::workspace) workspace = &out;
    if (out.buffer->meaning != Meaning::none && out.buffer->meaning != Meaning::scratch) ++structures;
  }
  const bool four = structures == 4 && index.expertTokenIndices != nullptr && index.expertTokenOffsets != nullptr &&
                    index.tokenExpertIndices != nullptr && index.tokenIndexMap != nullptr;
  if (!four || workspace == nullptr) return sortAndFill(step, false, run);
  const DispatchShape shape = shapeOf(step);
  if (static_cast<size_t>(workspace->buffer->bytes) < singleWorkspaceBytes(shape))
    refuseStep(step, "the planned workspace is smaller than this GPU's index kernel needs");
  buildDispatch(DispatchMethod::single, shape, idsOf(step), index, workspace->data, run.context.stream());
  readBack(step, shape, index.expertTokenOffsets, run);
}

const char* whyNotBuildIndex(const BoundStep& step, bool) {
  return indexOf(step.writes, Meaning::offsets) != nullptr ? nullptr : "its index structures have no expert offsets";
}

}  // namespace

namespace ops {
const CudaOp sort{launchSort};
const CudaOp buildIndex{launchBuildIndex, whyNotBuildIndex};
}  // namespace ops

}  // namespace moeblaze::cuda
