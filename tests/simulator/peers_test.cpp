// Proof from outside: what five public MoE libraries were measured to need on an H200 is what their Plans predict.
#include "simulator/commands/peers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <set>
#include <sstream>

#include "simulator/cost/simulation.h"

namespace moeblaze {
namespace {

constexpr double kMiB = 1024.0 * 1024.0;

Simulation simulatePeer(const PeerMeasurement& peer) {
  const MoeConfig config = loadConfig(peer.config).layer;
  return simulate(config, Routing::balanced(config), System::parse(peer.system), loadMachine("h200"));
}

TEST(Peers, AllRowsOfTheMeasurementAreThere) {
  std::set<std::string> configs, systems;
  for (const PeerMeasurement& peer : peerMeasurements()) configs.insert(peer.config), systems.insert(peer.system);
  EXPECT_EQ(peerMeasurements().size(), 42u);
  EXPECT_EQ(configs.size(), 7u);
  EXPECT_EQ(systems, (std::set<std::string>{"megablocks", "megablocks-memopt", "momoe:save=0", "momoe:save=100",
                                            "scattermoe", "torch"}));
}

TEST(Peers, SavedBytesAreWhatWasMeasured) {
  for (const PeerMeasurement& peer : peerMeasurements())
    // The measurement is rounded to whole MiB, so at most half a MiB may differ.
    EXPECT_NEAR(static_cast<double>(simulatePeer(peer).memory.saved) / kMiB, peer.savedMiB, 0.51)
        << peer.config << " " << peer.system;
}

TEST(Peers, StepPeaksAreWhatWasMeasured) {
  for (const PeerMeasurement& peer : peerMeasurements()) {
    const double planned = static_cast<double>(simulatePeer(peer).memory.peak) / kMiB;
    EXPECT_NEAR(planned / peer.peakMiB, 1, 0.001) << peer.config << " " << peer.system;
  }
}

double medianError(double (*error)(const Simulation&, const PeerMeasurement&)) {
  std::vector<double> errors;
  for (const PeerMeasurement& peer : peerMeasurements()) errors.push_back(std::abs(error(simulatePeer(peer), peer)));
  std::sort(errors.begin(), errors.end());
  return (errors[errors.size() / 2 - 1] + errors[errors.size() / 2]) / 2;
}

TEST(Peers, PredictedTimesAreCloseInTheMedian) {
  const double forward = medianError([](const Simulation& s, const PeerMeasurement& peer) {
    return static_cast<double>(s.forwardNs) / 1e6 / peer.forwardMs - 1;
  });
  const double backward = medianError([](const Simulation& s, const PeerMeasurement& peer) {
    return static_cast<double>(s.backwardNs) / 1e6 / peer.backwardMs - 1;
  });
  EXPECT_LT(forward, 0.15);
  EXPECT_LT(backward, 0.10);
}

/// A row of tests/data/torch_h200_more_shapes.csv, which has exact bytes of plain PyTorch
/// (kernels/tools/measure_torch_layer.py).
struct TorchRow {
  MoeConfig config;
  int64_t savedBytes = 0, peakBytes = 0;
  double forwardMs = 0, backwardMs = 0;
};

std::vector<TorchRow> torchRows() {
  std::ifstream file(MOEBLAZE_TEST_DATA "/torch_h200_more_shapes.csv");
  std::vector<TorchRow> rows;
  std::string line;
  std::getline(file, line);
  while (std::getline(file, line)) {
    std::array<std::string, 11> f;
    std::istringstream cells(line);
    for (std::string& field : f) std::getline(cells, field, ',');
    TorchRow& row = rows.emplace_back();
    row.config = {.name = f[0],
                  .dModel = std::stoll(f[1]),
                  .dFf = std::stoll(f[2]),
                  .experts = std::stoll(f[3]),
                  .topK = std::stoll(f[4]),
                  .tokens = std::stoll(f[5]),
                  .activation = parseActivation(f[6], "csv")};
    row.savedBytes = std::stoll(f[7]), row.peakBytes = std::stoll(f[8]);
    row.forwardMs = std::stod(f[9]), row.backwardMs = std::stod(f[10]);
  }
  return rows;
}

Simulation simulateTorch(const TorchRow& row) {
  return simulate(row.config, Routing::balanced(row.config), System::parse("torch"), loadMachine("h200"));
}

TEST(Torch, BytesAreExactOnShapesThePlanWasNotMadeFrom) {
  const std::vector<TorchRow> rows = torchRows();
  ASSERT_EQ(rows.size(), 12u);
  for (const TorchRow& row : rows) {
    const MemoryFigures memory = simulateTorch(row).memory;
    EXPECT_EQ(memory.saved, row.savedBytes) << row.config.name;
    EXPECT_EQ(memory.peak, row.peakBytes) << row.config.name;
  }
}

TEST(Torch, TimesAreWithinAThirdOnThem) {
  for (const TorchRow& row : torchRows()) {
    const Simulation s = simulateTorch(row);
    EXPECT_NEAR(static_cast<double>(s.forwardNs) / 1e6 / row.forwardMs, 1, 0.33) << row.config.name;
    EXPECT_NEAR(static_cast<double>(s.backwardNs) / 1e6 / row.backwardMs, 1, 0.33) << row.config.name;
  }
}

TEST(Peers, FoundOnlyForWhatWasMeasured) {
  MoeConfig config = loadConfig("conf5").layer;
  ASSERT_NE(findPeer(config, "torch"), nullptr);
  EXPECT_EQ(findPeer(config, "torch")->savedMiB, 2434);
  EXPECT_EQ(findPeer(config, "moeblaze"), nullptr);
  config.activation = Activation::silu;
  EXPECT_EQ(findPeer(config, "torch"), nullptr);
}

}  // namespace
}  // namespace moeblaze
