#pragma once

#include "kernels/cuda/run/context.h"

namespace moeblaze::cuda {

/// A row-major matrix of a library product.
struct LibraryMatrix {
  void* data = nullptr;
  int64_t pitch = 0;        ///< elements from one stored row to the next
  bool transposed = false;  ///< rows and columns are exchanged in memory
};

/// c [m, n] = a [m, k] · b [k, n], added to what c holds when `adds` is set.
struct LibraryGemm {
  int64_t m = 0, n = 0, k = 0;
  LibraryMatrix a, b, c;
  bool adds = false;
};

/// Enqueues one cuBLAS product of 16-bit elements, with fp32 sums, on the context's stream.
void multiplyRowMajor(Context& context, DType dtype, const LibraryGemm& gemm);

}  // namespace moeblaze::cuda
