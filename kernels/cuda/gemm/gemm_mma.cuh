#pragma once

#include "kernels/cuda/gemm/gemm.cuh"

// The portable engine: each of the block's eight warps multiplies a part of 64 × 64 with mma.sync (sm_80 and newer).
namespace moeblaze::cuda {

/// A lane's share of the operands of its warp's part, for one step of 16 along k.
struct Fragments {
  uint32_t a[4][4];
  uint32_t b[4][4];  ///< each holds two fragments of 8 columns
  float2 scale[2];   ///< factors for k = 2·(l%4) and the next, then for those + 8; used only where kScaled
};

/// Tells where this thread reads its fragments from, relative to the start of a stage. Moving along the swizzled
/// direction changes bits 5 and 6 of the address by XOR; moving across it adds to the address.
template <GemmWork Work>
class FragmentReader {
 public:
  __device__ FragmentReader() {
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int across = warp % kWarpsAcross, down = warp / kWarpsAcross;
    const int row = lane % 8, low = lane / 8 % 2, high = lane / 16;
    if constexpr (Work::kAByK) {
      a_ = swizzled(down * kWarpRows + row + 8 * low, high);
    } else {
      a_ = down * kPanelBytes + swizzled(row + 8 * high, low);
    }
    // In a paired tile a warp has the `across`-th 32 columns of both halves.
    const int column = Work::kPaired ? across * 32 : across * kWarpColumns;
    if constexpr (Work::kBByK) {
      b_ = kTileABytes + swizzled(column + row + 8 * high, low);
    } else {
      b_ = kTileABytes + column / kPanelColumns * kPanelBytes +
           swizzled(row + 8 * low, column % kPanelColumns / 8 + high);
    }
  }

  __device__ void load(Fragments& out, uint32_t stage, int step) const {
    const uint32_t a = stage + a_, b = stage + b_;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if constexpr (Work::kAByK) {
        loadMatrices(out.a[i], (a ^ (step << 5)) + i * 16 * kRowBytes);
      } else {
        loadMatricesTransposed(out.a[i], (a ^ (i << 5)) + step * 16 * kRowBytes);
      }
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      constexpr int kHalf = kTileN / 2;
      const int column = Work::kPaired ? i % 2 * 16 : i * 16, half = Work::kPaired ? i / 2 : 0;
      if constexpr (Work::kBByK) {
        loadMatrices(out.b[i], (b ^ (step << 5)) + (half * kHalf + column) * kRowBytes);
      } else {
        loadMatricesTransposed(
            out.b[i], (b ^ (column << 1)) + half * (kHalf / kPanelColumns) * kPanelBytes + step * 16 * kRowBytes);
      }
    }
  }

 private:
  static constexpr int kWarpsAcross = kTileN / kWarpColumns;
  uint32_t a_, b_;
};

/// The engine that multiplies with mma.sync.
struct MmaEngine {
  /// A warp has 64 rows and 64 columns, or 32 columns of each half of a paired tile. `kRows` counts the rows of a lane,
  /// kChunksOf its chunks of 32 columns in a row.
  struct Place {
    static constexpr int kRows = 8;
    template <bool kPaired>
    static constexpr int kChunksOf = kPaired ? 1 : 2;

    __device__ int row(int r) const { return warp / kAcross * kWarpRows + r * 8 + lane / 4; }
    template <bool kPaired>
    __device__ int column(int c) const {
      return warp % kAcross * (kPaired ? 32 : kWarpColumns) + c * 32 + lane % 4 * kVector;
    }
    template <bool kPaired>
    static __device__ const float (*first(const Sums& sums, int r, int c))[4] {
      return sums[r / 2] + 4 * c;
    }
    static __device__ const float (*second(const Sums& sums, int r, int))[4] { return sums[r / 2] + 4; }
    static __device__ int half(int r) { return r % 2; }

    static constexpr int kAcross = kTileN / kWarpColumns;
    int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  };

  template <GemmWork Work>
  static __device__ void multiply(Sums& sums, Fragments& f) {
    using T = typename Work::Element;
    if constexpr (Work::kScaled) {
      const auto scale = [](uint32_t& pair, float2 by) {
        const float2 values = unpack<T>(pair);
        pair = pack<T>(values.x * by.x, values.y * by.y);
      };
#pragma unroll
      for (int i = 0; i < 4; ++i)
#pragma unroll
        for (int part = 0; part < 4; ++part) scale(f.a[i][part], f.scale[part / 2]);
    }
#pragma unroll
    for (int i = 0; i < 4; ++i)
#pragma unroll
      for (int j = 0; j < 8; ++j) multiplyAdd<T>(sums[i][j], f.a[i], f.b[j / 2][j % 2 * 2], f.b[j / 2][j % 2 * 2 + 1]);
  }

  /// Multiplies all tiles of the block. A stage is filled again as soon as it has been read, so that copies run stages
  /// - 1 steps ahead.
  template <GemmWork Work>
  static __device__ void run(const typename Work::Params& params, const typename Work::Tiles& tiles, Work& work,
                             Feed<Work>& feed, uint32_t ring, int stages) {
    for (int s = 0; s + 1 < stages; ++s) feed.fill();
    waitForOldest(stages);
    __syncthreads();

    const FragmentReader<Work> reader;
    const uint32_t ringEnd = ring + stages * kStageBytes;
    uint32_t stage = ring;
    Fragments fragments[2];
    reader.load(fragments[0], stage, 0);
    if constexpr (Work::kScaled) work.loadScale(fragments[0], 0, 0);
    forEachTile(params, tiles, work, [&](Sums& sums, int blocks) {
      for (int block = blocks; block > 0; --block) {
#pragma unroll
        for (int step = 0; step < kTileK / 16; ++step) {
          if (step == kTileK / 16 - 1) {
            // Past the barrier every thread has read this stage, and the next stage has arrived for every thread.
            waitForOldest(stages);
            __syncthreads();
            stage = stage + kStageBytes == ringEnd ? ring : stage + kStageBytes;
          }
          Fragments& next = fragments[(step + 1) % 2];
          reader.load(next, stage, (step + 1) % 4);
          if constexpr (Work::kScaled) work.loadScale(next, (stage - ring) / kStageBytes, (step + 1) % 4);
          if (step == 0) feed.template load<0>();
          if (step == 1) feed.template load<1>();
          if (step == 2) {
            feed.template load<2>();
            feed.advance();
          }
          multiply<Work>(sums, fragments[step % 2]);
        }
      }
    });
  }
};

}  // namespace moeblaze::cuda
