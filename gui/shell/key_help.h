#pragma once

#include <QString>

class QWidget;

namespace moeblaze::gui {

/// The keys and what they do, as an HTML table.
QString keyTable();

/// Opens a window that lists the keys. The main window stays usable.
void showKeys(QWidget* parent);

}  // namespace moeblaze::gui
