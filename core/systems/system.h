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

/// A parameter of a system, written `name=value` after a colon.
struct SystemParameter {
  /// Which numbers are allowed as values besides the words.
  enum class Number : uint8_t {
    none,
    experts,   ///< a whole number from 1; whether the config has as many experts is checked when the Plan is built
    positive,  ///< a decimal number above 0
  };
  std::string_view name;
  std::span<const std::string_view> words;  ///< values allowed besides numbers
  Number number = Number::none;
  std::string_view fallback;  ///< the value when none is given
  std::string_view help;
};

/// A named dispatch, save and fusion, and the function that plans it. Each file of core/systems/families gives the
/// entries of its systems.
struct SystemInfo {
  int rank;  ///< unique; systems are listed and compared in the order of their ranks
  std::string_view name;
  std::string_view dispatch;  ///< how tokens reach their experts, in words
  std::string_view save;      ///< what forward leaves for backward, in words
  std::string_view source;    ///< what its Plan was read from or measured on
  void (*plan)(PlanBuilder&, const System&);
  std::span<const SystemParameter> parameters = {};
};

/// Every system, by rank: this toolkit's own first, `custom` last.
std::span<const SystemInfo> systems();

/// A system with the values of its parameters.
class System {
 public:
  /// Parses `name[:parameter=value]...`. Throws InputError, which names the nearest system or the allowed values.
  static System parse(std::string_view text);

  const SystemInfo& info() const { return *info_; }
  /// The value of one of the system's parameters, as text.
  std::string_view value(std::string_view parameter) const;
  /// Canonical text: the name and all parameters, in the order in which the system lists them.
  const std::string& text() const { return text_; }

 private:
  explicit System(const SystemInfo& info) : info_(&info) {}

  const SystemInfo* info_;
  std::vector<std::string> values_;  ///< one for each of info().parameters
  std::string text_;
};

struct PlanOptions {
  bool withRouter = false;  ///< the Plan includes the router's own Steps and buffers
};

/// Plans what `system` runs and materialises for one layer; no other code knows that. Throws InputError when a
/// parameter does not fit the config, such as a chunk of more experts than there are.
Plan buildPlan(const MoeConfig& config, const Routing& routing, const System& system, PlanOptions options = {});

}  // namespace moeblaze
