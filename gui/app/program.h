#pragma once

#include <ostream>

namespace moeblaze::gui {

/// Runs moeblaze-gui's main function, callable from tests; makes a QApplication if there is none. Returns the exit
/// status.
int runGui(int argc, const char* const* argv, std::ostream& out, std::ostream& err);

}  // namespace moeblaze::gui
