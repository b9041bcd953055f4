#pragma once

#include "kernels/cuda/gemm/engines.cuh"

// How a warp's sums reach memory. In a fragment each lane holds two neighbouring columns. After an exchange among the
// four lanes of a quad, each lane holds eight neighbouring columns, so that rows are read and written 16 bytes at a
// time without going through shared memory.
namespace moeblaze::cuda {

/// Packs 32 columns of one row, of which the lane holds two columns in each of four fragments: pairOf(fragment) gives
/// those two values. Returns eight neighbouring columns of the 32.
template <typename T, typename F>
__device__ uint4 packRow(F&& pairOf) {
  uint32_t words[4];
#pragma unroll
  for (int j = 0; j < 4; ++j) {
    const float2 pair = pairOf(j);
    words[j] = pack<T>(pair.x, pair.y);
  }
  transposeQuad(words);
  return make_uint4(words[0], words[1], words[2], words[3]);
}

/// The reverse of packRow: takes eight neighbouring columns read from memory and gives the lane's pair of each
/// fragment.
template <typename T>
struct UnpackedRow {
  uint32_t words[4];
  __device__ explicit UnpackedRow(const uint4& bits) : words{bits.x, bits.y, bits.z, bits.w} { transposeQuad(words); }
  __device__ float2 pair(int fragment) const { return unpack<T>(words[fragment]); }
};

/// The lane's two columns of fragment j of a chunk of 32 columns, in the first or second of the two rows that a
/// fragment holds.
__device__ inline float2 pairOf(const float (*fragments)[4], int j, int half) {
  return {fragments[j][2 * half], fragments[j][2 * half + 1]};
}

template <typename T>
__device__ uint4 loadChunk(const T* source, bool valid) {
  return valid ? *reinterpret_cast<const uint4*>(source) : uint4{};
}
template <typename T>
__device__ void storeChunk(T* target, const uint4& bits, bool valid) {
  if (valid) *reinterpret_cast<uint4*>(target) = bits;
}

}  // namespace moeblaze::cuda
