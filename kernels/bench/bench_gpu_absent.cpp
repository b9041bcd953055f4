// The GPU commands of builds without the CUDA toolkit: they exist and say what is missing.
#include "core/base/error.h"
#include "kernels/bench/bench.h"
#include "kernels/bench/bench_gpu.h"
#include "version.h"

namespace moeblaze {
namespace {

[[noreturn]] void refuseGpu() { throw DeviceError(std::string("this build has no CUDA toolkit: ") + kCudaFound); }

}  // namespace

std::vector<Record> benchLayerOnGpu(const GpuBench&) { refuseGpu(); }

std::vector<Record> benchProductsOnGpu(const GpuBench&) { refuseGpu(); }

std::function<void(std::ostream& out)> addBenchDispatch(CLI::App& app) {
  CLI::App* command = app.add_subcommand("dispatch", "Index structures built on a GPU; this build has no CUDA");
  command->allow_extras();
  return [](std::ostream&) { refuseGpu(); };
}

}  // namespace moeblaze
