#pragma once

#include <cstdint>

// Which output tile a block works on next: block w of a persistent kernel computes tiles w, w + grid, w + 2·grid and so
// on. The sizes of groups are read on the device, so that nothing waits for the host.
namespace moeblaze::cuda {

inline constexpr int kTileM = 128, kTileN = 256, kTileK = 64;
inline constexpr int kGemmThreads = 256;
/// The tiles of a group are ordered in bands of M-tiles. A band holds all its N-tiles, and M changes fastest within it,
/// so that tiles computed at the same time share operands in the L2 cache. These heights were measured on an H200; they
/// change the speed by 4 % at most.
inline constexpr int32_t kRowBand = 4, kReductionBand = 64;

__host__ __device__ constexpr int32_t ceilDivide(int64_t a, int32_t b) { return static_cast<int32_t>((a + b - 1) / b); }

/// The rows of the experts that a product covers, grouped by expert; or all rows as one group.
struct Groups {
  const int32_t* offsets = nullptr;  ///< [E+1] in device memory; null for one group
  int32_t rows = 0;                  ///< rows of that one group
  int32_t first = 0, count = 1;      ///< experts covered

  __device__ int32_t begin(int32_t group) const { return offsets == nullptr ? 0 : offsets[first + group]; }
  __device__ int32_t end(int32_t group) const { return offsets == nullptr ? rows : offsets[first + group + 1]; }
};

/// One output tile: its group, the group's rows among all rows, and the tile's place in the group's output.
struct Tile {
  int32_t group = 0;  ///< counted from Groups::first
  int32_t begin = 0;  ///< first row of the group
  int32_t rows = 0;   ///< rows of the group
  int32_t m = 0, n = 0;
};

/// Finds the place of the `id`-th of mTiles × nTiles tiles, in bands of `band` M-tiles.
__device__ inline void rasterize(uint32_t id, int32_t band, int32_t mTiles, int32_t nTiles, Tile& tile) {
  const uint32_t before = id / (band * nTiles), first = before * band, rest = id - first * nTiles;
  const uint32_t height = min(band, mTiles - static_cast<int32_t>(first));
  tile.n = static_cast<int32_t>(rest / height);
  tile.m = static_cast<int32_t>(first + rest - tile.n * height);
}

/// The tiles of a product whose rows are grouped: each group has as many M-tiles as its rows need.
class RowTiles {
 public:
  /// Entries of the table that the tiles keep in shared memory.
  static __host__ __device__ int tableEntries(const Groups& groups) { return groups.count + 1; }

  /// Fills `table` with the exclusive prefix sum of the groups' M-tiles. The whole block must call this; it ends in a
  /// barrier.
  __device__ RowTiles(const Groups& groups, int32_t nTiles, int32_t* table)
      : groups_(groups), nTiles_(nTiles), table_(table) {
    // One warp suffices, because experts are few: it sums 32 groups at a time.
    if (threadIdx.x < 32) {
      int32_t before = 0;
      for (int32_t base = 0; base < groups.count; base += 32) {
        const int32_t group = base + static_cast<int32_t>(threadIdx.x);
        const int32_t tiles = group < groups.count ? ceilDivide(groups.end(group) - groups.begin(group), kTileM) : 0;
        int32_t sum = tiles;
        for (int step = 1; step < 32; step *= 2) {
          const int32_t other = __shfl_up_sync(0xffffffffu, sum, step);
          if (static_cast<int>(threadIdx.x) >= step) sum += other;
        }
        if (group < groups.count) table[group] = before + sum - tiles;
        before += __shfl_sync(0xffffffffu, sum, 31);
      }
      if (threadIdx.x == 0) table[groups.count] = before;
    }
    __syncthreads();
  }

  __device__ int64_t count() const { return static_cast<int64_t>(table_[groups_.count]) * nTiles_; }
  /// Fills `tile` with the at-th tile. On entry tile.group must not lie past that tile's group, from where the search
  /// goes on.
  __device__ void locate(int64_t at, Tile& tile) const {
    while (at >= static_cast<int64_t>(table_[tile.group + 1]) * nTiles_) ++tile.group;
    tile.begin = groups_.begin(tile.group);
    tile.rows = groups_.end(tile.group) - tile.begin;
    const int64_t first = static_cast<int64_t>(table_[tile.group]) * nTiles_;
    rasterize(static_cast<uint32_t>(at - first), kRowBand, table_[tile.group + 1] - table_[tile.group], nTiles_, tile);
  }

 private:
  Groups groups_;
  int32_t nTiles_;
  const int32_t* table_;
};

/// The tiles of a product that sums over a group's rows. Each group has mTiles × nTiles tiles, whose cost grows with
/// the group's rows, so that groups with many rows come first.
class ReductionTiles {
 public:
  static __host__ __device__ int tableEntries(const Groups& groups) { return 2 * groups.count; }

  __device__ ReductionTiles(const Groups& groups, int32_t mTiles, int32_t nTiles, int32_t* table)
      : groups_(groups), mTiles_(mTiles), nTiles_(nTiles), order_(table) {
    int32_t* rows = table + groups.count;
    for (int32_t g = threadIdx.x; g < groups.count; g += kGemmThreads) rows[g] = groups.end(g) - groups.begin(g);
    __syncthreads();
    for (int32_t g = threadIdx.x; g < groups.count; g += kGemmThreads) {
      int32_t rank = 0;
      for (int32_t other = 0; other < groups.count; ++other)
        rank += rows[other] > rows[g] || (rows[other] == rows[g] && other < g);
      table[rank] = g;
    }
    __syncthreads();
  }

  __device__ int64_t count() const { return static_cast<int64_t>(groups_.count) * mTiles_ * nTiles_; }
  __device__ void locate(int64_t at, Tile& tile) const {
    const uint32_t each = static_cast<uint32_t>(mTiles_) * nTiles_;
    const uint32_t place = static_cast<uint32_t>(at / each);
    tile.group = order_[place];
    tile.begin = groups_.begin(tile.group);
    tile.rows = groups_.end(tile.group) - tile.begin;
    rasterize(static_cast<uint32_t>(at - static_cast<int64_t>(place) * each), kReductionBand, mTiles_, nTiles_, tile);
  }

 private:
  Groups groups_;
  int32_t mTiles_, nTiles_;
  const int32_t* order_;
};

}  // namespace moeblaze::cuda
