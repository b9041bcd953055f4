#include <map>
#include <string>

#include "core/command/program.h"
#include "kernels/bench/bench.h"

namespace moeblaze {

void GpuOptions::addDevice(CLI::App& command) {
  command.add_option("--device", device, "GPU to run on")->capture_default_str()->type_name("N");
}

int GpuOptions::number() const { return static_cast<int>(parseCount("--device", device, 0, kMaxDevices)); }

int runBench(int argc, const char* const* argv, std::ostream& out, std::ostream& err) {
  CLI::App app("Benchmarks of the MoEBlaze toolkit; they report and never fail on time.", "moeblaze-bench");
  app.require_subcommand(1);
  addVersion(app);
  const std::map<std::string, std::function<void(std::ostream&)>> bodies{{"plan", addBenchPlan(app)},
                                                                         {"layer", addBenchLayer(app)},
                                                                         {"dispatch", addBenchDispatch(app)},
                                                                         {"gemm", addBenchGemm(app)}};
  return runProgram(app, argc, argv, out, err, [&] { bodies.at(app.get_subcommands().front()->get_name())(out); });
}

}  // namespace moeblaze
