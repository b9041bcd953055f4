#pragma once

#include <string>
#include <vector>

#include "core/config/config.h"

namespace moeblaze {

/// What a public MoE layer was measured to need on an H200 (PyTorch 2.11, bf16, swiglu, balanced routing, median of
/// 10).
struct PeerMeasurement {
  std::string config;  ///< built-in name of the paper's shape
  std::string system;  ///< canonical text of the system that models it
  double forwardMs = 0;
  double backwardMs = 0;
  double savedMiB = 0;  ///< rounded to 1 MiB
  double peakMiB = 0;   ///< rounded to 1 MiB
};

/// All rows of the measurement, in its order; embedded at build time from tests/data/peers_h200_swiglu_bf16.csv.
const std::vector<PeerMeasurement>& peerMeasurements();

/// The row for `config` and `system`, or null.
const PeerMeasurement* findPeer(const MoeConfig& config, const std::string& system);

}  // namespace moeblaze
