#pragma once

#include "kernels/cuda/base/element.cuh"

// Single instructions of sm_80 and newer, and the swizzle of shared memory in the tensor-core kernels. Shared memory
// holds rows of 128 bytes. The number of each 16-byte chunk is XORed with the low three bits of its row's number, so
// that eight rows of one chunk, as well as the eight chunks of one row, lie in different banks.
namespace moeblaze::cuda {

inline constexpr int kRowBytes = 128;

__device__ inline uint32_t sharedAddress(const void* pointer) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(pointer));
}

__device__ inline uint32_t swizzled(int row, int chunk) {
  return static_cast<uint32_t>(row * kRowBytes + ((chunk ^ (row & 7)) << 4));
}

/// Starts an asynchronous copy of 16 bytes to shared memory; copies zeros where `valid` is false. `source` is not read
/// then, but must still be a global address.
__device__ inline void copyAsync(uint32_t target, const void* source, bool valid) {
  asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(target), "l"(source), "r"(valid ? 16 : 0)
               : "memory");
}
/// Does the same for a copy that is always valid.
__device__ inline void copyAsync(uint32_t target, const void* source) {
  asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16;" ::"r"(target), "l"(source) : "memory");
}
/// Does the same for 4 bytes.
__device__ inline void copyWordAsync(uint32_t target, const void* source, bool valid) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(target), "l"(source), "r"(valid ? 4 : 0)
               : "memory");
}
__device__ inline void commitCopies() { asm volatile("cp.async.commit_group;" ::: "memory"); }
/// Waits until at most kPending of the groups that this thread committed are still being copied.
template <int kPending>
__device__ inline void waitCopies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
}

__device__ inline void prefetchL2(const void* address) { asm volatile("prefetch.global.L2 [%0];" ::"l"(address)); }

/// Loads four 8×8 matrices of 16-bit elements. Lane l gives the address of row l%8 of matrix l/8.
__device__ inline void loadMatrices(uint32_t (&out)[4], uint32_t address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(out[0]), "=r"(out[1]), "=r"(out[2]), "=r"(out[3])
               : "r"(address)
               : "memory");
}
__device__ inline void loadMatricesTransposed(uint32_t (&out)[4], uint32_t address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(out[0]), "=r"(out[1]), "=r"(out[2]), "=r"(out[3])
               : "r"(address)
               : "memory");
}

/// d += a·b for a 16×16 and b 16×8, with fp32 sums. Lane l holds row l/4 of d in d[0] and d[1], and row l/4 + 8 in d[2]
/// and d[3], each at columns 2·(l%4) and the next.
template <typename T>
__device__ void multiplyAdd(float (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1);
template <>
__device__ inline void multiplyAdd<Bf16>(float (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
template <>
__device__ inline void multiplyAdd<Fp16>(float (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

/// Exchanges values among the four lanes of a quad: v[i] of lane l becomes v[l] of lane i. This turns the lane's pairs
/// of columns of four fragments into eight neighbouring columns of one fragment, which are 16 bytes of memory, and
/// back.
__device__ inline void transposeQuad(uint32_t (&v)[4]) {
  const bool odd = threadIdx.x & 1, high = threadIdx.x & 2;
  const uint32_t first = __shfl_xor_sync(0xffffffffu, odd ? v[0] : v[1], 1);
  const uint32_t second = __shfl_xor_sync(0xffffffffu, odd ? v[2] : v[3], 1);
  v[0] = odd ? first : v[0], v[1] = odd ? v[1] : first;
  v[2] = odd ? second : v[2], v[3] = odd ? v[3] : second;
  const uint32_t third = __shfl_xor_sync(0xffffffffu, high ? v[0] : v[2], 2);
  const uint32_t fourth = __shfl_xor_sync(0xffffffffu, high ? v[1] : v[3], 2);
  v[0] = high ? third : v[0], v[2] = high ? v[2] : third;
  v[1] = high ? fourth : v[1], v[3] = high ? v[3] : fourth;
}

}  // namespace moeblaze::cuda
