#include "kernels/cuda/dispatch/dispatch.h"

#include <cassert>

namespace moeblaze::cuda {

size_t dispatchWorkspaceBytes(DispatchMethod method, const DispatchShape& shape) {
  switch (method) {
    case DispatchMethod::single:
      return singleWorkspaceBytes(shape);
    case DispatchMethod::paper:
      return paperWorkspaceBytes(shape);
    case DispatchMethod::sort:
      break;
  }
  return sortWorkspaceBytes(shape);
}

void buildDispatch(DispatchMethod method, const DispatchShape& shape, const int32_t* topkIds,
                   const DispatchIndex& index, void* workspace, cudaStream_t stream) {
  assert(shape.tokens > 0 && shape.topK > 0 && shape.topK <= shape.experts && shape.experts <= kMaxDispatchExperts);
  assert(shape.slots() < int64_t{1} << 31);
  constexpr std::array kBuild{buildSingle, buildPaper, buildSort};
  kBuild[static_cast<size_t>(method)](shape, topkIds, index, workspace, stream);
}

}  // namespace moeblaze::cuda
