#include "simulator/commands/allocator_option.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "simulator/commands/commands.h"
#include "tests/support/run.h"

namespace moeblaze {
namespace {

using testing::HasSubstr;
using testing::Not;

Ran sim(const std::vector<std::string>& arguments) { return run(runSimulator, "moeblaze-sim", arguments); }

TEST(AllocatorOption, ExactIsTheDefaultAndAddsNothing) {
  for (const char* command : {"simulate", "compare"}) {
    const Ran plain = sim({command, "conf3"});
    EXPECT_EQ(plain.status, 0) << plain.err;
    EXPECT_EQ(plain.out, sim({command, "conf3", "--allocator", "exact"}).out);
    EXPECT_THAT(plain.out, Not(HasSubstr("reserved")));
  }
  EXPECT_FALSE(sim({"simulate", "conf3", "--format", "json"}).json()[0].contains("allocator"));
}

TEST(AllocatorOption, RecordsGainWhatTheAllocatorHolds) {
  for (const std::string allocator : {"pytorch", "pool"}) {
    const Ran ran = sim({"compare", "conf3", "--allocator", allocator, "--format", "json"});
    ASSERT_EQ(ran.status, 0) << ran.err;
    const nlohmann::json rows = ran.json();
    for (const auto& row : rows) {
      EXPECT_EQ(row["allocator"], allocator);
      const int64_t peak = row["peak_bytes"], allocated = row["allocated_peak_bytes"],
                    reserved = row["reserved_peak_bytes"];
      EXPECT_GE(allocated, peak) << row["system"];
      EXPECT_GE(reserved, allocated) << row["system"];
      EXPECT_EQ(reserved % (allocator == "pool" ? 32 << 20 : 2 << 20), 0) << row["system"];
      EXPECT_LE(row["fragmentation_bytes"], reserved) << row["system"];
    }
    EXPECT_EQ(sim({"simulate", "conf3", "--allocator", allocator, "--format", "csv"}).status, 0);
  }
}

TEST(AllocatorOption, TablesShowIt) {
  EXPECT_THAT(sim({"simulate", "conf3", "--allocator", "pytorch"}).out, HasSubstr("fragmentation"));
  EXPECT_THAT(sim({"compare", "conf3", "--allocator", "pool"}).out, HasSubstr("blocks of pool"));
}

TEST(AllocatorOption, UnknownNamesAreRefused) {
  for (const char* command : {"simulate", "compare"}) {
    const Ran ran = sim({command, "conf3", "--allocator", "pytroch"});
    EXPECT_EQ(ran.status, 2);
    EXPECT_THAT(ran.err, HasSubstr("--allocator 'pytroch' is unknown; did you mean 'pytorch'? (allowed: exact, "
                                   "pytorch, pool)"));
  }
}

}  // namespace
}  // namespace moeblaze
