#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <QSignalSpy>

#include "gui/document/swap_document.h"
#include "gui/document/view_state.h"
#include "gui/live/live_source.h"
#include "gui/shell/document_page.h"
#include "tests/gui/shell_traces.h"
#include "tests/support/recording_file.h"
#include "tests/support/temp_file.h"
#include "traces/store/store.h"

namespace moeblaze::gui {
namespace {

using testing::HasSubstr;

/// Adds allocations, 1 µs apart, and flushes them.
void grow(RecordingFile& recording, int allocations) {
  for (int i = 0; i < allocations; ++i) recording.allocate(100, {}, 1000);
  recording.writer.flush();
}

TEST(LiveSource, TellsOfGrowthUntilTheEnd) {
  RecordingFile recording;
  grow(recording, 3);
  LiveSource source(recording.path);
  std::vector<size_t> sizes;
  QObject::connect(&source, &LiveSource::grew, &source, [&](const std::shared_ptr<const Document>& document) {
    sizes.push_back(document->trace().allocations.size());
  });
  QSignalSpy finished(&source, &LiveSource::finished);
  source.start();
  EXPECT_TRUE(waitFor([&] { return sizes.size() == 1; }));
  grow(recording, 2);
  EXPECT_TRUE(waitFor([&] { return sizes.size() == 2; }));
  EXPECT_EQ(finished.count(), 0);
  recording.writer.finish();
  EXPECT_TRUE(waitFor([&] { return finished.count() == 1; }));
  EXPECT_EQ(sizes, (std::vector<size_t>{3, 5, 5}));
  EXPECT_TRUE(source.isFinished());
}

TEST(LiveSource, WaitsForAFileThatIsNotThereYet) {
  const TempFolder folder;
  const std::string path = (folder.path() / "live.mbtrace").string();
  LiveSource source(path);
  QSignalSpy failed(&source, &LiveSource::failed), grew(&source, &LiveSource::grew);
  source.start();
  EXPECT_TRUE(waitFor([&] { return failed.count() == 1; }));
  EXPECT_THAT(failed[0][0].toString().toStdString(), HasSubstr("live.mbtrace"));
  QTest::qWait(LiveSource::kRetryMs + 200);
  EXPECT_EQ(failed.count(), 1) << "once for the same problem";
  TraceWriter writer(path);
  writer.addTrack({"memory", TrackKind::observed, 0});
  writer.flush();
  EXPECT_TRUE(waitFor([&] { return grew.count() == 1; }));
}

TEST(DocumentPage, FollowsARecordingAtItsRightEnd) {
  RecordingFile recording;
  grow(recording, 50);
  DocumentPage page(QString::fromStdString(recording.path));
  ASSERT_TRUE(waitFor([&] { return page.document() && page.isLive(); }));
  EXPECT_THAT(page.liveText().toStdString(), HasSubstr("recording"));
  const auto events = [&] { return page.document()->trace().allocations.size(); };

  grow(recording, 10);
  ASSERT_TRUE(waitFor([&] { return events() == 60; }));
  EXPECT_EQ(page.state()->view().window, page.document()->bounds()) << "who sees all goes on seeing all";

  const int64_t end = page.document()->bounds().endNs;
  page.state()->setWindow({end - 5000, end});
  grow(recording, 10);
  ASSERT_TRUE(waitFor([&] { return events() == 70; }));
  EXPECT_EQ(page.state()->view().window.endNs, page.document()->bounds().endNs);
  EXPECT_EQ(page.state()->view().window.spanNs(), 5000);

  page.state()->setWindow({10'000, 20'000});
  page.state()->setInstant(15'000);
  page.state()->setAllocation(12);
  grow(recording, 10);
  ASSERT_TRUE(waitFor([&] { return events() == 80; }));
  EXPECT_EQ(page.state()->view().window, (TimeWindow{10'000, 20'000})) << "who went elsewhere stays there";
  EXPECT_EQ(page.state()->view().instantNs, 15'000);
  EXPECT_EQ(page.state()->view().allocation, 12u);

  recording.writer.finish();
  EXPECT_TRUE(waitFor([&] { return page.liveText() == "finished"; }));
}

TEST(SwapDocument, AnotherAnswerShowsAllAndForgetsTheSelection) {
  ViewState state;
  swapDocument(state, makeDocument(smallTrace(), "one"), Follow::all, false);
  state.setAllocation(3);
  state.setWindow({0, 20});
  const auto next = makeDocument(smallTrace(), "two");
  swapDocument(state, next, Follow::all, false);
  EXPECT_EQ(state.document(), next);
  EXPECT_EQ(state.view().window, next->bounds());
  EXPECT_EQ(state.view().allocation, std::nullopt);
  EXPECT_FALSE(state.canUndo());
}

}  // namespace
}  // namespace moeblaze::gui
