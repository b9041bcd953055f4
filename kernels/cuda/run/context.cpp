#include "kernels/cuda/run/context.h"

#include <cuda_runtime.h>
#include <fmt/format.h>

#include <filesystem>
#include <utility>

#include "core/base/error.h"
#include "kernels/cuda/base/check.h"

namespace moeblaze::cuda {
namespace {

/// On an H200 the products of the paper's layers were no faster with the 32 MiB that NVIDIA advises for Hopper.
constexpr size_t kCublasWorkspaceBytes = size_t{8} << 20;
constexpr size_t kAlignment = 256;

size_t aligned(size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

}  // namespace

void checkCublas(cublasStatus_t status, const char* call, const char* file, int line) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  throw DeviceError(fmt::format("cuBLAS: {} in {} at {}:{}", cublasGetStatusString(status), call,
                                std::filesystem::path(file).filename().string(), line));
}

Context::Context(int device) {
  useDevice(device);
  inspect();
  MOEBLAZE_CUDA_CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
  ownsStream_ = true;
}

Context::Context(cudaStream_t stream) : stream_(stream) { inspect(); }

void Context::inspect() {
  MOEBLAZE_CUDA_CHECK(cudaGetDevice(&device_));
  cudaDeviceProp properties{};
  MOEBLAZE_CUDA_CHECK(cudaGetDeviceProperties(&properties, device_));
  gpu_ = properties.name;
  processors_ = properties.multiProcessorCount;
  sharedBytes_ = static_cast<int>(properties.sharedMemPerBlockOptin);
  isHopper_ = properties.major == 9 && properties.minor == 0;
}

Context::~Context() {
  if (cublas_ != nullptr) cublasDestroy(cublas_);
  for (const Block& block : {cublasWorkspace_, index_, sortScratch_}) cudaFree(block.data);
  cudaFreeHost(hostBounds_);
  if (ownsStream_) cudaStreamDestroy(stream_);
}

void Context::setStream(cudaStream_t stream) {
  stream_ = stream;
  if (cublas_ == nullptr) return;
  MOEBLAZE_CUBLAS_CHECK(cublasSetStream(cublas_, stream_));
  MOEBLAZE_CUBLAS_CHECK(cublasSetWorkspace(cublas_, cublasWorkspace_.data, cublasWorkspace_.bytes));
}

void Context::synchronize() const { MOEBLAZE_CUDA_CHECK(cudaStreamSynchronize(stream_)); }

std::byte* Context::grow(Block& block, size_t bytes) {
  if (bytes <= block.bytes) return block.data;
  cudaFree(block.data);
  block = {};
  MOEBLAZE_CUDA_CHECK(cudaMalloc(&block.data, bytes));
  block.bytes = bytes;
  return block.data;
}

cublasHandle_t Context::cublas() {
  if (cublas_ == nullptr) {
    grow(cublasWorkspace_, kCublasWorkspaceBytes);
    MOEBLAZE_CUBLAS_CHECK(cublasCreate(&cublas_));
    setStream(stream_);
  }
  return cublas_;
}

const DispatchIndex& Context::startSort(const DispatchShape& shape) {
  const size_t slots = aligned(sizeof(int32_t) * static_cast<size_t>(shape.slots()));
  const size_t offsets = aligned(sizeof(int32_t) * static_cast<size_t>(shape.experts + 1));
  std::byte* at = grow(index_, 3 * slots + offsets);
  const auto part = [&at](size_t bytes) { return reinterpret_cast<int32_t*>(std::exchange(at, at + bytes)); };
  sortedIndex_.expertTokenIndices = part(slots);
  sortedIndex_.expertTokenOffsets = part(offsets);
  sortedIndex_.tokenExpertIndices = part(slots);
  sortedIndex_.tokenIndexMap = part(slots);
  ++sorts_;
  return sortedIndex_;
}

std::byte* Context::sortScratch(size_t bytes) { return grow(sortScratch_, bytes); }

int32_t* Context::hostBounds(int64_t count) {
  if (count > hostBoundsCount_) {
    cudaFreeHost(hostBounds_);
    hostBounds_ = nullptr;
    MOEBLAZE_CUDA_CHECK(cudaMallocHost(&hostBounds_, sizeof(int32_t) * static_cast<size_t>(count)));
    hostBoundsCount_ = count;
  }
  return hostBounds_;
}

std::vector<HiddenMemory> Context::hidden() const {
  std::vector<HiddenMemory> found;
  const auto add = [&](const char* name, const Block& block) {
    if (block.bytes > 0) found.push_back({name, static_cast<int64_t>(block.bytes)});
  };
  add("cuBLAS workspace", cublasWorkspace_);
  add("sorted index", index_);
  add("sort scratch", sortScratch_);
  return found;
}

}  // namespace moeblaze::cuda
