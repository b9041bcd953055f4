#pragma once

#include "kernels/cuda/run/context.h"

namespace moeblaze::cuda {

/// A row-major matrix of a library product.
struct LibraryMatrix {
  void* data = nullptr;
  int64_t pitch = 0;        ///< elements from one stored row to the next
  bool transposed = false;  ///< stored with rows and columns exchanged
};

/// c [m, n] = a [m, k] · b [k, n], or added to c.
struct LibraryGemm {
  int64_t m = 0, n = 0, k = 0;
  LibraryMatrix a, b, c;
  bool adds = false;
};

/// One cuBLAS product of 16-bit elements with fp32 sums on the context's stream.
void multiplyRowMajor(Context& context, DType dtype, const LibraryGemm& gemm);

}  // namespace moeblaze::cuda
