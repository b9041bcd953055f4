#include "simulator/commands/peers.h"

#include <algorithm>
#include <array>
#include <sstream>

#include "core/systems/system.h"
#include "peers_csv.h"

namespace moeblaze {
namespace {

/// The system that the measurement calls `measured`.
std::string systemOf(const std::string& measured) {
  if (measured == "megablocks-grouped") return "megablocks";
  if (measured == "torch-grouped_mm") return "torch";
  if (measured.starts_with("momoe-save")) return "momoe:save=" + measured.substr(std::string("momoe-save").size());
  return measured;
}

std::vector<PeerMeasurement> parse(const std::string& csv) {
  std::vector<PeerMeasurement> rows;
  std::istringstream lines(csv);
  std::string line;
  std::getline(lines, line);
  while (std::getline(lines, line)) {
    std::array<std::string, 11> fields;
    std::istringstream cells(line);
    for (std::string& field : fields) std::getline(cells, field, ',');
    rows.push_back({fields[0], System::parse(systemOf(fields[6])).text(), std::stod(fields[7]), std::stod(fields[8]),
                    std::stod(fields[9]), std::stod(fields[10])});
  }
  return rows;
}

}  // namespace

const std::vector<PeerMeasurement>& peerMeasurements() {
  static const std::vector<PeerMeasurement> kRows = parse(kPeersCsv);
  return kRows;
}

const PeerMeasurement* findPeer(const MoeConfig& config, const std::string& system) {
  if (config.activation != Activation::swiglu || config.dtype != DType::bf16) return nullptr;
  const auto& rows = peerMeasurements();
  const auto found = std::find_if(rows.begin(), rows.end(), [&](const PeerMeasurement& row) {
    return row.config == config.name && row.system == system;
  });
  return found == rows.end() ? nullptr : &*found;
}

}  // namespace moeblaze
