#pragma once

#include "kernels/cuda/gemm.cuh"

// How a warp's sums reach memory. Fragments hold two neighbouring columns a lane; after an exchange within each quad a
// lane holds eight of them, so that rows are read and written 16 bytes at a time without shared memory.
namespace moeblaze::cuda {

/// Where this lane's part of a tile lies.
struct WarpPlace {
  int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;

  __device__ int across() const { return warp % kWarpsAcross; }
  /// Row within the tile of the lane's sums of the 16-row part `i`, first or second half.
  __device__ int row(int i, int half) const { return warp / kWarpsAcross * kWarpRows + i * 16 + half * 8 + lane / 4; }
  /// First of the lane's eight columns among 32, after the exchange.
  __device__ int column() const { return lane % 4 * kVector; }
};

/// Four fragments' pairs of columns of one row (`half` 0 or 1 of the 16-row part), 32 columns in all: f(fragment, pair)
/// gives the two values of the lane's columns. Returns the lane's eight neighbouring columns.
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

/// The other way: eight neighbouring columns read from memory, as each fragment's pair of this lane.
template <typename T>
struct UnpackedRow {
  uint32_t words[4];
  __device__ explicit UnpackedRow(const uint4& bits) : words{bits.x, bits.y, bits.z, bits.w} { transposeQuad(words); }
  __device__ float2 pair(int fragment) const { return unpack<T>(words[fragment]); }
};

template <typename T>
__device__ uint4 loadChunk(const T* source, bool valid) {
  return valid ? *reinterpret_cast<const uint4*>(source) : uint4{};
}
template <typename T>
__device__ void storeChunk(T* target, const uint4& bits, bool valid) {
  if (valid) *reinterpret_cast<uint4*>(target) = bits;
}

}  // namespace moeblaze::cuda
