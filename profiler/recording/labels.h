#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "core/trace/trace.h"

namespace moeblaze::profiler {

/// What a process says of its own calls: a name for memory, the Step of work.
struct Label {
  std::string name{};  ///< empty for work
  Role role = Role::unknown;
  StepId step = StepId::none;
  bool given = false;  ///< memory that exists beside what is counted: parameters, inputs
};

/// The label of an external id; nothing for ids that are not known.
using Labels = std::function<std::optional<Label>(uint64_t externalId)>;

}  // namespace moeblaze::profiler
