#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/config/config.h"
#include "core/plan/plan.h"
#include "core/routing/routing.h"

namespace moeblaze {

class PlanBuilder;
class System;

/// A parameter of a system: `name=value` after a colon.
struct SystemParameter {
  enum class Number : uint8_t {
    none,
    experts,   ///< a whole number from 1; buildPlan holds it against the config
    positive,  ///< a decimal number above 0
  };
  std::string_view name;
  std::span<const std::string_view> words;  ///< allowed beside numbers
  Number number = Number::none;
  std::string_view fallback;
  std::string_view help;
};

/// A named dispatch + save + fusion, and the function that plans it.
struct SystemInfo {
  std::string_view name;
  std::string_view dispatch;  ///< permuted or indexed
  std::string_view save;      ///< what forward leaves for backward, in words
  std::string_view source;    ///< where its plan was read or measured
  std::span<const SystemParameter> parameters;
  void (*plan)(PlanBuilder&, const System&);
};

/// Every system, ours first.
std::span<const SystemInfo> systems();

/// A system with its parameters' values.
class System {
 public:
  /// Parses `name[:parameter=value]...`; throws InputError with the nearest name or the allowed values.
  static System parse(std::string_view text);

  const SystemInfo& info() const { return *info_; }
  std::string_view value(std::string_view parameter) const;
  /// Canonical text: the name and every parameter in the registry's order.
  const std::string& text() const { return text_; }

 private:
  explicit System(const SystemInfo& info) : info_(&info) {}

  const SystemInfo* info_;
  std::vector<std::string> values_;  ///< parallel to info().parameters
  std::string text_;
};

struct PlanOptions {
  bool withRouter = false;  ///< plan the router's own Steps and buffers too
};

/// What `system` runs and materialises for one layer: the only place that knows. Throws InputError when a parameter
/// does not fit the config (more experts a chunk than there are).
Plan buildPlan(const MoeConfig& config, const Routing& routing, const System& system, PlanOptions options = {});

}  // namespace moeblaze
