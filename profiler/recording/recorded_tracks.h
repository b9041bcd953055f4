#pragma once

#include <map>
#include <string>
#include <string_view>

#include "profiler/cupti/events.h"
#include "profiler/recording/bounded_writer.h"

namespace moeblaze::profiler {

/// The tracks of a recording. Each is added to the trace when it is first asked for. `moeblaze-trace` and the app show
/// their names.
class RecordedTracks {
 public:
  explicit RecordedTracks(BoundedWriter& writer) : writer_(writer) {}

  /// The name of the track of a GPU's memory.
  static std::string nameOfMemory(uint32_t device);

  TrackId memory(MemoryKind kind, uint32_t device);
  /// The variables of modules. They have a track of their own because there are thousands of a few bytes each.
  TrackId variables(uint32_t device);
  /// Parameters and inputs of what a process measures. They do not count as its memory.
  TrackId given(uint32_t device);
  TrackId work(WorkKind kind, uint32_t device, uint32_t context, uint32_t stream);
  TrackId ranges(uint32_t thread);
  TrackId overhead();
  /// The counter of the bytes that a pool holds from its device.
  CounterId pool(uint32_t device, uint64_t address);

 private:
  TrackId track(const std::string& name, TrackKind kind, uint32_t device);
  /// The track `name`, or the track `shared` when there is no room for another one.
  TrackId trackOrShared(const std::string& name, const std::string& shared, uint32_t device);

  BoundedWriter& writer_;
  std::map<std::string, TrackId, std::less<>> tracks_;
  std::map<std::pair<uint32_t, uint64_t>, CounterId> pools_;
};

}  // namespace moeblaze::profiler
