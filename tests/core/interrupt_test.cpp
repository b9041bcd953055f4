#include "core/base/interrupt.h"

#include <gtest/gtest.h>

#include <csignal>

namespace moeblaze {
namespace {

TEST(InterruptWatch, NotesTheFirstRequestOnly) {
  {
    const InterruptWatch watch;
    EXPECT_NO_THROW(InterruptWatch::check());
    std::raise(SIGINT);
    EXPECT_TRUE(InterruptWatch::requested());
    EXPECT_THROW(InterruptWatch::check(), Interrupted);
    EXPECT_EXIT(std::raise(SIGINT), testing::KilledBySignal(SIGINT), "");
  }
  EXPECT_FALSE(InterruptWatch::requested()) << "a request ends with its watch";
}

}  // namespace
}  // namespace moeblaze
