#pragma once

#include <string>
#include <vector>

#include "core/config/config.h"

namespace moeblaze {

/// What a public MoE library was measured to need for a layer on an H200 (PyTorch 2.11, bf16, swiglu, balanced routing,
/// times are medians of 10).
struct PeerMeasurement {
  std::string config;  ///< name of the built-in config
  std::string system;  ///< canonical text of the system that models the library
  double forwardMs = 0;
  double backwardMs = 0;
  double savedMiB = 0;  ///< rounded to 1 MiB
  double peakMiB = 0;   ///< rounded to 1 MiB
};

/// All rows of the measurement in its order. The build embeds them from tests/data/peers_h200_swiglu_bf16.csv.
const std::vector<PeerMeasurement>& peerMeasurements();

/// The row for `config` and the canonical text `system`; null when that was not measured.
const PeerMeasurement* findPeer(const MoeConfig& config, const std::string& system);

}  // namespace moeblaze
