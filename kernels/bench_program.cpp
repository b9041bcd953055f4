#include "core/program.h"
#include "kernels/bench.h"

namespace moeblaze {

int runBench(int argc, const char* const* argv, std::ostream& out, std::ostream& err) {
  CLI::App app("Benchmarks of the MoEBlaze toolkit; they report and never fail on time.", "moeblaze-bench");
  app.require_subcommand(1);
  addVersion(app);
  const auto plan = addBenchPlan(app), layer = addBenchLayer(app);
  return runProgram(app, argc, argv, out, err, [&] { (app.got_subcommand("plan") ? plan : layer)(out); });
}

}  // namespace moeblaze
