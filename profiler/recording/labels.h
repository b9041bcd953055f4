#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "core/trace/trace.h"

namespace moeblaze::profiler {

/// What a process says about its own calls.
struct Label {
  std::string name{};                ///< of memory; empty for work
  Role role = Role::unknown;         ///< of memory
  BufferId buffer = BufferId::none;  ///< the Plan's buffer that the memory is for
  StepId step = StepId::none;        ///< the Step that the work belongs to, or that first writes the memory
  bool given = false;  ///< memory of parameters and inputs, which exist beside the memory that is compared
};

/// Returns the label of an external id, or nothing when the id is not known.
using Labels = std::function<std::optional<Label>(uint64_t externalId)>;

}  // namespace moeblaze::profiler
