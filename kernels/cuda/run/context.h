#pragma once

#include <cublas_v2.h>
#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/plan/plan.h"
#include "kernels/cuda/dispatch/dispatch.h"

namespace moeblaze::cuda {

/// Device memory that a run holds beside its Plan's buffers, by name. A profiler sees it, and no Plan lists it.
struct HiddenMemory {
  std::string name;
  int64_t bytes = 0;
};

/// One GPU as the Steps of a run use it: a stream, and the memory that libraries keep from one Step to the next. It is
/// created once; a step that has run before allocates nothing in it.
class Context {
 public:
  /// Makes `device` current and creates a stream on it. Throws DeviceError when the device cannot be used.
  explicit Context(int device);
  /// Uses the current device and the caller's stream, which must outlive this.
  explicit Context(cudaStream_t stream);
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  cudaStream_t stream() const { return stream_; }
  void setStream(cudaStream_t stream);
  void synchronize() const;
  int device() const { return device_; }
  int processors() const { return processors_; }
  /// Bytes of shared memory that one block may have.
  int sharedBytes() const { return sharedBytes_; }
  /// True when the kernels for Hopper's tensor cores run: on compute capability 9.0, unless setPortable asked for the
  /// kernels of any GPU.
  bool usesWgmma() const { return isHopper_ && !portable_; }
  void setPortable(bool portable) { portable_ = portable; }
  const std::string& gpu() const { return gpu_; }

  /// The cuBLAS handle, which works on the stream with one workspace for its whole life.
  cublasHandle_t cublas();
  /// Memory for the index structures of a framework's sort of [tokens, topK] slots. A run that sorts calls this first;
  /// what an earlier sort left there is lost.
  const DispatchIndex& startSort(const DispatchShape& shape);
  /// How many sorts were started.
  int64_t sorts() const { return sorts_; }
  /// True while the index structures are those of the sort of this number, which was the last one started.
  bool holdsSort(int64_t number) const { return number > 0 && number == sorts_; }
  /// The index structures of the last sort.
  const DispatchIndex& sortedIndex() const { return sortedIndex_; }
  /// Scratch memory for that sort, of at least `bytes`.
  std::byte* sortScratch(size_t bytes);
  /// Pinned host memory for the bounds of `count` experts.
  int32_t* hostBounds(int64_t count);
  std::vector<HiddenMemory> hidden() const;

 private:
  struct Block {
    std::byte* data = nullptr;
    size_t bytes = 0;
  };
  void inspect();
  std::byte* grow(Block& block, size_t bytes);

  int device_ = 0, processors_ = 0, sharedBytes_ = 0;
  bool isHopper_ = false, portable_ = false;
  std::string gpu_;
  cudaStream_t stream_ = nullptr;
  bool ownsStream_ = false;
  cublasHandle_t cublas_ = nullptr;
  Block cublasWorkspace_, index_, sortScratch_;
  DispatchIndex sortedIndex_;
  int64_t sorts_ = 0;
  int32_t* hostBounds_ = nullptr;
  int64_t hostBoundsCount_ = 0;
};

/// Throws DeviceError naming the call and cuBLAS's reason unless `status` is success.
void checkCublas(cublasStatus_t status, const char* call, const char* file, int line);

}  // namespace moeblaze::cuda

#define MOEBLAZE_CUBLAS_CHECK(call) ::moeblaze::cuda::checkCublas((call), #call, __FILE__, __LINE__)
