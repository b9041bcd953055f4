#pragma once

#include "kernels/cuda/gemm/gemm_mma.cuh"
#include "kernels/cuda/gemm/gemm_wgmma.cuh"

namespace moeblaze::cuda {

/// Launches ItsWork<Engine> with the engine for the context's GPU.
template <template <class Engine> class ItsWork, typename Params>
void launchOnBestEngine(const Params& params, Context& context) {
  if (context.usesWgmma()) {
    launchGemm<ItsWork<WgmmaEngine>>(params, context);
  } else {
    launchGemm<ItsWork<MmaEngine>>(params, context);
  }
}

}  // namespace moeblaze::cuda
