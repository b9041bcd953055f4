#pragma once

#include "kernels/cuda/gemm/gemm.cuh"

// Hopper's engine: each of the block's two warpgroups multiplies a part of 64 × 256 with wgmma. It reads both operands
// from shared memory, where they lie as for the portable engine: as rows of 128 bytes in the 128-byte swizzle.
namespace moeblaze::cuda {

/// The descriptor of an operand in shared memory (PTX ISA, matrix descriptor). It states the 128-byte swizzle, groups
/// of eight rows that lie 1,024 bytes apart and, for operands in panels of 64 columns, the distance between panels.
__device__ inline uint64_t matrixDescriptor(uint32_t address) {
  constexpr uint64_t kSwizzle128 = uint64_t{1} << 62;
  constexpr uint64_t kRowGroups = uint64_t{8 * kRowBytes >> 4} << 32, kPanels = uint64_t{kPanelBytes >> 4} << 16;
  return kSwizzle128 | kRowGroups | kPanels | ((address & 0x3ffff) >> 4);
}

// clang-format off
#define MOEBLAZE_8(j) "+f"(d[j]), "+f"(d[j + 1]), "+f"(d[j + 2]), "+f"(d[j + 3]), "+f"(d[j + 4]), "+f"(d[j + 5]), \
    "+f"(d[j + 6]), "+f"(d[j + 7])
#define MOEBLAZE_64(j) MOEBLAZE_8(j), MOEBLAZE_8(j + 8), MOEBLAZE_8(j + 16), MOEBLAZE_8(j + 24), MOEBLAZE_8(j + 32), \
    MOEBLAZE_8(j + 40), MOEBLAZE_8(j + 48), MOEBLAZE_8(j + 56)
#define MOEBLAZE_WGMMA(TYPE) \
  asm volatile( \
      "{.reg .pred p; setp.ne.b32 p, %130, 0; wgmma.mma_async.sync.aligned.m64n256k16.f32." TYPE "." TYPE " {" \
      "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26," \
      "%27,%28,%29,%30,%31,%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,%48,%49,%50,%51," \
      "%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63,%64,%65,%66,%67,%68,%69,%70,%71,%72,%73,%74,%75,%76," \
      "%77,%78,%79,%80,%81,%82,%83,%84,%85,%86,%87,%88,%89,%90,%91,%92,%93,%94,%95,%96,%97,%98,%99,%100," \
      "%101,%102,%103,%104,%105,%106,%107,%108,%109,%110,%111,%112,%113,%114,%115,%116,%117,%118,%119,%120," \
      "%121,%122,%123,%124,%125,%126,%127" \
      "}, %128, %129, p, 1, 1, %131, %132;}" \
      : MOEBLAZE_64(0), MOEBLAZE_64(64) \
      : "l"(a), "l"(b), "r"(adds), "n"(kATransposed), "n"(kBTransposed))
// clang-format on

/// d [64, 256] = a [64, 16] · b [16, 256], added to d when `adds` is set. The result may be read once the group that
/// the product is committed to has been waited for. Lane l of warp w holds rows 16w + l/4 and 16w + l/4 + 8, and of
/// every 8 columns those at 2·(l%4) and the next.
template <typename T, int kATransposed, int kBTransposed>
__device__ void wgmma(float* d, uint64_t a, uint64_t b, int adds) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  if constexpr (std::is_same_v<T, Bf16>) {
    MOEBLAZE_WGMMA("bf16");
  } else {
    MOEBLAZE_WGMMA("f16");
  }
#endif
}
#undef MOEBLAZE_WGMMA
#undef MOEBLAZE_64
#undef MOEBLAZE_8

/// Orders this thread's writes to registers and shared memory before the warpgroup's products.
__device__ inline void wgmmaFence() {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#endif
}
__device__ inline void wgmmaCommit() {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
#endif
}
/// Waits until at most kPending of the warpgroup's committed groups are under way.
template <int kPending>
__device__ inline void wgmmaWait() {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kPending) : "memory");
#endif
}
/// Makes what this thread copied to shared memory visible to the tensor cores, which read it through another proxy.
__device__ inline void fenceForTensorCores() {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
}

/// The engine that multiplies with wgmma. On GPUs without wgmma its kernels are empty and never launched.
struct WgmmaEngine {
  /// A warp has 16 rows and all columns. `kRows` counts the rows of a lane, kChunksOf its chunks of 32 columns in a
  /// row.
  struct Place {
    static constexpr int kRows = 2;
    template <bool kPaired>
    static constexpr int kChunksOf = kTileN / 32 / (kPaired ? 2 : 1);

    __device__ int row(int r) const { return warp * 16 + r * 8 + lane / 4; }
    template <bool>
    __device__ int column(int c) const {
      return c * 32 + lane % 4 * kVector;
    }
    template <bool>
    static __device__ const float (*first(const Sums& sums, int, int c))[4] {
      return sums[c / 2] + c % 2 * 4;
    }
    static __device__ const float (*second(const Sums& sums, int, int c))[4] { return sums[2 + c / 2] + c % 2 * 4; }
    static __device__ int half(int r) { return r; }

    int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  };

  template <GemmWork Work>
  static __device__ void multiply(Sums& sums, uint32_t stage) {
    constexpr int kAStep = (Work::kAByK ? 32 : 16 * kRowBytes) >> 4, kBStep = (Work::kBByK ? 32 : 16 * kRowBytes) >> 4;
    // In either layout, 64 rows of A take kPanelBytes: as 64 rows in shared memory, or as one panel.
    const uint64_t a = matrixDescriptor(stage + threadIdx.x / 128 * kPanelBytes);
    const uint64_t b = matrixDescriptor(stage + kTileABytes);
    wgmmaFence();
#pragma unroll
    for (int step = 0; step < kTileK / 16; ++step)
      wgmma<typename Work::Element, !Work::kAByK, !Work::kBByK>(&sums[0][0][0], a + step * kAStep, b + step * kBStep,
                                                                1);
    wgmmaCommit();
  }

  /// Multiplies all tiles of the block. The products of one step run while the next step's operands arrive and later
  /// ones are copied, so that a stage is free again two steps later: copies run stages - 2 steps ahead.
  template <GemmWork Work>
  static __device__ void run(const typename Work::Params& params, const typename Work::Tiles& tiles, Work& work,
                             Feed<Work>& feed, uint32_t ring, int stages) {
    if (ring % (8 * kRowBytes) != 0)
      __trap();  // descriptors address groups of eight rows, so the ring must begin at one
    for (int s = 0; s + 2 < stages; ++s) feed.fill();
    const uint32_t ringEnd = ring + stages * kStageBytes;
    uint32_t stage = ring;
    forEachTile(params, tiles, work, [&](Sums& sums, int blocks) {
      for (int block = blocks; block > 0; --block) {
        waitForOldest(stages - 1);
        fenceForTensorCores();
        __syncthreads();
        multiply<Work>(sums, stage);
        feed.fill();
        wgmmaWait<1>();
        stage = stage + kStageBytes == ringEnd ? ring : stage + kStageBytes;
      }
      wgmmaWait<0>();
    });
  }
};

}  // namespace moeblaze::cuda
