#include "traces/store/trace_loader.h"

#include "core/base/error.h"

namespace moeblaze::store {
namespace {

/// `value` as a 32-bit number. Throws InputError naming `path` and `what` when it does not fit.
int32_t narrow(const std::string& path, const char* what, int64_t value) {
  if (value != static_cast<int32_t>(value)) refuse(path, "{} {}, must have 32 bits", what, value);
  return static_cast<int32_t>(value);
}

}  // namespace

void TraceLoader::advance(const ReadProgress& progress) {
  StoreReader reader(path_);
  readNames(reader);
  readStacks(reader);
  readCounters(reader);
  const std::vector<ChunkInfo> index = reader.readIndex(trace_.tracks.size(), trace_.counters.size());
  checkContinues(index);
  reserve(index);
  for (const size_t first = chunks_; chunks_ < index.size(); ++chunks_) {
    progress.at(chunks_ - first, index.size() - first);
    readChunk(reader, chunks_, index[chunks_]);
    lastCrc_ = index[chunks_].crc;
    finished_ |= index[chunks_].kind == ChunkKind::end;
  }
}

void TraceLoader::readNames(StoreReader& reader) {
  trace_.meta.clear(), trace_.devices.clear(), trace_.losses.clear();
  reader.read(Table::meta, [&](const sqlite::Statement& row) { trace_.meta.emplace_back(row.text(1), row.text(2)); });
  reader.read(Table::devices, [&](const sqlite::Statement& row) {
    checkId(path_, "device number", std::ssize(trace_.devices), kMaxTracks);
    trace_.devices.push_back({narrow(path_, "device", row.integer(1)), std::string(row.text(2)), row.integer(3)});
  });
  trace_.tracks = reader.readTracks();
  reader.read(Table::strings, [&](const sqlite::Statement& row) {
    if (index(trace_.strings.add(row.text(1))) != static_cast<size_t>(row.integer(0)))
      refuse(path_, "text {}: must be there once, and row 0 empty", quote(row.text(1)));
  });
  reader.read(Table::losses,
              [&](const sqlite::Statement& row) { addLoss(path_, trace_.losses, row.text(1), row.integer(2)); });
}

void TraceLoader::readStacks(StoreReader& reader) {
  std::vector<Frame> frames;
  reader.read(Table::frames, [&](const sqlite::Statement& row) {
    frames.push_back({stringId("frame: function", row.integer(1)), stringId("frame: file", row.integer(2)),
                      narrow(path_, "frame: line", row.integer(3))});
  });
  reader.read(Table::stacks, [&](const sqlite::Statement& row) {
    const std::string_view ids = row.blob(1);
    if (ids.size() % 4 != 0) refuse(path_, "stack {}: {} bytes, must be 4 a frame", row.integer(0), ids.size());
    std::vector<Frame> stack;
    for (size_t at = 0; at < ids.size(); at += 4) {
      int64_t id = 0;
      for (size_t byte = 0; byte < 4; ++byte) id |= int64_t{static_cast<unsigned char>(ids[at + byte])} << (8 * byte);
      checkId(path_, "stack: frame", id, frames.size());
      stack.push_back(frames[static_cast<size_t>(id)]);
    }
    if (index(trace_.stacks.add(std::move(stack))) != static_cast<size_t>(row.integer(0)))
      refuse(path_, "stack {}: must be there once, and stack 0 empty", row.integer(0));
  });
}

void TraceLoader::readCounters(StoreReader& reader) {
  size_t number = 0;
  reader.read(Table::counters, [&](const sqlite::Statement& row) {
    checkId(path_, "counter number", static_cast<int64_t>(number), kMaxTracks);
    const int64_t track = row.integer(1);
    if (track != -1) checkId(path_, "counter: track", track, trace_.tracks.size());
    if (number == trace_.counters.size()) trace_.counters.emplace_back();
    Counter& counter = trace_.counters[number++];
    counter.track = static_cast<TrackId>(track);
    counter.name = stringId("counter: name", row.integer(2));
    counter.unit = stringId("counter: unit", row.integer(3));
  });
}

void TraceLoader::checkContinues(const std::vector<ChunkInfo>& index) const {
  if (index.size() < chunks_ || (chunks_ > 0 && index[chunks_ - 1].crc != lastCrc_))
    refuse(path_, "is another file than the one read before");
}

void TraceLoader::reserve(const std::vector<ChunkInfo>& index) {
  size_t allocations = 0, spans = 0;
  for (const ChunkInfo& chunk : index) {
    if (chunk.kind == ChunkKind::memory) allocations += static_cast<size_t>(chunk.rows);
    if (chunk.kind == ChunkKind::spans) spans += static_cast<size_t>(chunk.rows);
  }
  trace_.allocations.resize(allocations);
  trace_.spans.resize(spans);
  isFreed_.resize(allocations);
  totalBytes_.resize(trace_.tracks.size());
  counts_ = {trace_.tracks.size(), trace_.strings.size(), trace_.stacks.size()};
}

void TraceLoader::readChunk(StoreReader& reader, size_t chunk, const ChunkInfo& info) {
  const std::string source = reader.sourceOf(chunk);
  const size_t rows = static_cast<size_t>(info.rows);
  switch (info.kind) {
    case ChunkKind::memory:
      reader.unpack(chunk, info, memory_);
      return readMemory(source, info);
    case ChunkKind::spans:
      return readSpans(source, info, reader.unpack(chunk, info, rows * kSpanRowBytes));
    case ChunkKind::points:
      return readPoints(source, info, reader.unpack(chunk, info, rows * kPointRowBytes));
    default:
      return;  // the end of the recording, or a kind of a newer minor version
  }
}

void TraceLoader::readMemory(const std::string& source, const ChunkInfo& info) {
  int64_t& total = totalBytes_[static_cast<size_t>(info.owner)];
  for (AllocationRow& row : memory_.allocations) {
    row.allocation.track = static_cast<TrackId>(info.owner);
    row.allocation.freeNs = row.allocation.freeRequestedNs = kNever;
    checkId(source, "allocation number", row.id, trace_.allocations.size());
    checkAllocation(source, row.allocation, counts_);
    Allocation& allocation = trace_.allocations[static_cast<size_t>(row.id)];
    if (allocation.track != TrackId::none) refuse(source, "allocation {}: is there already", row.id);
    allocation = row.allocation;
    total += allocation.bytes;
    if (total > kMaxTrackBytes) refuse(source, "allocations of a track exceed {} bytes together", kMaxTrackBytes);
  }
  for (const FreeRow& row : memory_.frees) endAllocation(source, row, info.owner);
}

void TraceLoader::endAllocation(const std::string& source, const FreeRow& row, int64_t track) {
  checkId(source, "free of allocation number", row.id, trace_.allocations.size());
  const size_t id = static_cast<size_t>(row.id);
  Allocation& allocation = trace_.allocations[id];
  if (allocation.track != static_cast<TrackId>(track) || allocation.bytes != row.bytes || isFreed_[id])
    refuse(source, "free of allocation {}: is not alive with {} bytes on this track", row.id, row.bytes);
  checkFree(source, allocation.allocNs, row.freeNs, row.freeRequestedNs);
  isFreed_[id] = true;
  allocation.freeNs = row.freeNs;
  allocation.freeRequestedNs = row.freeRequestedNs;
}

void TraceLoader::readSpans(const std::string& source, const ChunkInfo& info, std::string_view columns) {
  spans_.resize(static_cast<size_t>(info.rows));
  decode(source, columns, spans_);
  for (SpanRow& row : spans_) {
    row.span.track = static_cast<TrackId>(info.owner);
    checkId(source, "span number", row.id, trace_.spans.size());
    checkSpan(source, row.span, counts_);
    Span& span = trace_.spans[static_cast<size_t>(row.id)];
    if (span.track != TrackId::none) refuse(source, "span {}: is there already", row.id);
    span = row.span;
  }
}

void TraceLoader::readPoints(const std::string& source, const ChunkInfo& info, std::string_view columns) {
  points_.resize(static_cast<size_t>(info.rows));
  decode(source, columns, points_);
  auto& points = trace_.counters[static_cast<size_t>(info.owner)].points;
  for (const PointRow& point : points_) {
    checkPoint(source, point, points.empty() ? nullptr : &points.back());
    points.push_back(point);
  }
}

}  // namespace moeblaze::store
