#pragma once

#include <QObject>
#include <QStringList>

namespace moeblaze::gui {

/// The files opened last, newest first, kept from run to run.
class RecentFiles : public QObject {
  Q_OBJECT

 public:
  static constexpr int kMaxFiles = 10;

  using QObject::QObject;
  /// Without those that are gone.
  QStringList files() const;
  void add(const QString& path);
  void remove(const QString& path);
  void clear();

 Q_SIGNALS:
  void changed();

 private:
  void store(const QStringList& files);
};

}  // namespace moeblaze::gui
