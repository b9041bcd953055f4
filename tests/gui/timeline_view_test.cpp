#include "gui/timeline/view/timeline_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <QApplication>
#include <QBuffer>
#include <QElapsedTimer>
#include <QSvgGenerator>
#include <QTest>
#include <QWheelEvent>

#include "gui/timeline/frame/timeline_raster.h"
#include "gui/timeline/paint/timeline_picture.h"
#include "gui/timeline/view/timeline_hits.h"
#include "tests/gui/timeline_traces.h"
#include "traces/open.h"

namespace moeblaze::gui {
namespace {

std::shared_ptr<const Document> sample(const char* file) {
  const std::string path = std::string(MOEBLAZE_SAMPLES "/") + file;
  return std::make_shared<const Document>(std::make_shared<const Trace>(openTrace(path)), path, file);
}

/// Two overlapping allocations, one above the other, within [0, 1000] ns.
std::shared_ptr<const Document> twoAllocations() {
  auto trace = std::make_shared<Trace>();
  trace->tracks = {{"gpu", TrackKind::observed}};
  trace->allocations = {{.track = kTrack,
                         .name = trace->strings.add("low"),
                         .role = Role::saved,
                         .bytes = 600,
                         .allocNs = 0,
                         .freeNs = 1000,
                         .address = 1u << 21},
                        {.track = kTrack,
                         .name = trace->strings.add("high"),
                         .role = Role::transient,
                         .bytes = 400,
                         .allocNs = 500,
                         .freeNs = 900,
                         .address = (1u << 21) + 4096}};
  trace->spans = {{kTrack, trace->strings.add("kernel"), 100, 300}};
  return std::make_shared<const Document>(trace, "", "two");
}

class TimelineViewTest : public testing::Test {
 protected:
  TimelineViewTest() {
    view_ = std::make_unique<TimelineView>(&state_);
    view_->resize(1000, 600);
    view_->show();
  }

  void open(std::shared_ptr<const Document> document) {
    state_.setDocument(std::move(document));
    waitUntilDrawn();
  }
  void waitUntilDrawn() {
    EXPECT_TRUE(QTest::qWaitFor([&] { return view_->isUpToDate(); }, 20'000));
  }
  TimelineLayout layout() const {
    return layOutTimeline(view_->viewport()->size(), state_.view(), {}, spanRows(*state_.document()), 0);
  }
  /// The place in a pane of a time and of a fraction of its height from the bottom.
  QPoint placeOf(Pane pane, int64_t timeNs, double share) const {
    const TimelineLayout layout = this->layout();
    const QRect body = layout.find(pane)->body;
    const double x = layout.left() + TimeScale(state_.view().window, layout.width()).xOf(timeNs);
    return {static_cast<int>(x), static_cast<int>(body.bottom() - share * body.height())};
  }
  void press(Qt::Key key, Qt::KeyboardModifiers modifiers = {}) { QTest::keyClick(view_.get(), key, modifiers); }
  void turnWheel(const QPoint& at, int notches) {
    QWheelEvent event(at, view_->viewport()->mapToGlobal(at), {}, {0, 120 * notches}, Qt::NoButton, Qt::NoModifier,
                      Qt::NoScrollPhase, false);
    QApplication::sendEvent(view_->viewport(), &event);
  }
  void dragMouse(const QPoint& from, const QPoint& to, Qt::KeyboardModifiers modifiers = {}) {
    QTest::mousePress(view_->viewport(), Qt::LeftButton, modifiers, from);
    for (const QPoint& at : {(from + to) / 2, to}) {
      QMouseEvent move(QEvent::MouseMove, at, view_->viewport()->mapToGlobal(at), Qt::NoButton, Qt::LeftButton,
                       modifiers);
      QApplication::sendEvent(view_->viewport(), &move);
    }
    QTest::mouseRelease(view_->viewport(), Qt::LeftButton, modifiers, to);
  }

  ViewState state_;
  std::unique_ptr<TimelineView> view_;
};

TEST_F(TimelineViewTest, KeysZoomPanAndFit) {
  open(twoAllocations());
  const TimeWindow all = state_.document()->bounds();
  EXPECT_EQ(state_.view().window, all);
  press(Qt::Key_W);
  const TimeWindow zoomed = state_.view().window;
  EXPECT_NEAR(static_cast<double>(zoomed.spanNs()), static_cast<double>(all.spanNs()) / 1.5, 2);
  press(Qt::Key_D);
  EXPECT_GT(state_.view().window.startNs, zoomed.startNs);
  press(Qt::Key_A);
  EXPECT_NEAR(static_cast<double>(state_.view().window.startNs), static_cast<double>(zoomed.startNs), 2);
  press(Qt::Key_S);
  press(Qt::Key_F);
  EXPECT_EQ(state_.view().window, all);
}

TEST_F(TimelineViewTest, WheelZoomsAtTheCursor) {
  open(twoAllocations());
  const QPoint at = placeOf(Pane::memory, 700, 0.5);
  const auto timeAt = [&] {
    return TimeScale(state_.view().window, layout().width()).timeAt(at.x() - layout().left());
  };
  const int64_t before = timeAt();
  turnWheel(at, 3);
  EXPECT_LT(state_.view().window.spanNs(), state_.document()->bounds().spanNs() * 6 / 10);
  EXPECT_NEAR(static_cast<double>(timeAt()), static_cast<double>(before), 1.1);
}

TEST_F(TimelineViewTest, UndoTakesGesturesTogether) {
  open(twoAllocations());
  const TimeWindow all = state_.document()->bounds();
  for (int i = 0; i < 4; ++i) turnWheel(placeOf(Pane::memory, 500, 0.5), 1);
  const TimeWindow zoomed = state_.view().window;
  press(Qt::Key_Z, Qt::ControlModifier);
  EXPECT_EQ(state_.view().window, all);
  EXPECT_FALSE(state_.canUndo());
  press(Qt::Key_Z, Qt::ControlModifier | Qt::ShiftModifier);
  EXPECT_EQ(state_.view().window, zoomed);
  state_.setCategories(Attribute::name);
  state_.undo();
  EXPECT_EQ(state_.view().categories, Attribute::role);
}

TEST_F(TimelineViewTest, PeakAndEvents) {
  open(twoAllocations());
  press(Qt::Key_M);
  EXPECT_EQ(state_.view().instantNs, 500);
  press(Qt::Key_BracketRight);
  EXPECT_EQ(state_.view().instantNs, 900);
  press(Qt::Key_BracketLeft);
  press(Qt::Key_BracketLeft);
  EXPECT_EQ(state_.view().instantNs, 0);
  state_.setWindow({700, 760});
  press(Qt::Key_M);
  EXPECT_TRUE(state_.view().window.contains(500));
}

TEST_F(TimelineViewTest, DraggingPansAndSelects) {
  open(twoAllocations());
  state_.setWindow({200, 600});
  dragMouse(placeOf(Pane::memory, 400, 0.5), placeOf(Pane::memory, 300, 0.5));
  EXPECT_NEAR(static_cast<double>(state_.view().window.startNs), 300, 2);
  EXPECT_FALSE(state_.view().instantNs);
  dragMouse(placeOf(Pane::memory, 400, 0.5), placeOf(Pane::memory, 600, 0.2), Qt::ShiftModifier);
  ASSERT_TRUE(state_.view().range);
  EXPECT_NEAR(static_cast<double>(state_.view().range->startNs), 400, 2);
  EXPECT_NEAR(static_cast<double>(state_.view().range->endNs), 600, 2);
  press(Qt::Key_F);
  EXPECT_EQ(state_.view().window, *state_.view().range);
  press(Qt::Key_F);
  EXPECT_EQ(state_.view().window, state_.document()->bounds());
  const int axis = TimelineLayout::kAxis / 2;
  dragMouse({placeOf(Pane::memory, 100, 0).x(), axis}, {placeOf(Pane::memory, 200, 0).x(), axis});
  EXPECT_NEAR(static_cast<double>(state_.view().range->startNs), 100, 2);
  QTest::mouseClick(view_->viewport(), Qt::LeftButton, {}, {300, axis});
  EXPECT_FALSE(state_.view().range);
}

TEST_F(TimelineViewTest, ClickingChoosesWhatIsThere) {
  open(twoAllocations());
  state_.setPaneVisible(Pane::stack, true);
  state_.setPaneVisible(Pane::addresses, true);
  waitUntilDrawn();
  const auto click = [&](Pane pane, int64_t timeNs, double share) {
    QTest::mouseClick(view_->viewport(), Qt::LeftButton, {}, placeOf(pane, timeNs, share));
  };
  click(Pane::stack, 700, 0.3);
  EXPECT_EQ(state_.view().allocation, 0u);
  click(Pane::stack, 700, 0.75);
  EXPECT_EQ(state_.view().allocation, 1u);
  click(Pane::stack, 300, 0.75);
  EXPECT_FALSE(state_.view().allocation);
  click(Pane::memory, 300, 0.75);
  EXPECT_NEAR(static_cast<double>(*state_.view().instantNs), 300, 2);
  press(Qt::Key_Escape);
  EXPECT_FALSE(state_.view().allocation);
}

TEST_F(TimelineViewTest, HoveringTellsWhatIsThere) {
  open(twoAllocations());
  state_.setPaneVisible(Pane::stack, true);
  waitUntilDrawn();
  const TimelineLayout layout = this->layout();
  const TimelineTheme theme(view_->palette());
  TimelineQuery query{state_.document(), state_.view(), layout.width(), {}, 1, true};
  for (const TimelineLayout::Area& area : layout.areas)
    query.heights[static_cast<size_t>(area.pane)] = area.body.height();
  const TimelineFrame frame = makeFrame(query);
  const TimelineCanvas canvas{layout, theme, state_.view(), *state_.document(), &frame, view_->font()};
  const auto text = [&](const QPoint& at) { return describe(canvas, hitTimeline(canvas, at)).toStdString(); };
  EXPECT_THAT(text(placeOf(Pane::memory, 700, 0.8)),
              testing::AllOf(testing::HasSubstr("1000 B"), testing::HasSubstr("<b>transient</b>"),
                             testing::HasSubstr("600 B")));
  EXPECT_THAT(text(placeOf(Pane::stack, 700, 0.8)),
              testing::AllOf(testing::HasSubstr("<b>high</b>"), testing::HasSubstr("transient"),
                             testing::HasSubstr("400 B"), testing::HasSubstr("age here")));
  EXPECT_THAT(text(placeOf(Pane::spans, 200, 0.5)),
              testing::AllOf(testing::HasSubstr("kernel"), testing::HasSubstr("300 ns")));
  EXPECT_EQ(text(placeOf(Pane::spans, 50, 0.5)), "");
}

TEST_F(TimelineViewTest, PanesCollapseAndResize) {
  open(twoAllocations());
  state_.setPaneVisible(Pane::stack, true);
  waitUntilDrawn();
  const TimelineLayout before = layout();
  const int edge = before.find(Pane::stack)->heading.top();
  const QColor line = view_->grab().toImage().pixelColor(4, edge);
  dragMouse({400, edge}, {400, edge + 60});
  waitUntilDrawn();
  EXPECT_EQ(view_->grab().toImage().pixelColor(4, edge + 60), line);  // the upper edge of the heading moved along
  EXPECT_NE(view_->grab().toImage().pixelColor(4, edge), line);
  const int heading = before.find(Pane::memory)->heading.center().y();
  QTest::mouseClick(view_->viewport(), Qt::LeftButton, {}, {20, heading});
  waitUntilDrawn();
  EXPECT_EQ(view_->grab().toImage().pixelColor(4, TimelineLayout::kAxis + TimelineLayout::kHeading), line);
  QTest::mouseClick(view_->viewport(), Qt::LeftButton, {}, {20, heading});
  waitUntilDrawn();
  EXPECT_EQ(view_->grab().toImage().pixelColor(4, edge + 60), line);
}

TEST_F(TimelineViewTest, ASecondTrackIsALineOverTheBands) {
  open(twoAllocations());
  auto trace = std::make_shared<Trace>();
  trace->tracks = {{"plan", TrackKind::planned}};
  trace->allocations = {{.track = kTrack, .bytes = 900, .allocNs = 0, .freeNs = 1000}};
  const auto plan = std::make_shared<const Document>(trace, "", "plan");
  state_.setOverlay({plan, kTrack});
  waitUntilDrawn();
  TimelineQuery query{state_.document(), state_.view(), 500, {400, 0, 0, 0}, 1, true};
  const TimelineFrame frame = makeFrame(query);
  const TimelineTheme theme(view_->palette());
  const QImage image = rasterPane(frame, Pane::memory, theme);
  const int x = static_cast<int>(frame.scale.xOf(250)), y = static_cast<int>(ByteScale(frame.topBytes, 400).yOf(900));
  EXPECT_TRUE(image.pixelColor(x, y) == theme.overlay() || image.pixelColor(x, y - 1) == theme.overlay());
  state_.undo();
  EXPECT_EQ(state_.view().overlay.track, TrackId::none);
}

TEST_F(TimelineViewTest, NewerDocumentsAndEmptyOnes) {
  open(twoAllocations());
  // A newer state of the same document: the old frame stays until the new one is drawn.
  state_.setDocument(twoAllocations());
  EXPECT_FALSE(view_->isUpToDate());
  view_->viewport()->repaint();
  QTest::mouseClick(view_->viewport(), Qt::LeftButton, {}, placeOf(Pane::memory, 300, 0.5));
  waitUntilDrawn();
  open(std::make_shared<const Document>(std::make_shared<Trace>(), "", "empty"));
  for (Qt::Key key : {Qt::Key_M, Qt::Key_BracketLeft, Qt::Key_BracketRight, Qt::Key_F, Qt::Key_W}) press(key);
  QTest::mouseClick(view_->viewport(), Qt::LeftButton, {}, {500, 200});
  state_.setDocument(nullptr);
  press(Qt::Key_W);
  view_->grab();
}

/// Bands have the right order, and each is as high as its bytes.
TEST_F(TimelineViewTest, BandsAreAsHighAsTheirBytes) {
  const auto document = twoAllocations();
  open(document);
  const TimelineTheme theme(view_->palette());
  TimelineQuery query{document, state_.view(), 500, {400, 0, 0, 0}, 1, true};
  const TimelineFrame frame = makeFrame(query);
  const QImage image = rasterPane(frame, Pane::memory, theme);
  const ByteScale scale(frame.topBytes, 400);
  const auto at = [&](int64_t timeNs, double bytes) {
    return image.pixelColor(static_cast<int>(frame.scale.xOf(timeNs)), static_cast<int>(scale.yOf(bytes)));
  };
  EXPECT_EQ(at(300, 300), theme.role(Role::saved));
  EXPECT_EQ(at(300, 700), theme.background());
  EXPECT_EQ(at(700, 300), theme.role(Role::saved));
  EXPECT_EQ(at(700, 800), theme.role(Role::transient));
  EXPECT_EQ(at(950, 700), theme.background());
}

TEST_F(TimelineViewTest, SamplesAreDrawnInLightAndDark) {
  for (const char* file : {"conf3_moeblaze_simulated.mbtrace", "kineto_qwen3moe_2layer.json.gz",
                           "torch_snapshot_qwen3moe_2layer.pickle"}) {
    open(sample(file));
    for (Pane pane : {Pane::stack, Pane::addresses}) state_.setPaneVisible(pane, true);
    for (Attribute attribute : kAttributes) {
      state_.setCategories(attribute);
      waitUntilDrawn();
    }
    const QImage light = view_->grab().toImage();
    QPalette dark = view_->palette();
    dark.setColor(QPalette::Base, Qt::black);
    dark.setColor(QPalette::Text, Qt::white);
    view_->setPalette(dark);
    waitUntilDrawn();
    const QPoint empty(TimelineLayout::kLabels + 2, 70);  // before the first event
    EXPECT_LT(qGray(view_->grab().toImage().pixel(empty)), 60) << file;
    EXPECT_GT(qGray(light.pixel(empty)), 180) << file;
    view_->setPalette({});
  }
}

/// Moving never waits: a repaint between frames shows the last frame stretched.
TEST_F(TimelineViewTest, RepaintsAtOnceWhileFramesAreMade) {
  open(std::make_shared<const Document>(randomTrace(3, 300'000, 500, false), "", "random"));
  state_.setPaneVisible(Pane::stack, true);
  waitUntilDrawn();
  QElapsedTimer timer;
  qint64 slowest = 0;
  for (int i = 0; i < 60; ++i) {
    timer.start();
    turnWheel(placeOf(Pane::memory, 50'000'000, 0.5), i % 20 < 10 ? 1 : -1);
    view_->viewport()->repaint();
    slowest = std::max(slowest, timer.elapsed());
  }
  // Far above the usual time, and far below the time of waiting for every frame under a sanitizer.
  EXPECT_LT(slowest, 500);
  waitUntilDrawn();
}

TEST(TimelinePicture, PngAndSvgHoldTheSamePanes) {
  ViewState state;
  state.setDocument(sample("conf3_moeblaze_simulated.mbtrace"));
  state.setPaneVisible(Pane::stack, true);
  const TimelinePicture picture{state.document(), state.view(), QPalette(), QFont()};
  QImage image(900, 600, QImage::Format_RGB32);
  image.fill(Qt::magenta);
  QPainter painter(&image);
  paintTimeline(painter, image.size(), picture);
  painter.end();
  for (int x : {0, 450, 899}) EXPECT_NE(image.pixelColor(x, 300), QColor(Qt::magenta));

  QByteArray svg;
  QBuffer buffer(&svg);
  QSvgGenerator generator;
  generator.setOutputDevice(&buffer);
  generator.setSize(image.size());
  painter.begin(&generator);
  paintTimeline(painter, image.size(), picture);
  painter.end();
  EXPECT_TRUE(svg.contains("peak 6.504 GiB"));
  EXPECT_FALSE(svg.contains("<image"));  // polygons, not pixels
  EXPECT_LT(svg.size(), 500'000);
}

}  // namespace
}  // namespace moeblaze::gui
