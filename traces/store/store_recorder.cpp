#include "traces/store/store_recorder.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/error.h"

namespace moeblaze::store {

void Recorder::checkText(std::string_view text) const {
  if (text.size() > kMaxTextBytes)
    refuse(path_, "text {} of {} bytes, must have at most {}", quote(text), text.size(), kMaxTextBytes);
}

void Recorder::addMeta(std::string_view key, std::string_view value) {
  checkText(key);
  checkText(value);
  file_.insert(Table::meta, key, value);
}

void Recorder::addDevice(const Device& device) {
  checkText(device.name);
  checkId(path_, "device number", static_cast<int64_t>(devices_), kMaxTracks);
  file_.insert(Table::devices, device.id, std::string_view(device.name), device.memoryBytes);
  ++devices_;
}

TrackId Recorder::addTrack(const Track& track) {
  checkText(track.name);
  checkId(path_, "track number", std::ssize(tracks_), kMaxTracks);
  file_.insert(Table::tracks, std::string_view(track.name), static_cast<int64_t>(track.kind), track.device);
  tracks_.emplace_back();
  return static_cast<TrackId>(tracks_.size() - 1);
}

CounterId Recorder::addCounter(TrackId track, StringId name, StringId unit) {
  checkId(path_, "counter number", std::ssize(counters_), kMaxTracks);
  if (track != TrackId::none) checkId(path_, "counter: track", static_cast<int64_t>(track), tracks_.size());
  checkId(path_, "counter: name", static_cast<int64_t>(name), strings_.size());
  checkId(path_, "counter: unit", static_cast<int64_t>(unit), strings_.size());
  file_.insert(Table::counters, static_cast<int64_t>(track), static_cast<int64_t>(name), static_cast<int64_t>(unit));
  counters_.emplace_back();
  return static_cast<CounterId>(counters_.size() - 1);
}

void Recorder::insertNewText(std::string_view text) { file_.insert(Table::strings, text); }

StringId Recorder::addString(std::string_view text) {
  checkText(text);
  const size_t known = strings_.size();
  const StringId id = strings_.add(text);
  if (strings_.size() > known) insertNewText(text);
  return id;
}

void Recorder::insertNewStack(std::span<const Frame> frames) {
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

StackId Recorder::addStack(const std::vector<Frame>& frames) {
  for (const Frame& frame : frames)
    for (StringId text : {frame.function, frame.file})
      checkId(path_, "frame: text", static_cast<int64_t>(text), strings_.size());
  if (frames.size() > kMaxTextBytes / 4)
    refuse(path_, "stack of {} frames, must have at most {}", frames.size(), kMaxTextBytes / 4);
  const size_t known = stacks_.size();
  const StackId id = stacks_.add(frames);
  if (stacks_.size() > known) insertNewStack(frames);
  return id;
}

void Recorder::addAllocation(int64_t id, const Allocation& allocation) {
  checkAllocation(path_, allocation, counts());
  checkId(path_, "allocation number", id, kMaxTraceRows);
  TrackRows& track = tracks_[index(allocation.track)];
  if (allocation.bytes > kMaxTotalBytes - track.totalBytes)
    refuse(path_, "track {}: all allocations together exceed {} bytes", index(allocation.track), kMaxTotalBytes);
  track.totalBytes += allocation.bytes;
  live_.add(id, {static_cast<int32_t>(allocation.track), allocation.bytes, allocation.allocNs});
  track.memory.allocations.push_back({id, allocation});
  ++allocations_;
  afterAdd(track.memory.size() == kMaxChunkRows, index(allocation.track));
}

void Recorder::addFree(const FreeRow& given) {
  const auto entry = live_.find(given.id);
  if (!entry) refuse(path_, "free of allocation {}, which is not alive", given.id);
  checkFree(path_, entry->allocNs, given);
  live_.remove(given.id);
  const size_t at = static_cast<size_t>(entry->track);
  MemoryRows& memory = tracks_[at].memory;
  memory.frees.push_back(given);
  memory.frees.back().bytes = entry->bytes;
  afterAdd(memory.size() == kMaxChunkRows, at);
}

void Recorder::addSpan(const Span& span) {
  checkSpan(path_, span, counts());
  checkId(path_, "span number", spans_, kMaxTraceRows);
  std::vector<SpanRow>& rows = tracks_[index(span.track)].spans;
  rows.push_back({spans_++, span});
  afterAdd(rows.size() == kMaxChunkRows, index(span.track));
}

void Recorder::addPoint(CounterId counter, const PointRow& point) {
  checkId(path_, "counter", static_cast<int64_t>(counter), counters_.size());
  checkId(path_, "point number", points_, kMaxTraceRows);
  CounterRows& rows = counters_[static_cast<size_t>(counter)];
  checkPoint(path_, point, rows.last ? &*rows.last : nullptr);
  rows.points.push_back(point);
  rows.last = point;
  ++points_;
  if (rows.points.size() == kMaxChunkRows) writePoints(static_cast<size_t>(counter));
  flushIfDue();
}

void Recorder::addLoss(std::string_view what, int64_t count) {
  checkText(what);
  store::addLoss(path_, losses_, what, count);
  file_.insert(Table::losses, what, count);
}

void Recorder::afterAdd(bool isFull, size_t track) {
  // All tracks of a recording go together: ids then have no gaps in what a killed writer leaves.
  if (isFull && mode_ == Mode::recording)
    flush();
  else if (isFull)
    writeTrack(track);
  constexpr uint32_t kAddsPerClock = 64;
  if (++adds_ % kAddsPerClock == 0) flushIfDue();
}

void Recorder::writeMemory(size_t track) {
  MemoryRows& rows = tracks_[track].memory;
  if (rows.size() == 0) return;
  ChunkInfo chunk{.kind = ChunkKind::memory,
                  .owner = static_cast<int64_t>(track),
                  .rows = std::ssize(rows.allocations),
                  .frees = std::ssize(rows.frees)};
  deltas_.clear();
  addDeltas(rows, deltas_);
  chunk.startNs = deltas_.empty() ? rows.frees.front().freeRequestedNs : deltas_.front().timeNs;
  chunk.endNs = deltas_.empty() ? chunk.startNs : deltas_.back().timeNs;
  setCurve(chunk, deltas_);
  encode(rows, columns_);
  file_.insertChunk(chunk, columns_);
  rows.allocations.clear();
  rows.frees.clear();
}

void Recorder::writeSpans(size_t track) {
  std::vector<SpanRow>& rows = tracks_[track].spans;
  if (rows.empty()) return;
  ChunkInfo chunk{.kind = ChunkKind::spans,
                  .owner = static_cast<int64_t>(track),
                  .startNs = rows.front().span.startNs,
                  .endNs = rows.front().span.startNs,
                  .rows = std::ssize(rows)};
  for (const SpanRow& row : rows) {
    chunk.startNs = std::min(chunk.startNs, row.span.startNs);
    chunk.endNs = std::max(chunk.endNs, row.span.startNs + row.span.durationNs);
  }
  encode(rows, columns_);
  file_.insertChunk(chunk, columns_);
  rows.clear();
}

void Recorder::writePoints(size_t counter) {
  std::vector<PointRow>& rows = counters_[counter].points;
  if (rows.empty()) return;
  encode(rows, columns_);
  file_.insertChunk({.kind = ChunkKind::points,
                     .owner = static_cast<int64_t>(counter),
                     .startNs = rows.front().first,
                     .endNs = rows.back().first,
                     .rows = std::ssize(rows)},
                    columns_);
  rows.clear();
}

void Recorder::writeTrack(size_t track) {
  writeMemory(track);
  writeSpans(track);
}

void Recorder::flushIfDue() {
  constexpr std::chrono::milliseconds kFlushAge{250};
  if (mode_ == Mode::recording && Clock::now() - flushed_ >= kFlushAge) flush();
}

void Recorder::flush() {
  for (size_t track = 0; track < tracks_.size(); ++track) writeTrack(track);
  for (size_t counter = 0; counter < counters_.size(); ++counter) writePoints(counter);
  if (mode_ == Mode::recording) file_.commit();
  flushed_ = Clock::now();
}

bool Recorder::finish() {
  flush();
  file_.insertChunk({.kind = ChunkKind::end}, {});
  return file_.finish();
}

}  // namespace moeblaze::store
