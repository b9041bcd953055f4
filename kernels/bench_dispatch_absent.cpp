// In builds without the CUDA toolkit: the command is there and says what is missing.
#include "core/error.h"
#include "kernels/bench.h"
#include "version.h"

namespace moeblaze {

std::function<void(std::ostream& out)> addBenchDispatch(CLI::App& app) {
  CLI::App* command = app.add_subcommand("dispatch", "Index structures built on a GPU; this build has no CUDA");
  command->allow_extras();
  return [](std::ostream&) { throw DeviceError(std::string("this build has no CUDA toolkit: ") + kCudaFound); };
}

}  // namespace moeblaze
