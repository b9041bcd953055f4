#include "simulator/cost/machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>

#include "core/base/error.h"
#include "core/base/input_file.h"
#include "core/base/json_reader.h"

namespace moeblaze {
namespace {

/// Measured with torch._grouped_mm on an H200: 18 shapes in bf16. Profiled one kernel at a time, products that are
/// bound by arithmetic reach 0.40 to 0.79 of the peak; within a sustained training step they reach some 8 % less.
/// Products of a size below 800 are bound by memory, so the points there are lower bounds.
const std::vector<EfficiencyPoint> kHopperCurve{{64, 0.12},   {180, 0.28},  {350, 0.50}, {800, 0.58},
                                                {1200, 0.60}, {2000, 0.64}, {4096, 0.67}};

Machine make(std::string name, int64_t memoryMiB, double terabytesPerS, double bf16, double fp32, double fp64) {
  return {
      std::move(name),
      memoryMiB << 20,
      terabytesPerS * 1e12,
      {{DType::bf16, bf16 * 1e12}, {DType::fp16, bf16 * 1e12}, {DType::fp32, fp32 * 1e12}, {DType::fp64, fp64 * 1e12}},
      2500,
      kHopperCurve};
}

}  // namespace

const std::vector<Machine>& namedMachines() {
  // Memory is what nvidia-smi reports. Bandwidth is 0.89 of the data sheet's, as measured on an H200 (4.28 of 4.8
  // TB/s). The figure for fp32 is that of TF32, which such products use.
  static const std::vector<Machine> kMachines{
      make("a100", 81920, 1.81, 312, 156, 19.5),
      make("h100", 81559, 2.98, 989, 494, 67),
      make("h200", 143771, 4.28, 989, 494, 67),
      make("b200", 183359, 7.12, 2250, 1125, 40),
  };
  return kMachines;
}

double Machine::flopsOf(DType dtype) const {
  for (const auto& [of, flops] : peakFlops)
    if (of == dtype) return flops;
  throw InputError(fmt::format("{}: peak_flops has no figure for dtype {}", name, moeblaze::name(dtype)));
}

double Machine::efficiencyAt(double size) const {
  const auto above = std::find_if(gemmEfficiency.begin(), gemmEfficiency.end(),
                                  [&](const EfficiencyPoint& point) { return point.size >= size; });
  if (above == gemmEfficiency.begin()) {
    // Below the first point efficiency falls in proportion to the size.
    return above->fraction * size / above->size;
  }
  if (above == gemmEfficiency.end()) return gemmEfficiency.back().fraction;
  const EfficiencyPoint& below = *(above - 1);
  const double weight = std::log(size / below.size) / std::log(above->size / below.size);
  return below.fraction + weight * (above->fraction - below.fraction);
}

namespace {

std::vector<EfficiencyPoint> readCurve(const JsonReader& reader) {
  constexpr std::string_view kKey = "gemm_efficiency";
  constexpr const char* kForm =
      "must be an array of [size, fraction] pairs, sizes ascending from above 0, fractions in (0, 1]";
  constexpr size_t kMaxPoints = 1000;
  const nlohmann::json& points = reader.at(kKey);
  if (!points.is_array() || points.empty() || points.size() > kMaxPoints) reader.fail(kKey, kForm);
  std::vector<EfficiencyPoint> curve;
  for (const nlohmann::json& point : points) {
    if (!point.is_array() || point.size() != 2 || !point[0].is_number() || !point[1].is_number())
      reader.fail(kKey, kForm);
    const EfficiencyPoint read{point[0].get<double>(), point[1].get<double>()};
    if (!(read.size > (curve.empty() ? 0 : curve.back().size)) || !(read.fraction > 0 && read.fraction <= 1))
      reader.fail(kKey, kForm);
    curve.push_back(read);
  }
  return curve;
}

Machine readMachine(const std::string& path) {
  const JsonReader reader = JsonReader::fromFile(path);
  constexpr std::array<std::string_view, 6> kKeys{"name",       "memory_bytes", "bandwidth_bytes_per_s",
                                                  "peak_flops", "launch_ns",    "gemm_efficiency"};
  reader.refuseUnknownKeys(kKeys);
  Machine machine;
  machine.name = reader.text("name", std::filesystem::path(path).stem().string());
  machine.memoryBytes = reader.integer("memory_bytes", 1, int64_t{1} << 50);
  machine.bandwidthBytesPerS = reader.number("bandwidth_bytes_per_s", 1e6, 1e18);
  machine.launchNs = reader.integer("launch_ns", 0, 1'000'000'000);
  machine.gemmEfficiency = readCurve(reader);
  const JsonReader peaks = reader.object("peak_flops");
  std::vector<std::string_view> names;
  for (DType dtype : kFloatDTypes) {
    names.push_back(name(dtype));
    if (peaks.has(name(dtype))) machine.peakFlops.emplace_back(dtype, peaks.number(name(dtype), 1e6, 1e21));
  }
  peaks.refuseUnknownKeys(names);
  if (machine.peakFlops.empty()) reader.fail("peak_flops", "must give FLOP/s for at least one of " + listNames(names));
  return machine;
}

}  // namespace

Machine loadMachine(const std::string& text) {
  std::string lower = text;
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  std::vector<std::string_view> names;
  for (const Machine& machine : namedMachines()) {
    if (machine.name == lower) return machine;
    names.push_back(machine.name);
  }
  if (std::filesystem::exists(text) || text.find('/') != std::string::npos || text.ends_with(".json"))
    return readMachine(text);
  throw InputError("gpu " + quote(text) + " is unknown" + didYouMean(text, names) + " (allowed: " + listNames(names) +
                   ", or a JSON file)");
}

}  // namespace moeblaze
