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

/// Device memory a run holds beside its Plan's buffers, by name: what a profiler sees and a Plan does not list.
struct HiddenMemory {
  std::string name;
  int64_t bytes = 0;
};

/// One GPU as the Steps of a run use it: a stream, and what libraries keep there from one Step to the next. Created
/// once; nothing of it is allocated inside a step that has run before.
class Context {
 public:
  /// Makes `device` current, with a stream of its own. Throws DeviceError when it cannot be used.
  explicit Context(int device);
  /// Uses the current device and a stream of the caller's.
  explicit Context(cudaStream_t stream);
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  cudaStream_t stream() const { return stream_; }
  void setStream(cudaStream_t stream);
  void synchronize() const;
  int device() const { return device_; }
  int processors() const { return processors_; }
  /// Bytes of shared memory one block may have.
  int sharedBytes() const { return sharedBytes_; }
  /// Whether kernels for Hopper's tensor cores run: on compute capability 9.0, unless told to use the portable ones.
  bool usesWgmma() const { return isHopper_ && !portable_; }
  void setPortable(bool portable) { portable_ = portable; }
  const std::string& gpu() const { return gpu_; }

  /// cuBLAS on the stream, its workspace given to it once.
  cublasHandle_t cublas();
  /// Index structures a framework's sort leaves in memory of its own: for [tokens, topK] slots.
  const DispatchIndex& frameworkIndex(const DispatchShape& shape);
  /// Scratch of that sort.
  std::byte* sortScratch(size_t bytes);
  /// Pinned host memory for `count` expert bounds.
  int32_t* hostBounds(int64_t count);
  std::vector<HiddenMemory> hidden() const;

  /// First row of every expert and the number of rows, [E+1], as the Step that sorts read them back; library products,
  /// one an expert, are launched by them. Empty when the last sort was not this Plan's.
  const std::vector<int64_t>& rowStarts(const Plan& plan) const { return sortedFor_ == &plan ? rowStarts_ : kNone; }
  void setRowStarts(const Plan& plan, std::vector<int64_t> starts) {
    sortedFor_ = &plan;
    rowStarts_ = std::move(starts);
  }

 private:
  static inline const std::vector<int64_t> kNone;
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
  DispatchIndex frameworkIndex_;
  const Plan* sortedFor_ = nullptr;
  std::vector<int64_t> rowStarts_;
  int32_t* hostBounds_ = nullptr;
  int64_t hostBoundsCount_ = 0;
};

/// Throws DeviceError naming the call and cuBLAS's reason unless `status` is success.
void checkCublas(cublasStatus_t status, const char* call, const char* file, int line);

}  // namespace moeblaze::cuda

#define MOEBLAZE_CUBLAS_CHECK(call) ::moeblaze::cuda::checkCublas((call), #call, __FILE__, __LINE__)
