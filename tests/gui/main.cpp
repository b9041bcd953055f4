#include <gtest/gtest.h>

#include <QApplication>
#include <QSettings>
#include <QTemporaryDir>

#include "gui/shell/theme.h"

/// Windows are drawn in memory unless another platform is asked for (QT_QPA_PLATFORM=xcb). Settings are kept in a
/// folder of the test's own.
int main(int argc, char** argv) {
  if (qEnvironmentVariableIsEmpty("QT_QPA_PLATFORM")) qputenv("QT_QPA_PLATFORM", "offscreen");
  testing::InitGoogleTest(&argc, argv);
  const QTemporaryDir settings;
  QSettings::setDefaultFormat(QSettings::IniFormat);
  QSettings::setPath(QSettings::IniFormat, QSettings::UserScope, settings.path());
  QCoreApplication::setOrganizationName("MoEBlazeTest");
  QCoreApplication::setApplicationName("gui_test");
  const QApplication application(argc, argv);
  moeblaze::gui::applyTheme(moeblaze::gui::Theme::light);
  return RUN_ALL_TESTS();
}
