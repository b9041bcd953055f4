#pragma once

#include <QString>
#include <vector>

namespace moeblaze::gui {

/// A sample trace that comes with the program.
struct Sample {
  QString file;   ///< the full path
  QString title;  ///< what it shows, in a few words
};

/// The samples that exist, either installed beside the program or in the source tree that it was built from.
std::vector<Sample> samples();

/// The file kinds that a file dialog offers.
QString openFilter();

}  // namespace moeblaze::gui
