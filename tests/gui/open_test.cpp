#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <QDir>
#include <QObject>
#include <algorithm>
#include <filesystem>

#include "core/base/error.h"
#include "core/base/interrupt.h"
#include "gui/jobs/latest_job.h"
#include "gui/open/open_document.h"
#include "gui/open/recent_files.h"
#include "gui/open/samples.h"
#include "tests/gui/shell_traces.h"
#include "tests/support/input_error.h"
#include "tests/support/temp_file.h"

namespace moeblaze::gui {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(OpenDocument, ReadsEverySampleAndReportsHowFar) {
  const std::vector<Sample> all = samples();
  ASSERT_EQ(all.size(), 4u);
  for (const Sample& sample : all) {
    std::vector<double> fractions;
    const auto document =
        openDocument(sample.file.toStdString(), {[&](double fraction) { fractions.push_back(fraction); }, {}});
    EXPECT_EQ(document->path(), sample.file.toStdString());
    EXPECT_TRUE(std::ranges::is_sorted(fractions)) << document->title();
    EXPECT_EQ(fractions.back(), 1);
  }
}

TEST(OpenDocument, StopsAndNamesWrongFiles) {
  std::stop_source stop;
  stop.request_stop();
  EXPECT_THROW(openDocument(kSnapshotSample, {{}, stop.get_token()}), Interrupted);
  const TempFolder folder;
  const std::string file = folder.write("notes.txt", "no trace");
  EXPECT_THAT(inputError([&] { openDocument(file); }), HasSubstr("notes.txt: is no trace"));
}

TEST(LatestJob, OnlyTheLastStartIsHeardOf) {
  QObject owner;
  LatestJob job(&owner);
  std::vector<int> heard;
  const auto start = [&](int number) {
    job.start([number](const std::stop_token&) { return number; }, [&](int value) { heard.push_back(value); },
              [](const QString&) { ADD_FAILURE(); });
  };
  for (int i = 0; i < 20; ++i) start(i);
  EXPECT_TRUE(waitFor([&] { return !job.isRunning(); }));
  QTest::qWait(20);
  EXPECT_THAT(heard, ElementsAre(19));
}

TEST(LatestJob, ErrorsAreSentencesAndStoppingIsSilent) {
  QObject owner;
  LatestJob job(&owner);
  std::vector<std::string> problems;
  const auto failed = [&](const QString& text) { problems.push_back(text.toStdString()); };
  job.start([](const std::stop_token&) -> int { throw InputError("file: is wrong"); }, [](int) {}, failed);
  EXPECT_TRUE(waitFor([&] { return !job.isRunning(); }));
  EXPECT_THAT(problems, ElementsAre("file: is wrong"));
  job.start(
      [](const std::stop_token& stop) -> int {
        while (!stop.stop_requested()) QThread::msleep(1);
        throw Interrupted();
      },
      [](int) { ADD_FAILURE(); }, failed);
  job.cancel();
  QThreadPool::globalInstance()->waitForDone();
  QTest::qWait(10);
  EXPECT_EQ(problems.size(), 1u);
}

TEST(LatestJob, AnOwnerThatIsGoneHearsNothing) {
  bool called = false;
  {
    QObject owner;
    LatestJob job(&owner);
    job.start([](const std::stop_token&) { return 1; }, [&](int) { called = true; }, [](const QString&) {});
  }
  QThreadPool::globalInstance()->waitForDone();
  QTest::qWait(10);
  EXPECT_FALSE(called);
}

TEST(RecentFiles, NewestFirstEachOnceAndOnlyWhatIsThere) {
  const TempFolder folder;
  RecentFiles recent;
  recent.clear();
  const auto file = [&](const char* name) { return QDir::cleanPath(QString::fromStdString(folder.write(name, ""))); };
  const QString a = file("a"), b = file("b");
  recent.add(a);
  recent.add(b);
  recent.add(a);
  EXPECT_EQ(recent.files(), QStringList({a, b}));
  std::filesystem::remove(b.toStdString());
  EXPECT_EQ(recent.files(), QStringList({a}));
  for (int i = 0; i < 15; ++i) recent.add(QString::fromStdString(folder.write(fmt::format("f{}", i), "")));
  EXPECT_EQ(recent.files().size(), RecentFiles::kMaxFiles);
  recent.clear();
  EXPECT_TRUE(recent.files().isEmpty());
}

}  // namespace
}  // namespace moeblaze::gui
