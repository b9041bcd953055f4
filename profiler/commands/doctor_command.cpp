#include <dlfcn.h>
#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <memory>

#include "core/base/error.h"
#include "profiler/commands/commands.h"
#include "profiler/commands/doctor_gpu.h"
#include "profiler/injection/injection_library.h"
#include "version.h"

namespace moeblaze::profiler {
namespace {

Check driverCheck() {
  using VersionOf = int (*)(int*);
  void* const library = dlopen("libcuda.so.1", RTLD_NOW);
  const auto versionOf =
      library == nullptr ? nullptr : reinterpret_cast<VersionOf>(dlsym(library, "cuDriverGetVersion"));
  int version = 0;
  if (versionOf == nullptr || versionOf(&version) != 0)
    return {"NVIDIA driver", false, "libcuda.so.1 is not here", "install NVIDIA's driver (release 580 or newer)"};
  std::string release;
  std::ifstream in("/proc/driver/nvidia/version");
  std::getline(in, release);
  return {"NVIDIA driver", true,
          fmt::format("for CUDA {}.{}{}", version / 1000, version % 1000 / 10, release.empty() ? "" : "; " + release),
          ""};
}

/// Always works: tracing has needed no permission since CUDA 11. Hardware counters do, so the driver's setting is
/// shown.
Check permissionCheck() {
  std::ifstream in("/proc/driver/nvidia/params");
  for (std::string line; std::getline(in, line);)
    if (line.starts_with("RmProfilingAdminOnly:"))
      return {"permission", true,
              line.ends_with("1") ? "hardware counters are for root only; tracing, which this does, needs none"
                                  : "anyone may profile",
              ""};
  return {"permission", true, "the driver does not say; a recording below tells", ""};
}

Check injectionCheck() {
  try {
    return {"record", true, injectionLibrary(), ""};
  } catch (const DeviceError& error) {
    return {"record", false, error.what(), "build with the CUDA toolkit and its CUPTI, and without sanitizers"};
  }
}

/// Other profilers use these variables to get into processes.
Check otherProfilerCheck() {
  for (const char* name : {"CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH"})
    if (const char* value = std::getenv(name))
      return {"other profilers", false, fmt::format("{} is set to {}", name, value),
              fmt::format("unset {}: CUPTI serves one profiler a process", name)};
  return {"other profilers", true, "none announced in the environment", ""};
}

std::vector<Check> checks() {
  std::vector<Check> all{
      {"program", true, fmt::format("moeblaze-prof {}, CUDA toolkit {}, CUPTI {}", kVersion, kCudaFound, kCuptiFound),
       ""},
      {"--backend host", true, "works everywhere", ""},
      driverCheck(),
      permissionCheck(),
      otherProfilerCheck()};
  for (Check& check : gpuChecks()) all.push_back(std::move(check));
  all.push_back(injectionCheck());
  return all;
}

int run(const OutputOptions& output, std::ostream& out) {
  output.format();
  std::vector<Record> rows;
  bool well = true;
  for (const Check& check : checks()) {
    well = well && check.works;
    rows.push_back({{"what", check.what}, {"works", check.works}, {"found", check.found}, {"remedy", check.remedy}});
  }
  output.emit(
      rows,
      [&](bool markdown) {
        if (markdown)
          return textTable(
              rows, {{"what", "what"}, {"works", "works"}, {"found", "found"}, {"remedy", "how to mend it"}}, true);
        std::string text;
        for (const Record& row : rows) {
          text += fmt::format("{:4} {}: {}\n", row["works"].get<bool>() ? "ok" : "no", row["what"].get<std::string>(),
                              row["found"].get<std::string>());
          if (const std::string remedy = row["remedy"]; !remedy.empty()) text += "     to mend it: " + remedy + "\n";
        }
        return text;
      },
      out);
  return well ? 0 : kExitMissingDevice;
}

}  // namespace

ProfilerCommand addDoctor(CLI::App& app) {
  auto output = std::make_shared<OutputOptions>();
  output->addTo(*app.add_subcommand(
      "doctor", "What of profiling works on this machine, and how to mend what does not; exit status 3 if anything"));
  return [output](std::ostream& out) { return run(*output, out); };
}

}  // namespace moeblaze::profiler
