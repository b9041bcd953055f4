#pragma once

#include "kernels/cuda/gemm/gemm_mma.cuh"
#include "kernels/cuda/gemm/gemm_wgmma.cuh"

namespace moeblaze::cuda {

/// Calls `f` with the best engine for the context's GPU as a template argument: f.template operator()<Engine>().
template <typename F>
void withBestEngine(const Context& context, F&& f) {
  if (context.usesWgmma()) {
    f.template operator()<WgmmaEngine>();
  } else {
    f.template operator()<MmaEngine>();
  }
}

}  // namespace moeblaze::cuda
