#include "kernels/cuda/base/check.h"
#include "kernels/cuda/base/element.cuh"
#include "kernels/cuda/library/random_fill.h"

namespace moeblaze::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kBlocks = 2048;

/// SplitMix64 (Steele, Lea, Flood 2014): the number at place `at` of the seed's stream.
__device__ uint64_t randomBits(uint64_t seed, uint64_t at) {
  uint64_t z = seed + (at + 1) * 0x9e3779b97f4a7c15ull;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

/// A normal number by Box and Muller's transform of two uniform numbers.
__device__ float normalNumber(uint64_t seed, uint64_t at) {
  const uint64_t bits = randomBits(seed, at);
  const float u = (static_cast<uint32_t>(bits >> 40) + 0.5f) * 0x1p-24f;
  const float v = static_cast<uint32_t>(bits & 0xffffff) * 0x1p-24f;
  return sqrtf(-2.0f * __logf(u)) * __cosf(6.2831853f * v);
}

__global__ void __launch_bounds__(kThreads)
    fillKernel(Numbers numbers, int64_t count, float mean, float deviation, uint64_t seed) {
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < count; i += kBlocks * kThreads)
    numbers.store(i, mean + deviation * normalNumber(seed, static_cast<uint64_t>(i)));
}

}  // namespace

void fillNormal(void* data, DType dtype, int64_t count, float mean, float deviation, uint64_t seed,
                cudaStream_t stream) {
  fillKernel<<<kBlocks, kThreads, 0, stream>>>({data, dtype}, count, mean, deviation, seed);
  MOEBLAZE_CUDA_CHECK(cudaGetLastError());
}

}  // namespace moeblaze::cuda
