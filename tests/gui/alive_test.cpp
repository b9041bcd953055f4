#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <QAbstractItemModelTester>
#include <chrono>
#include <random>
#include <set>

#include "gui/models/alive_model.h"
#include "tests/gui/shell_traces.h"

namespace moeblaze::gui {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

class Alive : public testing::Test {
 protected:
  std::shared_ptr<const AliveTable> table(AliveQuery query) const {
    query.track = TrackId{0};
    return std::make_shared<const AliveTable>(document_, labels_, query);
  }
  static std::vector<uint32_t> rows(const AliveTable& table) { return {table.rows().begin(), table.rows().end()}; }

  std::shared_ptr<const Document> document_ = makeDocument(smallTrace(), "small");
  std::shared_ptr<const TraceLabels> labels_ = std::make_shared<const TraceLabels>(document_->sharedTrace());
};

AliveQuery at(int64_t ns) {
  AliveQuery query;
  query.instantNs = ns;
  return query;
}

TEST_F(Alive, IsWhatLivesAtTheInstantLargestFirst) {
  EXPECT_THAT(rows(*table(at(25))), ElementsAre(2, 1, 0));
  EXPECT_EQ(table(at(25))->bytes(), 600);
  EXPECT_THAT(rows(*table(at(1000))), ElementsAre(7, 5, 3, 1)) << "frees come before";
  EXPECT_TRUE(rows(*table(at(-1))).empty());
}

TEST_F(Alive, SortsByEveryColumnBothWays) {
  AliveQuery query = at(70);
  const auto sorted = [&](AliveColumn column, bool descending) {
    query.sort = column;
    query.descending = descending;
    return rows(*table(query));
  };
  EXPECT_THAT(sorted(AliveColumn::bytes, false), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
  EXPECT_THAT(sorted(AliveColumn::age, true), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
  EXPECT_THAT(sorted(AliveColumn::name, false), ElementsAre(4, 0, 5, 1, 6, 2, 7, 3));
  EXPECT_THAT(sorted(AliveColumn::name, true), ElementsAre(7, 3, 6, 2, 5, 1, 4, 0));
  EXPECT_THAT(sorted(AliveColumn::role, false), ElementsAre(6, 4, 2, 0, 7, 5, 3, 1));
  EXPECT_THAT(sorted(AliveColumn::step, false), ElementsAre(3, 2, 1, 0, 7, 6, 5, 4));
  EXPECT_EQ(sorted(AliveColumn::stack, false).back(), 6u) << "(no stack), save, train";
}

TEST_F(Alive, GroupsSumUpAndKeepTheirRows) {
  AliveQuery query = at(70);
  query.grouping = Attribute::name;
  const auto grouped = table(query);
  std::vector<std::string> texts;
  for (const AliveTable::Group& group : grouped->groups())
    texts.push_back(fmt::format("{} {} {}", labels_->label(Attribute::name, group.key), group.count, group.bytes));
  EXPECT_THAT(texts, ElementsAre("d 2 1200", "c 2 1000", "b 2 800", "a 2 600"));
  EXPECT_THAT(rows(*grouped), ElementsAre(7, 3, 6, 2, 5, 1, 4, 0));
  EXPECT_EQ(grouped->groupOf(5), 2u);
  for (Attribute attribute : kAttributes) {
    query.grouping = attribute;
    int64_t sum = 0;
    const auto by = table(query);
    for (const AliveTable::Group& group : by->groups()) sum += group.bytes;
    EXPECT_EQ(sum, 3600) << name(attribute);
  }
}

TEST_F(Alive, FilterLooksIntoNamesRolesStepsAndStacks) {
  AliveQuery query = at(70);
  const auto filtered = [&](const char* text) {
    query.filter = text;
    return rows(*table(query));
  };
  EXPECT_THAT(filtered("D"), ElementsAre(7, 6, 4, 3, 2, 0)) << "d, saved, and train's folder /lib/torch, /app/...";
  EXPECT_THAT(filtered("transient"), ElementsAre(7, 5, 3, 1));
  EXPECT_THAT(filtered("two"), ElementsAre(7, 6, 5, 4));
  EXPECT_THAT(filtered("SAVE.py"), ElementsAre(7));
  EXPECT_TRUE(filtered("nothing like it").empty());
  EXPECT_EQ(table(query)->allBytes(), 3600) << "shares are of everything";
}

TEST_F(Alive, CsvHasEveryFieldAndTheWholeStack) {
  const std::string csv = table(at(70))->csv();
  EXPECT_THAT(csv, StartsWith("name,bytes,role,step,age_ms,allocated_ms,stack\n"));
  EXPECT_THAT(csv, HasSubstr("d,800,transient,two,0.0,"));
  EXPECT_THAT(csv, HasSubstr("save  /app/save.py:4\nmain  /app/train.py:3"));
}

TEST_F(Alive, ModelIsSoundFlatAndGrouped) {
  AliveModel model;
  const QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::Fatal);
  model.setTable(table(at(70)));
  EXPECT_EQ(model.rowCount(), 8);
  EXPECT_EQ(model.index(0, 1).data().toString(), "800 B");
  EXPECT_EQ(model.index(0, 4).data().toString(), "two");
  EXPECT_EQ(model.allocationAt(model.index(0, 0)), 7u);
  EXPECT_EQ(model.indexOf(2).row(), 5);
  AliveQuery query = at(70);
  query.grouping = Attribute::role;
  model.setTable(table(query));
  ASSERT_EQ(model.rowCount(), 2);
  EXPECT_EQ(model.index(0, 0).data().toString(), "transient  (4)");
  const QModelIndex found = model.indexOf(0);
  EXPECT_EQ(found.parent().row(), 1);
  EXPECT_EQ(found.data().toString(), "a");
  EXPECT_EQ(model.allocationAt(found.parent()), std::nullopt);
  EXPECT_FALSE(model.indexOf(99).isValid());
  EXPECT_EQ(model.text({found}).count('\t'), kAliveColumns - 1);
  model.setTable(nullptr);
  EXPECT_EQ(model.rowCount(), 0);
}

Trace manyAllocations(size_t count) {
  Trace trace;
  trace.tracks = {{"memory", TrackKind::observed, 0}};
  std::mt19937 random(1);
  for (size_t i = 0; i < count; ++i)
    trace.allocations.push_back({.track = TrackId{0},
                                 .name = trace.strings.add("tensor " + std::to_string(random() % 1000)),
                                 .bytes = static_cast<int64_t>(512 * (1 + random() % 4096)),
                                 .allocNs = static_cast<int64_t>(i)});
  return trace;
}

TEST_F(Alive, AMillionRowsAreHandedOutInBatches) {
  constexpr size_t kCount = 1'000'000;
  document_ = makeDocument(manyAllocations(kCount), "many");
  labels_ = std::make_shared<const TraceLabels>(document_->sharedTrace());
  const auto start = std::chrono::steady_clock::now();
  AliveQuery query = at(kCount);
  query.sort = AliveColumn::name;
  query.filter = "tensor 7";
  const auto filtered = table(query);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  RecordProperty("sort_ms", std::to_string(seconds * 1e3));
  EXPECT_LT(seconds, 3);
  EXPECT_GT(filtered->rows().size(), 100'000u);
  AliveModel model;
  model.setTable(table(at(kCount)));
  EXPECT_EQ(model.rowCount(), static_cast<int>(AliveModel::kBatch));
  EXPECT_TRUE(model.canFetchMore({}));
  model.fetchMore({});
  EXPECT_EQ(model.rowCount(), 2 * static_cast<int>(AliveModel::kBatch));
}

TEST_F(Alive, StopsWhenAsked) {
  std::stop_source stop;
  stop.request_stop();
  AliveQuery query = at(70);
  query.track = TrackId{0};
  EXPECT_THROW(AliveTable(document_, labels_, query, stop.get_token()), Interrupted);
}

TEST(TraceLabels, NamesTheProgramsOwnFrameAndUnknownSteps) {
  Trace trace = smallTrace();
  trace.allocations[0].step = StepId{7};
  const TraceLabels labels(std::make_shared<const Trace>(trace));
  EXPECT_EQ(labels.label(Attribute::stack, trace.allocations[6]), "train (train.py:9)");
  EXPECT_EQ(labels.label(Attribute::step, trace.allocations[0]), "Step 7");
  EXPECT_EQ(labels.label(Attribute::step, trace.allocations[1]), "one");
  EXPECT_EQ(labels.label(Attribute::stack, trace.allocations[0]), "(no stack)");
}

}  // namespace
}  // namespace moeblaze::gui
