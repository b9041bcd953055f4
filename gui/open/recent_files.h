#pragma once

#include <QObject>
#include <QStringList>

namespace moeblaze::gui {

/// The last files that were opened, newest first, kept between runs of the program.
class RecentFiles : public QObject {
  Q_OBJECT

 public:
  static constexpr int kMaxFiles = 10;

  using QObject::QObject;
  /// The files that still exist.
  QStringList files() const;
  /// Puts a file first; the list keeps kMaxFiles.
  void add(const QString& path);
  void remove(const QString& path);
  void clear();

 Q_SIGNALS:
  void changed();

 private:
  void store(const QStringList& files);
};

}  // namespace moeblaze::gui
