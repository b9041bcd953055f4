#pragma once

#include <QString>

class QWidget;

namespace moeblaze::gui {

/// The keys as a table, in HTML.
QString keyTable();

/// A window that lists the keys; leaves the program usable.
void showKeys(QWidget* parent);

}  // namespace moeblaze::gui
