#include "gui/shell/main_window.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <QApplication>
#include <QClipboard>
#include <QComboBox>
#include <QDialog>
#include <QDockWidget>
#include <QDragEnterEvent>
#include <QDropEvent>
#include <QHeaderView>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QMenuBar>
#include <QMimeData>
#include <QPushButton>
#include <QSignalSpy>
#include <QSlider>
#include <QSpinBox>
#include <QTabWidget>
#include <QTreeView>
#include <filesystem>

#include "gui/compare/compare_page.h"
#include "gui/compare/difference_model.h"
#include "gui/document/view_state.h"
#include "gui/panels/alive_panel.h"
#include "gui/panels/flame_panel.h"
#include "gui/panels/flame_view.h"
#include "gui/shell/document_page.h"
#include "gui/shell/view_bar.h"
#include "gui/timeline/view/timeline_view.h"
#include "gui/units/units.h"
#include "gui/whatif/what_if_fields.h"
#include "gui/whatif/what_if_page.h"
#include "tests/gui/shell_traces.h"
#include "tests/support/temp_file.h"

namespace moeblaze::gui {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

/// A real window that is used with mouse and keys.
class Window : public testing::Test {
 protected:
  void SetUp() override {
    window_.resize(1300, 850);
    window_.show();
    ASSERT_TRUE(QTest::qWaitForWindowExposed(&window_));
    window_.activateWindow();
    ASSERT_TRUE(QTest::qWaitForWindowActive(&window_));
  }

  template <typename Widget>
  Widget* find(const char* name) {
    Widget* widget = window_.findChild<Widget*>(name);
    EXPECT_NE(widget, nullptr) << name;
    return widget;
  }
  QAction* action(const QString& text) {
    for (QAction* action : window_.findChildren<QAction*>())
      if (action->text().remove('&') == text) return action;
    ADD_FAILURE() << "no action " << text.toStdString();
    return nullptr;
  }
  void openAndWait(const std::string& path) {
    const size_t before = window_.documents().size();
    window_.openFiles({QString::fromStdString(path)});
    ASSERT_TRUE(waitFor([&] { return window_.documents().size() == before + 1 && aliveIsShown(); }));
  }
  bool aliveIsShown() { return window_.alive()->model()->table() && !window_.alive()->isBusy(); }
  DocumentPage* page() { return qobject_cast<DocumentPage*>(window_.tabs()->currentWidget()); }
  ViewState& state() { return *window_.currentState(); }
  AliveModel& alive() { return *window_.alive()->model(); }
  std::string title() { return find<QLabel>("aliveTitle")->text().toStdString(); }
  /// Presses a key in the widget that has the focus.
  void key(Qt::Key key, Qt::KeyboardModifiers modifiers = {}) {
    QWidget* target = QApplication::focusWidget() ? QApplication::focusWidget() : &window_;
    QTest::keyClick(target, key, modifiers);
  }

  MainWindow window_;
};

TEST_F(Window, StartPageOpensASampleInOneClick) {
  QTest::mouseClick(find<QPushButton>("sample1"), Qt::LeftButton);
  ASSERT_TRUE(waitFor([&] { return page() && page()->document() && aliveIsShown(); }));
  EXPECT_EQ(alive().table()->bytes(), page()->document()->events(state().view().track)->peak().bytes);
  EXPECT_THAT(title(), HasSubstr("the peak"));
  EXPECT_EQ(window_.recent()->files().first(), page()->path());
  openAndWait(kPlanSample);
  window_.openFiles({window_.recent()->files().last()});
  EXPECT_EQ(window_.documents().size(), 2u) << "what is open comes to the front";
}

TEST_F(Window, KeysMoveTheTimelineAndTheTableFollows) {
  openAndWait(kPlanSample);
  page()->timeline()->setFocus();
  const TimeWindow all = state().view().window;
  key(Qt::Key_W);
  EXPECT_LT(state().view().window.spanNs(), all.spanNs());
  key(Qt::Key_D);
  key(Qt::Key_F);
  EXPECT_EQ(state().view().window, all);
  key(Qt::Key_Z, Qt::ControlModifier);
  EXPECT_NE(state().view().window, all);
  key(Qt::Key_Z, Qt::ControlModifier | Qt::ShiftModifier);
  EXPECT_EQ(state().view().window, all);
  key(Qt::Key_M);
  const int64_t peakNs = state().view().instantNs.value();
  key(Qt::Key_BracketRight);
  EXPECT_GT(state().view().instantNs.value(), peakNs);
  ASSERT_TRUE(
      waitFor([&] { return aliveIsShown() && alive().table()->query().instantNs == state().view().instantNs; }));
  EXPECT_EQ(alive().table()->bytes(),
            state().document()->events(state().view().track)->bytesAt(*state().view().instantNs));
  key(Qt::Key_BracketLeft);
  EXPECT_EQ(state().view().instantNs, peakNs);
  const Attribute bands = state().view().categories;
  key(Qt::Key_C);
  EXPECT_NE(state().view().categories, bands);
}

TEST_F(Window, ToolbarSwitchesBandsPanesAndTracks) {
  openAndWait(kPlanSample);
  find<QComboBox>("bands")->setCurrentIndex(static_cast<int>(Attribute::name));
  EXPECT_EQ(state().view().categories, Attribute::name);
  window_.viewBar()->panes()[static_cast<int>(Pane::stack)]->trigger();
  EXPECT_TRUE(state().view().panes[static_cast<size_t>(Pane::stack)]);
  EXPECT_EQ(find<QComboBox>("tracks")->count(), 1);
  state().setCategories(Attribute::step);
  EXPECT_EQ(find<QComboBox>("bands")->currentIndex(), static_cast<int>(Attribute::step)) << "and follows the view";
}

TEST_F(Window, AliveTableSortsGroupsFiltersAndCopies) {
  openAndWait(kSnapshotSample);
  const auto settled = [&](auto&& check) {
    return waitFor([&] { return aliveIsShown() && check(alive().table()->query()); });
  };
  QTreeView* view = find<QTreeView>("aliveView");
  QHeaderView* header = view->header();
  QTest::mouseClick(header->viewport(), Qt::LeftButton, {},
                    {header->sectionViewportPosition(static_cast<int>(AliveColumn::age)) + 10, header->height() / 2});
  EXPECT_TRUE(settled([](const AliveQuery& query) { return query.sort == AliveColumn::age; }));

  find<QComboBox>("grouping")->setCurrentIndex(4);
  EXPECT_TRUE(settled([](const AliveQuery& query) { return query.grouping == Attribute::stack; }));
  EXPECT_GT(alive().rowCount(), 3);
  view->expand(alive().index(0, 0));

  page()->timeline()->setFocus();
  key(Qt::Key_Slash);
  EXPECT_TRUE(find<QLineEdit>("filter")->hasFocus());
  QTest::keyClicks(QApplication::focusWidget(), "fmc");
  EXPECT_EQ(find<QLineEdit>("filter")->text(), "fmc") << "letters that are keys elsewhere";
  find<QLineEdit>("filter")->setText("cross_entropy");
  EXPECT_TRUE(settled([](const AliveQuery& query) { return query.filter == "cross_entropy"; }));
  EXPECT_THAT(title(), HasSubstr("filter shows 250.0 MiB"));
  key(Qt::Key_Escape);
  EXPECT_TRUE(settled([](const AliveQuery& query) { return query.filter.empty(); }));

  find<QComboBox>("grouping")->setCurrentIndex(0);
  EXPECT_TRUE(settled([](const AliveQuery& query) { return !query.grouping; }));
  view->setFocus();
  view->setCurrentIndex(alive().index(0, 0));
  QTest::keyClick(view, Qt::Key_C, Qt::ControlModifier);
  EXPECT_THAT(QApplication::clipboard()->text().toStdString(), HasSubstr("\t"));
}

TEST_F(Window, SelectionGoesBothWays) {
  openAndWait(kPlanSample);
  QTreeView* view = find<QTreeView>("aliveView");
  const QRect row = view->visualRect(alive().index(1, 0));
  QTest::mouseClick(view->viewport(), Qt::LeftButton, {}, row.center());
  EXPECT_EQ(state().view().allocation, alive().allocationAt(alive().index(1, 0)));
  const size_t other = *alive().allocationAt(alive().index(3, 0));
  state().setAllocation(other);
  EXPECT_EQ(alive().allocationAt(view->currentIndex()), other);
  state().setAllocation(std::nullopt);
  EXPECT_FALSE(view->currentIndex().isValid());
}

TEST_F(Window, FlameGraphFollowsTheInstant) {
  openAndWait(kSnapshotSample);
  find<QDockWidget>("flameDock")->raise();
  FlameView* flame = window_.findChild<FlamePanel*>()->view();
  ASSERT_TRUE(waitFor([&] { return flame->isVisible() && flame->nodeAt({100, 30}).has_value(); }));
  EXPECT_THAT(find<QLabel>("flameTitle")->text().toStdString(), HasSubstr("more without a stack"));
  QTest::mouseClick(flame, Qt::LeftButton, {}, {100, 4 * FlameView::kRowHeight + 5});
  EXPECT_NE(flame->zoomed(), 0u);
  find<QLineEdit>("flameSearch")->setText("cross_entropy");
  EXPECT_THAT(find<QLabel>("flameTitle")->text().toStdString(), HasSubstr("250.0 MiB match"));
  state().setInstant(state().document()->bounds().startNs);
  EXPECT_TRUE(waitFor([&] { return !flame->isVisible(); })) << "nothing is alive there";
}

TEST_F(Window, WhatIfAnswersShowsProblemsAndGoesToCompare) {
  openAndWait(kPlanSample);
  window_.showWhatIf();
  WhatIfPage* whatIf = window_.whatIf();
  ASSERT_TRUE(waitFor([&] { return whatIf->document() != nullptr; }));
  const auto peak = [&] { return whatIf->document()->events(whatIf->document()->mainTrack())->peak().bytes; };
  const auto updates = [&](auto&& act) {
    QSignalSpy updated(whatIf, &WhatIfPage::updated);
    act();
    return waitFor([&] { return updated.count() > 0; });
  };
  const int64_t before = peak();
  EXPECT_TRUE(updates([&] { find<QSlider>("tokensSlider")->setValue(20); }));
  EXPECT_LT(peak(), before);
  EXPECT_TRUE(updates([&] { find<QComboBox>("system")->setCurrentText("megablocks"); }));
  EXPECT_TRUE(waitFor([&] { return alive().table() && aliveIsShown(); }));

  EXPECT_TRUE(updates([&] { find<QComboBox>("system")->setEditText("megablocs"); }));
  EXPECT_THAT(find<QLabel>("problem2")->text().toStdString(), HasSubstr("did you mean 'megablocks'"));
  EXPECT_TRUE(find<QLabel>("problem2")->isVisible());
  EXPECT_FALSE(find<QPushButton>("compare")->isEnabled());
  EXPECT_TRUE(updates([&] { find<QComboBox>("system")->setEditText("megablocks"); }));
  EXPECT_FALSE(find<QLabel>("problem2")->isVisible());

  EXPECT_TRUE(updates([&] { find<QComboBox>("routing")->setCurrentIndex(1); }));
  EXPECT_TRUE(updates([&] { find<QSlider>("skewSlider")->setValue(30); }));
  EXPECT_EQ(whatIf->fields()->inputs().routing, "zipf:1.5");
  EXPECT_TRUE(updates([&] { find<QDoubleSpinBox>("budget")->setValue(0.2); }));
  EXPECT_THAT(find<QLabel>("fit")->text().toStdString(), HasSubstr("Does not fit in 204.8 MiB"));

  QTest::mouseClick(find<QPushButton>("compare"), Qt::LeftButton);
  ComparePage* compare = window_.comparePage();
  ASSERT_TRUE(waitFor([&] { return compare && compare->comparison() != nullptr; }));
  EXPECT_EQ(compare->comparison()->bTrack().document, whatIf->document());
  EXPECT_EQ(compare->comparison()->aTrack().document, window_.documents()[0]);
}

TEST_F(Window, WhatIfFieldsKeepTheConfigsOwnTokens) {
  window_.showWhatIf();
  WhatIfPage* whatIf = window_.whatIf();
  ASSERT_TRUE(waitFor([&] { return whatIf->document() != nullptr; }));
  EXPECT_EQ(find<QSpinBox>("tokens")->value(), loadConfig("conf3").layer.tokens);
  QSignalSpy updated(whatIf, &WhatIfPage::updated);
  whatIf->fields()->setInputs({.config = "deepseek-v3", .tokens = 3000, .routing = "zipf:0.5"});
  EXPECT_EQ(whatIf->fields()->inputs(), (WhatIfInputs{.config = "deepseek-v3", .tokens = 3000, .routing = "zipf:0.5"}));
  ASSERT_TRUE(waitFor([&] { return updated.count() > 0; }));
  find<QComboBox>("config")->setCurrentText("conf3");
  EXPECT_EQ(whatIf->fields()->inputs().tokens, 0) << "another layer has its own";
}

TEST_F(Window, CompareAlignsSortsAndSaves) {
  const TempFolder folder;
  openAndWait(kPlanSample);
  openAndWait(kSnapshotSample);
  QTest::keyClick(&window_, Qt::Key_D, Qt::ControlModifier);
  ComparePage* compare = window_.comparePage();
  ASSERT_TRUE(waitFor([&] { return compare && compare->comparison() && compare->model()->rowCount() > 0; }));
  EXPECT_FALSE(find<QDockWidget>("aliveDock")->isVisible()) << "panels of one timeline have nothing to say";
  EXPECT_THAT(find<QLabel>("compareSummary")->text().toStdString(), HasSubstr("GiB"));
  find<QComboBox>("alignment")->setCurrentIndex(1);
  EXPECT_TRUE(waitFor([&] { return find<QLabel>("compareSummary")->text().contains("no common Steps"); }));
  const int names = compare->model()->rowCount();
  find<QComboBox>("differencesBy")->setCurrentIndex(1);
  EXPECT_LT(compare->model()->rowCount(), names);

  const auto saved = [&](const char* name, auto&& save) {
    const std::string path = (folder.path() / name).string();
    save(QString::fromStdString(path));
    return waitFor([&] { return std::filesystem::exists(path) && std::filesystem::file_size(path) > 100; });
  };
  EXPECT_TRUE(saved("compare.png", [&](const QString& path) { window_.savePicture(path); }));
  EXPECT_TRUE(saved("compare.csv", [&](const QString& path) { window_.saveCsv(path); }));
  window_.tabs()->setCurrentIndex(1);
  EXPECT_TRUE(find<QDockWidget>("aliveDock")->isVisible()) << "and are back";
  ASSERT_TRUE(waitFor([&] { return aliveIsShown(); }));
  EXPECT_TRUE(saved("view.svg", [&](const QString& path) { window_.savePicture(path); }));
  EXPECT_TRUE(saved("peak.png", [&](const QString& path) { window_.savePeak(path); }));
  EXPECT_TRUE(saved("alive.csv", [&](const QString& path) { window_.saveCsv(path); }));
}

TEST_F(Window, ClosingATabLeavesNothingBehind) {
  openAndWait(kPlanSample);
  openAndWait(kSnapshotSample);
  window_.compare(nullptr, nullptr);
  ASSERT_TRUE(waitFor([&] { return window_.comparePage()->comparison() != nullptr; }));
  window_.tabs()->setCurrentIndex(1);
  QTest::keyClick(&window_, Qt::Key_W, Qt::ControlModifier);
  EXPECT_EQ(window_.documents().size(), 1u);
  window_.tabs()->setCurrentIndex(0);
  QTest::keyClick(&window_, Qt::Key_W, Qt::ControlModifier);
  EXPECT_EQ(window_.tabs()->tabText(0), "Start") << "the start page stays";
  QTest::qWait(50);
}

TEST_F(Window, WrongFilesSayWhyAndCancelCloses) {
  const TempFolder folder;
  const std::string wrong = folder.write("notes.txt", "no trace");
  window_.openFiles({QString::fromStdString(wrong)});
  ASSERT_TRUE(waitFor([&] { return page() && page()->hasFailed(); }));
  EXPECT_THAT(find<QLabel>("problem")->text().toStdString(), HasSubstr("notes.txt: is no trace; allowed: .mbtrace"));
  window_.openFiles({QString::fromStdString(kSnapshotSample)});
  const int tabs = window_.tabs()->count();
  QTest::mouseClick(page()->findChild<QPushButton*>("cancelLoading"), Qt::LeftButton);
  EXPECT_EQ(window_.tabs()->count(), tabs - 1);
  QTest::qWait(100);
  EXPECT_TRUE(window_.documents().empty()) << "a late result is dropped";
}

TEST_F(Window, DroppedFilesOpen) {
  QMimeData data;
  data.setUrls({QUrl::fromLocalFile(QString::fromStdString(kPlanSample))});
  QDragEnterEvent enter({50, 50}, Qt::CopyAction, &data, Qt::LeftButton, {});
  QApplication::sendEvent(&window_, &enter);
  EXPECT_TRUE(enter.isAccepted());
  QDropEvent drop(QPointF(50, 50), Qt::CopyAction, &data, Qt::LeftButton, {});
  QApplication::sendEvent(&window_, &drop);
  EXPECT_TRUE(waitFor([&] { return window_.documents().size() == 1; }));
}

TEST_F(Window, UnitsThemesAndKeysAreAtHand) {
  openAndWait(kPlanSample);
  action("Bytes")->trigger();
  EXPECT_THAT(alive().index(0, 1).data().toString().toStdString(), HasSubstr(",483,648 B"));
  action("MB / GB (powers of 1000)")->trigger();
  EXPECT_EQ(alive().index(0, 1).data().toString(), "2.147 GB");
  action("MiB / GiB (powers of 1024)")->trigger();
  EXPECT_EQ(alive().index(0, 1).data().toString(), "2.000 GiB");

  action("Dark")->trigger();
  EXPECT_TRUE(waitFor([&] { return window_.palette().color(QPalette::Window).lightness() < 100; }));
  action("Light")->trigger();
  EXPECT_TRUE(waitFor([&] { return window_.palette().color(QPalette::Window).lightness() > 200; }));

  QTest::keyClick(&window_, Qt::Key_F1);
  ASSERT_NE(window_.findChild<QDialog*>("keyHelp"), nullptr);
  EXPECT_TRUE(window_.findChild<QDialog*>("keyHelp")->isVisible());
  window_.findChild<QDialog*>("keyHelp")->close();
}

TEST_F(Window, AnotherTraceCanBeLaidOver) {
  openAndWait(kSnapshotSample);
  openAndWait(kPlanSample);
  QMenu* overlay = nullptr;
  for (QMenu* menu : window_.findChildren<QMenu*>())
    if (menu->title().remove('&') == "Overlay") overlay = menu;
  ASSERT_NE(overlay, nullptr);
  Q_EMIT overlay->aboutToShow();
  ASSERT_EQ(overlay->actions().size(), 2) << "none, and the snapshot's track";
  overlay->actions()[1]->trigger();
  EXPECT_EQ(state().view().overlay.document, window_.documents()[0]);
}

}  // namespace
}  // namespace moeblaze::gui
