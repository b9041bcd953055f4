#pragma once

#include <span>

struct QMetaObject;

namespace moeblaze::gui {

class Page;
class StatePanel;

/// A page that a window has at most once: its tab, and its entry in the Analyze menu.
struct PageEntry {
  const QMetaObject* type = nullptr;
  const char *title, *action, *shortcut;
  Page* (*make)();
};

/// A panel that a window has beside its timelines: its title, and the object name of its dock.
struct PanelEntry {
  const char *title, *dock;
  StatePanel* (*make)();
};

/// Every such page, in the order of the menu. A new page needs an entry here and no other change of the window.
std::span<const PageEntry> pageEntries();
/// The entry of a page's class, which must be one of them.
const PageEntry& entryOf(const QMetaObject& type);
/// Every panel, in the order of their tabs. A new panel needs an entry here and no other change of the window.
std::span<const PanelEntry> panelEntries();

}  // namespace moeblaze::gui
