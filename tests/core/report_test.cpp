#include "core/base/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/support/input_error.h"
#include "tests/support/temp_file.h"

namespace moeblaze {
namespace {

TEST(Report, BytesAreBinaryAndGrouped) {
  EXPECT_EQ(bytesText(0), "0 B");
  EXPECT_EQ(bytesText(1023), "1023 B");
  EXPECT_EQ(bytesText(1536), "1.5 KiB");
  EXPECT_EQ(bytesText(6442450944), "6,144.0 MiB");
  EXPECT_EQ(bytesText(150754820096), "140.4 GiB");
}

TEST(Report, CellsFollowTheirUnit) {
  const Record record{{"b", int64_t{1} << 20}, {"n", 1234567},   {"x", 0.51}, {"p", -1.0},
                      {"yes", true},           {"none", nullptr}};
  EXPECT_EQ(cellText(record, {"b", "", Unit::bytes}), "1.0 MiB");
  EXPECT_EQ(cellText(record, {"n", "", Unit::count}), "1,234,567");
  EXPECT_EQ(cellText(record, {"x", "", Unit::ratio}), "0.51×");
  EXPECT_EQ(cellText(record, {"x", "", Unit::milliseconds}), "0.510");
  EXPECT_EQ(cellText(record, {"p", "", Unit::percent}), "-1.00 %");
  EXPECT_EQ(cellText(record, {"yes", ""}), "yes");
  EXPECT_EQ(cellText(record, {"none", "", Unit::bytes}), "-");
  EXPECT_EQ(cellText(record, {"missing", ""}), "-");
}

TEST(Report, TableAlignsByDisplayWidth) {
  const std::vector<Record> rows{{{"s", "é"}, {"n", 7}}, {{"s", "long"}, {"n", 1000}}};
  const std::vector<Column> columns{{"s", "s"}, {"n", "n", Unit::count}};
  EXPECT_EQ(textTable(rows, columns), "s         n\né         7\nlong  1,000\n");
  EXPECT_EQ(textTable(rows, columns, true), "| s    |     n |\n| ---- | ----: |\n| é    |     7 |\n| long | 1,000 |\n");
}

TEST(Report, CsvEscapesWhatNeedsIt) {
  EXPECT_EQ(csvText({{{"a", "x,\"y\""}, {"b", 1}, {"c", nullptr}, {"d", true}}}), "a,b,c,d\n\"x,\"\"y\"\"\",1,,true\n");
  EXPECT_EQ(csvText({}), "");
}

TEST(Report, JsonIsAnArrayEvenOfInvalidText) {
  EXPECT_EQ(nlohmann::json::parse(jsonText({})), nlohmann::json::array());
  EXPECT_EQ(nlohmann::json::parse(jsonText({{{"name", "\xff"}}})).size(), 1u);
}

TEST(Report, FilesAreReplacedWholeOrNotAtAll) {
  const TempFolder folder;
  const std::string file = folder.write("out.txt", "old");
  writeFile(file, "new");
  std::stringstream read;
  read << std::ifstream(file).rdbuf();
  EXPECT_EQ(read.str(), "new");
  EXPECT_THAT(inputError([&] { writeFile((folder.path() / "missing" / "out").string(), "x"); }),
              testing::HasSubstr("cannot be written"));
  EXPECT_THAT(inputError([&] { writeFile(folder.path().string(), "x"); }), testing::HasSubstr("cannot be written"));
  const auto entries = std::distance(std::filesystem::directory_iterator(folder.path()), {});
  EXPECT_EQ(entries, 1) << "no temporary is left behind";
}

}  // namespace
}  // namespace moeblaze
