#include <gmock/gmock.h>

#include "tests/rooms/room_rules.h"
#include "tests/support/temp_file.h"

namespace moeblaze::rooms {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr size_t kMaxSources = 20;

TEST(Rooms, FoldersIncludeOnlyWhatRoomsTxtAllows) {
  const std::filesystem::path root = MOEBLAZE_ROOT;
  const auto faults = findRoomFaults(root, readRoomRules(root / "tests/rooms/rooms.txt"), kMaxSources);
  for (const std::string& fault : faults) ADD_FAILURE() << fault;
}

/// A tree of two folders, in which each test tries rules of its own.
class SmallTree : public testing::Test {
 protected:
  void SetUp() override {
    tree_.write("a/low/low.h", "#pragma once\n");
    tree_.write("a/high/high.cpp", "#include <vector>\n#include \"a/low/low.h\"\n");
  }
  std::vector<std::string> faults(std::string_view rules, size_t maxFiles = 2) const {
    return findRoomFaults(tree_.path(), readRoomRules(tree_.write("rooms.txt", rules)), maxFiles);
  }
  TempFolder tree_;
};

TEST_F(SmallTree, AllowedArrowsPass) {
  EXPECT_THAT(faults("# comment\na/low:\na/high: a/low\n"), IsEmpty());
  EXPECT_THAT(faults("a/low:\na/high: a/*\n"), IsEmpty());
}

TEST_F(SmallTree, AnotherArrowIsNamedByFileAndLine) {
  EXPECT_THAT(faults("a/low:\na/high:\n"),
              ElementsAre("a/high/high.cpp:2: a/high may not include a/low (\"a/low/low.h\")"));
}

TEST_F(SmallTree, OutsideHeadersAreRefusedBelowAFolderToo) {
  EXPECT_THAT(faults("a/low:\na/high: a/low\nnever a: vec*\n"),
              ElementsAre("a/high/high.cpp:1: a never includes <vector>"));
}

TEST_F(SmallTree, CirclesAreFaultsEvenWhereBothArrowsAreAllowed) {
  tree_.write("a/low/low.cpp", "#include \"a/high/high.h\"\n");
  tree_.write("a/high/high.h", "");
  EXPECT_THAT(faults("a/low: a/high\na/high: a/low\n"), ElementsAre("a/low and a/high include each other in a circle"));
}

TEST_F(SmallTree, RulesStayTrue) {
  EXPECT_THAT(faults("a/low: a/high\na/high: a/low\na/gone:\n"),
              ElementsAre("rooms.txt: a/gone holds no sources", "rooms.txt: a/low does not include a/high"));
  EXPECT_THAT(faults("a/high: a/low\n"), ElementsAre("a/low: has no line in rooms.txt"));
}

TEST_F(SmallTree, HeapsAndHeadersWithoutAFolderAreFaults) {
  tree_.write("a/low/mid.h", "#include \"low.h\"\n#include \"a/low/none.h\"\n");
  EXPECT_THAT(faults("a/low:\na/high: a/low\n", 1),
              ElementsAre("a/low/mid.h:1: \"low.h\" is named without its folder",
                          "a/low/mid.h:2: \"a/low/none.h\" does not exist", "a/low: 2 sources, at most 1"));
}

}  // namespace
}  // namespace moeblaze::rooms
