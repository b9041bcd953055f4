// The foreign proof: what five public MoE layers were measured to need on an H200 against their Plans.
#include "simulator/peers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "simulator/simulation.h"

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
    // Rounded to whole MiB, so half a MiB is all that may differ.
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
