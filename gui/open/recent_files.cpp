#include "gui/open/recent_files.h"

#include <QFileInfo>
#include <QSettings>

namespace moeblaze::gui {
namespace {

constexpr const char* kKey = "recentFiles";

QStringList stored() { return QSettings().value(kKey).toStringList(); }

}  // namespace

QStringList RecentFiles::files() const {
  QStringList list = stored();
  list.removeIf([](const QString& path) { return !QFileInfo::exists(path); });
  return list;
}

void RecentFiles::add(const QString& path) {
  const QString absolute = QFileInfo(path).absoluteFilePath();
  QStringList list = stored();
  list.removeAll(absolute);
  list.prepend(absolute);
  store(list.mid(0, kMaxFiles));
}

void RecentFiles::remove(const QString& path) {
  QStringList list = stored();
  if (list.removeAll(QFileInfo(path).absoluteFilePath()) > 0) store(list);
}

void RecentFiles::clear() { store({}); }

void RecentFiles::store(const QStringList& files) {
  QSettings().setValue(kKey, files);
  Q_EMIT changed();
}

}  // namespace moeblaze::gui
