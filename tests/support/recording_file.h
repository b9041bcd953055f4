#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "tests/support/temp_file.h"
#include "traces/store/store.h"

namespace moeblaze {

/// A trace file that is being recorded, with one track. It grows when told to.
struct RecordingFile {
  TempFolder folder;
  std::string path = (folder.path() / "live.mbtrace").string();
  TraceWriter writer{path};
  TrackId track = writer.addTrack({"memory", TrackKind::observed, 0});
  int64_t nowNs = 0;

  /// Each event comes `stepNs` after the one before.
  AllocationId allocate(int64_t bytes, std::string_view name = "x", int64_t stepNs = 1) {
    return writer.addAllocation(
        {.track = track, .name = writer.addString(name), .bytes = bytes, .allocNs = nowNs += stepNs});
  }
  void free(AllocationId id) { writer.addFree(id, ++nowNs); }
};

}  // namespace moeblaze
