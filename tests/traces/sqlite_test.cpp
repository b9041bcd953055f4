#include "traces/formats/sqlite.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "core/base/error.h"

namespace moeblaze {
namespace {

TEST(Sqlite, DatabasesOfUnknownOriginAreBounded) {
  const std::string path = (std::filesystem::temp_directory_path() / fmt::format("sqlite_test.{}", getpid())).string();
  sqlite::Database::create(path).execute(
      "CREATE TABLE t(x); INSERT INTO t VALUES(zeroblob(5000)); CREATE VIEW v AS SELECT 1 AS one");
  sqlite::Database reader =
      sqlite::Database::openToRead(path, {.valueBytes = 4000, .stepTime = std::chrono::milliseconds(50)});
  EXPECT_THROW(reader.integer("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n) SELECT max(i) FROM n"),
               InputError);
  EXPECT_THROW(reader.integer("SELECT x FROM t"), InputError);
  EXPECT_THROW(reader.integer("SELECT one FROM v"), InputError);
  EXPECT_THROW(reader.execute("INSERT INTO t VALUES(1)"), InputError);
  sqlite::Statement statement = reader.prepare("SELECT ?1, ?2, ?3, ?4, NULL");
  statement.bind(5, 0.5, std::string_view("a\0b", 3), sqlite::Blob{"xyz"});
  ASSERT_TRUE(statement.step());
  EXPECT_EQ(statement.integer(0), 5);
  EXPECT_EQ(statement.real(1), 0.5);
  EXPECT_EQ(statement.text(2), std::string_view("a\0b", 3));
  EXPECT_EQ(statement.blob(3), "xyz");
  EXPECT_TRUE(statement.isNull(4));
  EXPECT_THROW(statement.text(0), InputError);
  EXPECT_THROW(statement.integer(4), InputError);
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace moeblaze
