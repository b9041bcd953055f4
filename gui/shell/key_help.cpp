#include "gui/shell/key_help.h"

#include <QDialog>
#include <QDialogButtonBox>
#include <QLabel>
#include <QVBoxLayout>
#include <array>

namespace moeblaze::gui {
namespace {

struct Key {
  const char *keys, *meaning;
};
constexpr std::array<Key, 14> kKeys{{
    {"W  S,  wheel", "zoom in and out"},
    {"A  D,  drag", "move left and right"},
    {"Shift + drag", "select a range"},
    {"F", "show the selected range, or everything"},
    {"M", "go to the peak"},
    {"[   ]", "previous and next event"},
    {"click", "choose an instant and an allocation"},
    {"/", "filter what is alive"},
    {"C", "change what the bands show: role, name, Step, stack"},
    {"Ctrl+Z   Ctrl+Shift+Z", "undo and redo a change of the view"},
    {"Ctrl+O   Ctrl+W", "open and close"},
    {"Ctrl+E", "save the view as a picture"},
    {"Esc", "back: clears the selection or the filter, zooms the flame graph out"},
    {"F1   ?", "this list"},
}};

}  // namespace

QString keyTable() {
  QString rows;
  for (const Key& key : kKeys)
    rows +=
        QString("<tr><td style='padding-right:28px'><b>%1</b></td><td>%2</td></tr>")
            .arg(QString::fromUtf8(key.keys).toHtmlEscaped().replace(' ', "&nbsp;"), QString::fromUtf8(key.meaning));
  return QString("<table cellspacing='0' cellpadding='3'>%1</table>").arg(rows);
}

void showKeys(QWidget* parent) {
  auto* dialog = new QDialog(parent);
  dialog->setObjectName("keyHelp");
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  dialog->setWindowTitle(QObject::tr("Keys"));
  auto* keys = new QLabel(keyTable());
  auto* buttons = new QDialogButtonBox(QDialogButtonBox::Close);
  QObject::connect(buttons, &QDialogButtonBox::rejected, dialog, &QDialog::close);
  auto* layout = new QVBoxLayout(dialog);
  layout->addWidget(keys);
  layout->addWidget(buttons);
  dialog->show();
}

}  // namespace moeblaze::gui
