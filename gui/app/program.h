#pragma once

#include <ostream>

namespace moeblaze::gui {

/// moeblaze-gui's main, callable from tests; makes the QApplication where there is none.
int runGui(int argc, const char* const* argv, std::ostream& out, std::ostream& err);

}  // namespace moeblaze::gui
