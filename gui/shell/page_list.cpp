#include "gui/shell/page_list.h"

#include <algorithm>
#include <array>

#include "gui/compare/compare_page.h"
#include "gui/panels/alive_panel.h"
#include "gui/panels/flame_panel.h"
#include "gui/panels/info_panel.h"
#include "gui/whatif/what_if_page.h"

namespace moeblaze::gui {
namespace {

template <typename Base, typename Made>
Base* make() {
  return new Made;
}

}  // namespace

std::span<const PageEntry> pageEntries() {
  static const std::array kEntries{
      PageEntry{&WhatIfPage::staticMetaObject, "What if", "&What if…", "Ctrl+I", make<Page, WhatIfPage>},
      PageEntry{&ComparePage::staticMetaObject, "Compare", "&Compare open traces", "Ctrl+D", make<Page, ComparePage>},
  };
  return kEntries;
}

const PageEntry& entryOf(const QMetaObject& type) { return *std::ranges::find(pageEntries(), &type, &PageEntry::type); }

std::span<const PanelEntry> panelEntries() {
  static constexpr std::array kEntries{
      PanelEntry{"What is alive", "aliveDock", make<StatePanel, AlivePanel>},
      PanelEntry{"Flame graph", "flameDock", make<StatePanel, FlamePanel>},
      PanelEntry{"About this trace", "infoDock", make<StatePanel, InfoPanel>},
  };
  return kEntries;
}

}  // namespace moeblaze::gui
