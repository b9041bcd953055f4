// The program that record_test records. Its argument names the one thing it does, which a recording must show.
#include <cuda.h>
#include <cuda_runtime.h>
#include <nvtx3/nvToolsExt.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

namespace {

void check(int status, const char* what) {
  if (status == 0) return;
  std::fprintf(stderr, "%s: %d\n", what, status);
  std::exit(1);
}

void* take(size_t bytes) {
  void* block = nullptr;
  check(cudaMalloc(&block, bytes), "cudaMalloc");
  return block;
}

__global__ void spin(long long cycles) {
  const long long start = clock64();
  while (clock64() - start < cycles) {
  }
}

/// Two threads allocate and free at the same time: 500 blocks each, of a size that only one of them uses.
void threads() {
  take(256);
  const auto work = [](size_t bytes) {
    for (int i = 0; i < 500; ++i) check(cudaFree(take(bytes)), "cudaFree");
  };
  std::thread one(work, 1 << 20), other(work, 3 << 20);
  one.join();
  other.join();
}

/// One thread allocates while a kernel of about 500 ms runs, so that CUPTI holds its record back. Another thread frees
/// the block at once.
void handedOver() {
  cudaStream_t stream = nullptr;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "stream");
  take(256);
  spin<<<1, 1, 0, stream>>>(900'000'000);
  void* block = take(2 << 20);
  std::thread([&] {
    usleep(20'000);
    check(cudaFree(block), "cudaFree");
  }).join();
  check(cudaStreamSynchronize(stream), "synchronize");
}

/// Forks a child that ends at once, through its exit handlers, and then runs another program that uses the GPU.
void forks(const char* self) {
  take(5 << 20);
  if (const pid_t child = fork(); child == 0) {
    std::exit(0);
  } else {
    waitpid(child, nullptr, 0);
  }
  check(cudaFree(take(7 << 20)), "cudaFree");
  check(std::system((std::string(self) + " child").c_str()), "child");
}

/// Allocates a MiB every 5 ms. Each time prints the number of allocations and this process's number.
void forever() {
  for (int i = 1;; ++i) {
    take(1 << 20);
    std::printf("%d %d\n", i, getpid());
    std::fflush(stdout);
    usleep(5000);
  }
}

template <typename Function>
Function driver(const char* name) {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult result{};
  check(cudaGetDriverEntryPointByVersion(name, &found, 12000, cudaEnableDefault, &result), name);
  return reinterpret_cast<Function>(found);
}

/// Creates 4 MiB of physical memory, maps it, releases its handle while it is mapped and unmaps it 50 ms later.
void mapped() {
  take(256);
  constexpr size_t kBytes = 4 << 20;
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  CUmemGenericAllocationHandle handle{};
  CUdeviceptr address = 0;
  check(driver<decltype(&cuMemAddressReserve)>("cuMemAddressReserve")(&address, kBytes, 0, 0, 0), "reserve");
  check(driver<decltype(&cuMemCreate)>("cuMemCreate")(&handle, kBytes, &properties, 0), "create");
  check(driver<decltype(&cuMemMap)>("cuMemMap")(address, kBytes, 0, handle, 0), "map");
  check(driver<decltype(&cuMemRelease)>("cuMemRelease")(handle), "release");
  usleep(50'000);
  check(driver<decltype(&cuMemUnmap)>("cuMemUnmap")(address, kBytes), "unmap");
  std::printf("%llu\n", static_cast<unsigned long long>(address));
}

/// Enqueues a free behind a kernel of about 50 ms, within a named range; also a set and a copy.
void streams() {
  cudaStream_t stream = nullptr;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "stream");
  void* block = nullptr;
  nvtxRangePushA("behind a kernel");
  check(cudaMallocAsync(&block, 6 << 20, stream), "cudaMallocAsync");
  check(cudaMemsetAsync(block, 0, 6 << 20, stream), "set");
  spin<<<1, 1, 0, stream>>>(90'000'000);
  check(cudaFreeAsync(block, stream), "cudaFreeAsync");
  nvtxRangePop();
  std::vector<char> host(1 << 20);
  void* other = take(1 << 20);
  check(cudaMemcpyAsync(other, host.data(), host.size(), cudaMemcpyHostToDevice, stream), "copy");
  check(cudaStreamSynchronize(stream), "synchronize");
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  if (what == "threads") threads();
  if (what == "handed-over") handedOver();
  if (what == "forks") forks(argv[0]);
  if (what == "child") take(3 << 20);
  if (what == "forever") forever();
  if (what == "mapped") mapped();
  if (what == "streams") streams();
  return 0;
}
