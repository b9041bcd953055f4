#include "traces/store/trace_tables.h"

#include <fmt/format.h>

#include "core/base/error.h"

namespace moeblaze::store {

TraceTables::TraceTables(StoreFile& file, const std::string& path) : file_(file), path_(path) {
  // Strings and Stacks begin with the empty one, and so do their tables.
  file_.insert(Table::strings, std::string_view());
  insertNewStack({});
}

void TraceTables::checkText(std::string_view text) const {
  if (text.size() > kMaxTextBytes)
    refuse(path_, "text {} of {} bytes, must have at most {}", quote(text), text.size(), kMaxTextBytes);
}

void TraceTables::addMeta(std::string_view key, std::string_view value) {
  checkText(key);
  checkText(value);
  file_.insert(Table::meta, key, value);
}

void TraceTables::add(const Device& device) {
  checkText(device.name);
  checkId(path_, "device number", static_cast<int64_t>(devices_), kMaxTracks);
  file_.insert(Table::devices, device.id, std::string_view(device.name), device.memoryBytes);
  ++devices_;
}

TrackId TraceTables::add(const Track& track) {
  checkText(track.name);
  checkId(path_, "track number", static_cast<int64_t>(tracks_), kMaxTracks);
  file_.insert(Table::tracks, std::string_view(track.name), static_cast<int64_t>(track.kind), track.device);
  return static_cast<TrackId>(tracks_++);
}

CounterId TraceTables::add(const Counter& counter) {
  const auto track = static_cast<int64_t>(counter.track);
  const auto name = static_cast<int64_t>(counter.name), unit = static_cast<int64_t>(counter.unit);
  checkId(path_, "counter number", static_cast<int64_t>(counters_), kMaxTracks);
  if (counter.track != TrackId::none) checkId(path_, "counter: track", track, tracks_);
  checkId(path_, "counter: name", name, strings_.size());
  checkId(path_, "counter: unit", unit, strings_.size());
  file_.insert(Table::counters, track, name, unit);
  return static_cast<CounterId>(counters_++);
}

StringId TraceTables::add(std::string_view text) {
  checkText(text);
  const size_t known = strings_.size();
  const StringId id = strings_.add(text);
  if (strings_.size() > known) file_.insert(Table::strings, text);
  return id;
}

void TraceTables::insertNewStack(std::span<const Frame> frames) {
  std::string ids;
  for (const Frame& frame : frames) {
    const std::string key = fmt::format("{}:{}:{}", index(frame.function), index(frame.file), frame.line);
    const auto [known, isNew] = frameIds_.try_emplace(key, static_cast<uint32_t>(frameIds_.size()));
    if (isNew)
      file_.insert(Table::frames, static_cast<int64_t>(frame.function), static_cast<int64_t>(frame.file), frame.line);
    for (int byte = 0; byte < 4; ++byte) ids += static_cast<char>(known->second >> (8 * byte));
  }
  file_.insert(Table::stacks, sqlite::Blob{ids});
}

StackId TraceTables::add(std::span<const Frame> frames) {
  for (const Frame& frame : frames)
    for (StringId text : {frame.function, frame.file})
      checkId(path_, "frame: text", static_cast<int64_t>(text), strings_.size());
  if (frames.size() > kMaxStackFrames)
    refuse(path_, "stack of {} frames, must have at most {}", frames.size(), kMaxStackFrames);
  const size_t known = stacks_.size();
  const StackId id = stacks_.add({frames.begin(), frames.end()});
  if (stacks_.size() > known) insertNewStack(frames);
  return id;
}

void TraceTables::add(const Loss& loss) {
  checkText(loss.what);
  addLoss(path_, losses_, loss.what, loss.count);
  file_.insert(Table::losses, std::string_view(loss.what), loss.count);
}

}  // namespace moeblaze::store
