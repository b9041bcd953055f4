#include "traces/store/recorder.h"

#include <algorithm>

#include "core/base/error.h"

namespace moeblaze::store {

Recorder::TrackRows& Recorder::rowsOf(TrackId track) {
  if (index(track) >= tracks_.size()) tracks_.resize(tables_.counts().tracks);
  return tracks_[index(track)];
}

void Recorder::addAllocation(int64_t id, const Allocation& allocation) {
  checkAllocation(path_, allocation, tables_.counts());
  checkId(path_, "allocation number", id, kMaxTraceRows);
  TrackRows& track = rowsOf(allocation.track);
  if (allocation.bytes > kMaxTrackBytes - track.totalBytes)
    refuse(path_, "track {}: all allocations together exceed {} bytes", index(allocation.track), kMaxTrackBytes);
  track.totalBytes += allocation.bytes;
  live_.add(id, {static_cast<int32_t>(allocation.track), allocation.bytes, allocation.allocNs});
  track.memory.allocations.push_back({id, allocation});
  ++allocations_;
  afterAdd(track.memory.size() == kMaxChunkRows, index(allocation.track));
}

void Recorder::addFree(const FreeRow& given) {
  const auto entry = live_.find(given.id);
  if (!entry) refuse(path_, "free of allocation {}, which is not alive", given.id);
  checkFree(path_, entry->allocNs, given.freeNs, given.freeRequestedNs);
  live_.remove(given.id);
  const size_t at = static_cast<size_t>(entry->track);
  MemoryRows& memory = tracks_[at].memory;
  memory.frees.push_back(given);
  memory.frees.back().bytes = entry->bytes;
  afterAdd(memory.size() == kMaxChunkRows, at);
}

void Recorder::addSpan(const Span& span) {
  checkSpan(path_, span, tables_.counts());
  checkId(path_, "span number", spans_, kMaxTraceRows);
  std::vector<SpanRow>& rows = rowsOf(span.track).spans;
  rows.push_back({spans_++, span});
  afterAdd(rows.size() == kMaxChunkRows, index(span.track));
}

void Recorder::addPoint(CounterId counter, const PointRow& point) {
  checkId(path_, "counter", static_cast<int64_t>(counter), tables_.counters());
  checkId(path_, "point number", points_, kMaxTraceRows);
  if (static_cast<size_t>(counter) >= counters_.size()) counters_.resize(tables_.counters());
  CounterRows& rows = counters_[static_cast<size_t>(counter)];
  checkPoint(path_, point, rows.last ? &*rows.last : nullptr);
  rows.points.push_back(point);
  rows.last = point;
  ++points_;
  if (rows.points.size() == kMaxChunkRows) writePoints(static_cast<size_t>(counter));
  flushIfDue();
}

void Recorder::afterAdd(bool isFull, size_t track) {
  // A recording writes all its tracks together, so that the ids in a file have no gaps even when its writer is killed.
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
