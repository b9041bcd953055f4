#pragma once

#include <map>
#include <string>
#include <string_view>

#include "profiler/cupti/events.h"
#include "profiler/recording/bounded_writer.h"

namespace moeblaze::profiler {

/// The tracks of a recording, each made when something on it happens first. The names are what `moeblaze-trace` and the
/// app show.
class RecordedTracks {
 public:
  explicit RecordedTracks(BoundedWriter& writer) : writer_(writer) {}

  TrackId memory(MemoryKind kind, uint32_t device);
  /// Modules' variables: thousands, of a few bytes each.
  TrackId variables(uint32_t device);
  /// What a process handed to what it measures: counted apart.
  TrackId given(uint32_t device);
  TrackId work(WorkKind kind, uint32_t device, uint32_t context, uint32_t stream);
  TrackId ranges(uint32_t thread);
  TrackId overhead();
  /// Bytes that a pool took from its device.
  CounterId pool(uint32_t device, uint64_t address);

 private:
  TrackId track(const std::string& name, TrackKind kind, uint32_t device);
  /// The same, or `shared` when the file has tracks enough.
  TrackId trackOrShared(const std::string& name, const std::string& shared, uint32_t device);

  BoundedWriter& writer_;
  std::map<std::string, TrackId, std::less<>> tracks_;
  std::map<std::pair<uint32_t, uint64_t>, CounterId> pools_;
};

}  // namespace moeblaze::profiler
