#pragma once

#include <QString>
#include <vector>

namespace moeblaze::gui {

/// A trace that comes with the program.
struct Sample {
  QString file;   ///< its whole path
  QString title;  ///< what it shows, in a few words
};

/// Those that are there: in the source tree the program was built from, or installed beside it.
std::vector<Sample> samples();

/// What a file dialog offers.
QString openFilter();

}  // namespace moeblaze::gui
