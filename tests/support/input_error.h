#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "core/base/error.h"

namespace moeblaze {

/// Returns the text of the InputError that `call` throws. The test fails when nothing is thrown, or when the text has
/// more than one line.
template <typename Call>
std::string inputError(Call&& call) {
  try {
    call();
  } catch (const InputError& error) {
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "no InputError";
  return {};
}

}  // namespace moeblaze
