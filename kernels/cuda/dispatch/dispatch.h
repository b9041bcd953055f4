#pragma once

#include <cuda_runtime_api.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace moeblaze::cuda {

/// How the index structures are built. All methods give the same bits.
enum class DispatchMethod : uint8_t {
  single,  ///< one cooperative kernel: count, grid-wide scan, place; no sort, no atomics
  paper,   ///< arXiv 2601.05296, §3.2: dense map, column counts, location map; no atomics
  sort,    ///< CUB radix sort by expert, as frameworks do it
};
inline constexpr std::array kDispatchMethods{DispatchMethod::single, DispatchMethod::paper, DispatchMethod::sort};

constexpr std::string_view name(DispatchMethod method) {
  constexpr std::array<std::string_view, 3> kNames{"single", "paper", "sort"};
  return kNames[static_cast<size_t>(method)];
}

/// L tokens with k choices each among E experts. L·k is below 2³¹, E at most kMaxDispatchExperts.
struct DispatchShape {
  int64_t tokens = 0;
  int32_t topK = 0;
  int32_t experts = 0;
  int64_t slots() const { return tokens * topK; }
};
inline constexpr int32_t kMaxDispatchExperts = 1024;

/// The paper's four structures in device memory, all int32, in order [R], [E+1], [R] and [L, k]. R = L·k is the number
/// of rows. Tokens ascend within an expert.
struct DispatchIndex {
  int32_t* expertTokenIndices = nullptr;
  int32_t* expertTokenOffsets = nullptr;
  int32_t* tokenExpertIndices = nullptr;
  int32_t* tokenIndexMap = nullptr;
};

/// Bytes of device scratch that `buildDispatch` needs. The scratch must begin on a 256-byte boundary.
size_t dispatchWorkspaceBytes(DispatchMethod method, const DispatchShape& shape);

/// Builds `index` from the router's expert ids [L, k] on `stream`, without waiting for it. Every id must lie in [0, E)
/// and be distinct within its token. Throws DeviceError when a launch fails.
void buildDispatch(DispatchMethod method, const DispatchShape& shape, const int32_t* topkIds,
                   const DispatchIndex& index, void* workspace, cudaStream_t stream);

// Each method has these two functions, in the file of its name.
size_t singleWorkspaceBytes(const DispatchShape& shape);
void buildSingle(const DispatchShape& shape, const int32_t* topkIds, const DispatchIndex& index, void* workspace,
                 cudaStream_t stream);
size_t paperWorkspaceBytes(const DispatchShape& shape);
void buildPaper(const DispatchShape& shape, const int32_t* topkIds, const DispatchIndex& index, void* workspace,
                cudaStream_t stream);
size_t sortWorkspaceBytes(const DispatchShape& shape);
void buildSort(const DispatchShape& shape, const int32_t* topkIds, const DispatchIndex& index, void* workspace,
               cudaStream_t stream);

}  // namespace moeblaze::cuda
