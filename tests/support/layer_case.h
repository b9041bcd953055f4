#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "core/systems/system.h"
#include "kernels/host/executor.h"

namespace moeblaze {

/// One layer to run: its config, and its routing, either as text or as a table made by hand.
struct LayerCase {
  std::string name;
  MoeConfig config;
  std::string routing = "balanced";
  std::vector<int32_t> table{};  ///< expert ids [tokens, top_k]; empty: `routing` is used
};

inline Routing routingOf(const LayerCase& c) {
  return c.table.empty() ? parseRouting(c.routing, c.config) : Routing::fromTable(c.config, c.table, c.name);
}

/// The largest ‖got − reference‖/‖reference‖ that a result may have.
struct Tolerances {
  double all = 0;    ///< of every result except the gates' gradient
  double gates = 0;  ///< of the gates' gradient
  double row = 0;    ///< of the worst single row of a matrix; 0: rows are not looked at one by one
};

/// The largest relative error of a row, where both matrices have rows of `columns` numbers.
inline double worstRow(const std::vector<double>& got, const std::vector<double>& reference, int64_t columns) {
  double worst = 0;
  for (size_t at = 0; at < got.size(); at += columns) {
    const std::vector<double> a(got.begin() + at, got.begin() + at + columns);
    const std::vector<double> b(reference.begin() + at, reference.begin() + at + columns);
    worst = std::max(worst, normRatio(a, b));
  }
  return worst;
}

/// Expects every result to be as close to the reference as `limits` ask. `what` names the case in failures.
inline void expectSame(const MoeConfig& config, const LayerResults& got, const LayerResults& reference,
                       Tolerances limits, const std::string& what) {
  const auto check = [&](const char* name, const std::vector<double>& a, const std::vector<double>& b, double limit,
                         int64_t columns) {
    ASSERT_EQ(a.size(), b.size()) << what << " " << name;
    const double ratio = normRatio(a, b);
    EXPECT_LE(ratio, limit) << what << " " << name;
    EXPECT_TRUE(std::isfinite(ratio)) << what << " " << name;
    if (limits.row > 0 && columns > 0) {
      EXPECT_LE(worstRow(a, b, columns), limits.row) << what << " worst row of " << name;
    }
  };
  const int64_t d = config.dModel, h = config.dFf, hs = config.sharedWidth();
  check("output", got.output, reference.output, limits.all, d);
  check("dx", got.x, reference.x, limits.all, d);
  check("dgates", got.gates, reference.gates, limits.gates, 0);
  check("dW1", got.w1, reference.w1, limits.all, h);
  check("dW2", got.w2, reference.w2, limits.all, h);
  check("dW3", got.w3, reference.w3, limits.all, d);
  check("dW1.shared", got.sharedW1, reference.sharedW1, limits.all, hs);
  check("dW2.shared", got.sharedW2, reference.sharedW2, limits.all, hs);
  check("dW3.shared", got.sharedW3, reference.sharedW3, limits.all, d);
  check("dWr", got.routerWeight, reference.routerWeight, limits.all, 0);
}

/// Rounds the gates to the dtype in which the system multiplies by them: that of its gates buffer, or of `slot_gates`,
/// into which torch casts them first.
inline void roundGates(const Plan& plan, LayerInputs& inputs) {
  for (const Buffer& buffer : plan.buffers)
    if (buffer.name == "gates" || buffer.name == "slot_gates")
      for (double& gate : inputs.gates) gate = roundTo(buffer.dtype, gate);
}

}  // namespace moeblaze
