#include "gui/shell/start_page.h"

#include <QCommandLinkButton>
#include <QFileInfo>
#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>
#include <QScrollArea>
#include <QVBoxLayout>

#include "gui/open/recent_files.h"
#include "gui/open/samples.h"
#include "gui/shell/key_help.h"

namespace moeblaze::gui {
namespace {

QLabel* heading(const QString& text, int larger) {
  auto* label = new QLabel(text);
  QFont font = label->font();
  font.setPointSize(font.pointSize() + larger);
  font.setBold(true);
  label->setFont(font);
  return label;
}

}  // namespace

StartPage::StartPage(RecentFiles* recent, QWidget* parent) : QWidget(parent), recent_(recent) {
  auto* left = new QVBoxLayout;
  auto* right = new QVBoxLayout;
  addStart(left);
  addRecent(right);
  right->addSpacing(16);
  right->addWidget(heading(tr("Keys"), 2));
  right->addWidget(new QLabel(keyTable()));
  left->addStretch(1);
  right->addStretch(1);
  auto* columns = new QHBoxLayout;
  columns->addLayout(left, 1);
  columns->addSpacing(48);
  columns->addLayout(right, 1);
  auto* content = new QWidget;
  auto* whole = new QVBoxLayout(content);
  whole->setContentsMargins(56, 40, 56, 32);
  whole->addWidget(heading(tr("MoEBlaze"), 14));
  whole->addWidget(
      new QLabel(tr("Where the memory and time of Mixture-of-Experts training go: what a layer would need, "
                    "what it took, and where its peak comes from.")));
  whole->addSpacing(24);
  whole->addLayout(columns, 1);
  auto* scroll = new QScrollArea;
  scroll->setWidget(content);
  scroll->setWidgetResizable(true);
  scroll->setFrameShape(QFrame::NoFrame);
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->addWidget(scroll);
  connect(recent_, &RecentFiles::changed, this, &StartPage::showRecent);
}

void StartPage::addStart(QVBoxLayout* layout) {
  layout->addWidget(heading(tr("Start"), 2));
  const auto link = [&](const QString& text, const QString& about, const QString& name) {
    auto* button = new QCommandLinkButton(text, about);
    button->setObjectName(name);
    layout->addWidget(button);
    return button;
  };
  connect(
      link(tr("Open a trace…"),
           tr("MoEBlaze, PyTorch memory snapshot, PyTorch profiler, Nsight Systems; or drop it here"), "openButton"),
      &QPushButton::clicked, this, &StartPage::dialogWanted);
  connect(link(tr("What if…"), tr("Simulate a layer: choose config, system, routing and GPU, and see its timeline"),
               "whatIfButton"),
          &QPushButton::clicked, this, &StartPage::whatIfWanted);
  layout->addSpacing(12);
  const std::vector<Sample> all = samples();
  if (!all.empty()) layout->addWidget(heading(tr("Samples"), 2));
  for (size_t i = 0; i < all.size(); ++i)
    connect(link(all[i].title.section(": ", 1), all[i].title.section(": ", 0, 0), QString("sample%1").arg(i)),
            &QPushButton::clicked, this, [this, file = all[i].file] { Q_EMIT openWanted(file); });
}

void StartPage::addRecent(QVBoxLayout* layout) {
  layout->addWidget(heading(tr("Recent"), 2));
  recentList_ = new QVBoxLayout;
  recentList_->setSpacing(2);
  layout->addLayout(recentList_);
  showRecent();
}

void StartPage::showRecent() {
  while (QLayoutItem* item = recentList_->takeAt(0)) {
    if (item->widget()) item->widget()->deleteLater();
    delete item;
  }
  const QStringList files = recent_->files();
  if (files.isEmpty()) recentList_->addWidget(new QLabel(tr("Files you open will be listed here.")));
  for (const QString& file : files.mid(0, 6)) {
    auto* label = new QLabel(
        QString("<a href='%1'>%2</a>").arg(file.toHtmlEscaped(), QFileInfo(file).fileName().toHtmlEscaped()));
    label->setToolTip(file);
    label->setObjectName("recentFile");
    connect(label, &QLabel::linkActivated, this, &StartPage::openWanted);
    recentList_->addWidget(label);
  }
}

}  // namespace moeblaze::gui
