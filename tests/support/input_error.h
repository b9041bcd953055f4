#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "core/base/error.h"

namespace moeblaze {

/// The text of the InputError that `call` throws, which must be one line; fails the test when there is none.
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
