#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <QSignalSpy>

#include "gui/models/flame_tree.h"
#include "gui/panels/flame_view.h"
#include "gui/timeline/index/progress.h"
#include "tests/gui/shell_traces.h"

namespace moeblaze::gui {
namespace {

using testing::HasSubstr;

std::shared_ptr<const FlameTree> smallTree() {
  const std::vector<size_t> allocations{0, 6, 7};
  return std::make_shared<const FlameTree>(smallTrace(), allocations);
}

/// Spells a tree, one "function bytes@offset" a line, indented by depth and in depth-first order.
std::string spelled(const FlameTree& tree, uint32_t node = 0) {
  const FlameTree::Node& n = tree.nodes()[node];
  std::string text = fmt::format("{}{} {}@{}\n", std::string(n.depth, ' '), n.function, n.bytes, n.offset);
  for (uint32_t child : n.children) text += spelled(tree, child);
  return text;
}

TEST(FlameTree, MergesStacksFromTheOutermostFrame) {
  const auto tree = smallTree();
  EXPECT_EQ(spelled(*tree),
            "all 1500@0\n"
            " main 1500@0\n"
            "  save 800@0\n"
            "   empty 800@0\n"
            "  train 700@800\n"
            "   empty 700@800\n");
  EXPECT_EQ(tree->stacklessBytes(), 100);
  EXPECT_EQ(tree->depth(), 4);
  EXPECT_EQ(tree->nodes()[tree->at(2, 799)].function, "save");
  EXPECT_EQ(tree->nodes()[tree->at(2, 800)].function, "train");
  EXPECT_EQ(tree->at(9, 0), tree->at(3, 0)) << "below the last row there is nothing";
}

TEST(FlameTree, SearchCountsBytesOnce) {
  const auto tree = smallTree();
  EXPECT_EQ(tree->search("train.py").second, 1500) << "main's file; train lies beneath it";
  EXPECT_EQ(tree->search("SAVE").second, 800);
  EXPECT_EQ(tree->search("empty").second, 1500);
  EXPECT_EQ(tree->search("nothing").second, 0);
}

TEST(FlameTree, WithoutStacksIsEmpty) {
  const std::vector<size_t> allocations{0, 1};
  const FlameTree tree(smallTrace(), allocations);
  EXPECT_TRUE(tree.empty());
  EXPECT_EQ(tree.stacklessBytes(), 300);
}

TEST(FlameTree, RealStacksAddUp) {
  const auto document = openDocument(kSnapshotSample);
  const auto events = document->events(document->mainTrack());
  const std::vector<size_t> live = events->liveAt(events->peak().timeNs);
  const FlameTree tree(document->trace(), live);
  EXPECT_EQ(tree.nodes()[0].bytes + tree.stacklessBytes(), events->peak().bytes);
  for (const FlameTree::Node& node : tree.nodes()) {
    int64_t beneath = 0;
    for (uint32_t child : node.children) beneath += tree.nodes()[child].bytes;
    EXPECT_LE(beneath, node.bytes);
  }
}

TEST(FlameView, ClicksZoomAndEscapeGoesBack) {
  FlameView view;
  view.resize(1500, 200);
  view.setTree(smallTree());
  view.show();
  ASSERT_TRUE(QTest::qWaitForWindowExposed(&view));
  QSignalSpy zooms(&view, &FlameView::zoomChanged), hovers(&view, &FlameView::hovered);
  const QPoint save(100, 2 * FlameView::kRowHeight + 5), train(1200, 2 * FlameView::kRowHeight + 5);
  ASSERT_TRUE(view.nodeAt(train));
  EXPECT_THAT(view.describe(*view.nodeAt(train)).toStdString(), HasSubstr("train  train.py:9 — 700 B in 1"));
  QTest::mouseMove(&view, save);
  QTest::mouseMove(&view, train);
  EXPECT_TRUE(waitFor([&] { return hovers.count() > 0; }));
  QTest::mouseClick(&view, Qt::LeftButton, {}, train);
  EXPECT_EQ(zooms.count(), 1);
  EXPECT_EQ(view.boxOf(view.zoomed()).width(), view.width());
  EXPECT_EQ(view.nodeAt(save), view.zoomed()) << "it fills its row";
  QTest::mouseClick(&view, Qt::RightButton, {}, train);
  EXPECT_EQ(view.boxOf(view.zoomed()).top(), FlameView::kRowHeight) << "its caller";
  QTest::keyClick(&view, Qt::Key_Escape);
  EXPECT_EQ(view.zoomed(), 0u);
  EXPECT_FALSE(view.nodeAt({5, 190})) << "nothing is drawn there";
}

TEST(FlameView, SearchChangesThePicture) {
  FlameView view;
  view.resize(600, 100);
  view.setTree(smallTree());
  const QImage before = view.grab().toImage();
  EXPECT_EQ(view.setSearch("save"), 800);
  EXPECT_NE(view.grab().toImage(), before);
  EXPECT_EQ(view.setSearch(""), 0);
  EXPECT_EQ(view.grab().toImage(), before);
}

}  // namespace
}  // namespace moeblaze::gui
