#include "kernels/cuda/library/library_gemm.h"

#include <cassert>

namespace moeblaze::cuda {

// cuBLAS matrices are column-major, so that it computes cᵀ = bᵀ·aᵀ.
void multiplyRowMajor(Context& context, DType dtype, const LibraryGemm& gemm) {
  assert(dtype == DType::bf16 || dtype == DType::fp16);
  const cudaDataType_t type = dtype == DType::bf16 ? CUDA_R_16BF : CUDA_R_16F;
  const auto operation = [](const LibraryMatrix& matrix) { return matrix.transposed ? CUBLAS_OP_T : CUBLAS_OP_N; };
  const float alpha = 1.0f, beta = gemm.adds ? 1.0f : 0.0f;
  MOEBLAZE_CUBLAS_CHECK(cublasGemmEx(context.cublas(), operation(gemm.b), operation(gemm.a), static_cast<int>(gemm.n),
                                     static_cast<int>(gemm.m), static_cast<int>(gemm.k), &alpha, gemm.b.data, type,
                                     static_cast<int>(gemm.b.pitch), gemm.a.data, type, static_cast<int>(gemm.a.pitch),
                                     &beta, gemm.c.data, type, static_cast<int>(gemm.c.pitch), CUBLAS_COMPUTE_32F,
                                     CUBLAS_GEMM_DEFAULT));
}

}  // namespace moeblaze::cuda
