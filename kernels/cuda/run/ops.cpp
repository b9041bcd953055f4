#include "kernels/cuda/run/ops.h"

#include <cassert>

namespace moeblaze::cuda {

const CudaOp& cudaOp(Op op) {
  switch (op) {
#define MOEBLAZE_OP(op, text) \
  case Op::op:                \
    return ops::op;
    MOEBLAZE_OPS(MOEBLAZE_OP)
#undef MOEBLAZE_OP
  }
  assert(false);
  return ops::release;
}

}  // namespace moeblaze::cuda
