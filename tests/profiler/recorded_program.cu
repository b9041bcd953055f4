// What record_test records: does one thing, by name, that a recording must show.
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

/// Two threads take and give back at once: 500 blocks each of sizes only they use.
void threads() {
  take(256);
  const auto work = [](size_t bytes) {
    for (int i = 0; i < 500; ++i) check(cudaFree(take(bytes)), "cudaFree");
  };
  std::thread one(work, 1 << 20), other(work, 3 << 20);
  one.join();
  other.join();
}

/// One thread allocates behind a kernel of some 500 ms, so that what is told of it is held back; another frees at once.
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

/// A child of a fork ends at once, through exit handlers; then another program that uses the GPU.
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

/// A MiB every 5 ms; the number so far, and the process's, on standard output.
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

/// 4 MiB made, mapped twice as large an address range holds it, released while mapped, unmapped last.
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

/// A free enqueued behind a kernel of some 50 ms, in a named range; a copy and a set.
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
