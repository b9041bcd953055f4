#include "traces/store/trace_summary.h"

#include <algorithm>
#include <optional>

#include "core/base/error.h"
#include "traces/store/file/store_reader.h"

namespace moeblaze {

using namespace store;

namespace {

/// Finds a track's peak from its chunks. Sums over the index suffice where chunks do not overlap in time; elsewhere
/// their columns may have to be read.
class PeakSearch {
 public:
  PeakSearch(StoreReader& reader, const std::vector<ChunkInfo>& index) : reader_(reader), index_(index) {}

  /// `chunks` are the memory chunks of one track, as positions in the index.
  void run(std::vector<size_t> chunks) {
    std::stable_sort(chunks.begin(), chunks.end(),
                     [&](size_t a, size_t b) { return index_[a].startNs < index_[b].startNs; });
    for (size_t begin = 0, end = 0; begin < chunks.size(); begin = end) {
      int64_t endNs = index_[chunks[begin]].endNs;
      for (end = begin + 1; end < chunks.size() && index_[chunks[end]].startNs <= endNs; ++end)
        endNs = std::max(endNs, index_[chunks[end]].endNs);
      visit(std::span(chunks).subspan(begin, end - begin));
    }
  }
  MemoryCurve::Point peak() const { return peak_.value_or(MemoryCurve::Point{}); }
  int64_t bytes() const { return bytes_; }

 private:
  /// `chunks` overlap in time among themselves, but with no other chunk.
  void visit(std::span<const size_t> chunks) {
    ChunkInfo together = index_[chunks[0]];
    if (chunks.size() > 1) {
      // At any instant each chunk adds at most its own maximum, so the sum of the maxima is an upper bound.
      int64_t most = 0;
      together.netBytes = 0;
      for (size_t chunk : chunks) {
        most = sum(most, std::max<int64_t>(0, index_[chunk].maxBytes));
        together.netBytes = sum(together.netBytes, index_[chunk].netBytes);
      }
      if (!peak_ || sum(bytes_, most) > peak_->bytes)
        setCurve(together, deltasOf(chunks));
      else
        together.maxBytes = most;  // even this upper bound is no new peak
    }
    const int64_t most = sum(bytes_, together.maxBytes);
    if (!peak_ || most > peak_->bytes) peak_ = {together.maxNs, most};
    bytes_ = sum(bytes_, together.netBytes);
  }

  std::span<const Delta> deltasOf(std::span<const size_t> chunks) {
    deltas_.clear();
    int64_t total = 0;
    for (size_t chunk : chunks) {
      reader_.unpackCurve(chunk, index_[chunk], rows_);
      const std::string source = reader_.sourceOf(chunk);
      for (const AllocationRow& row : rows_.allocations) total = add(source, total, row.allocation.bytes);
      for (const FreeRow& row : rows_.frees) total = add(source, total, row.bytes);
      addDeltas(rows_, deltas_);
    }
    return deltas_;
  }

  static int64_t add(const std::string& source, int64_t total, int64_t bytes) {
    if (bytes < 0 || bytes > kMaxAllocationBytes || total > kMaxTrackBytes)
      refuse(source, "{} bytes, must be 0 to {}, and {} together", bytes, kMaxAllocationBytes, kMaxTrackBytes);
    return total + bytes;
  }
  int64_t sum(int64_t a, int64_t b) const {
    int64_t result = 0;
    if (__builtin_add_overflow(a, b, &result)) refuse(reader_.path(), "is damaged: its chunks hold too many bytes");
    return result;
  }

  StoreReader& reader_;
  const std::vector<ChunkInfo>& index_;
  int64_t bytes_ = 0;
  std::optional<MemoryCurve::Point> peak_;
  MemoryRows rows_;
  std::vector<Delta> deltas_;
};

void count(TraceSummary& summary, const ChunkInfo& chunk) {
  switch (chunk.kind) {
    case ChunkKind::memory:
      summary.tracks[static_cast<size_t>(chunk.owner)].allocations += chunk.rows;
      summary.tracks[static_cast<size_t>(chunk.owner)].frees += chunk.frees;
      summary.events += chunk.rows + chunk.frees;
      break;
    case ChunkKind::spans:
      summary.tracks[static_cast<size_t>(chunk.owner)].spans += chunk.rows;
      summary.spans += chunk.rows;
      break;
    case ChunkKind::points:
      summary.points += chunk.rows;
      break;
    default:
      summary.finished = summary.finished || chunk.kind == ChunkKind::end;
      return;
  }
  const bool isFirst = summary.events + summary.spans + summary.points == chunk.rows + chunk.frees;
  summary.startNs = isFirst ? chunk.startNs : std::min(summary.startNs, chunk.startNs);
  summary.endNs = isFirst ? chunk.endNs : std::max(summary.endNs, chunk.endNs);
}

}  // namespace

TraceSummary summarize(const std::string& path) {
  StoreReader reader(path);
  TraceSummary summary;
  for (Track& track : reader.readTracks()) summary.tracks.emplace_back().track = std::move(track);
  size_t counters = 0;
  reader.read(Table::counters, [&](const sqlite::Statement&) { ++counters; });
  reader.read(Table::losses,
              [&](const sqlite::Statement& row) { addLoss(path, summary.losses, row.text(1), row.integer(2)); });

  const std::vector<ChunkInfo> index = reader.readIndex(summary.tracks.size(), counters);
  std::vector<std::vector<size_t>> memory(summary.tracks.size());
  for (size_t i = 0; i < index.size(); ++i) {
    count(summary, index[i]);
    if (index[i].kind == ChunkKind::memory) memory[static_cast<size_t>(index[i].owner)].push_back(i);
  }
  for (size_t track = 0; track < memory.size(); ++track) {
    PeakSearch search(reader, index);
    search.run(std::move(memory[track]));
    summary.tracks[track].peak = search.peak();
    summary.tracks[track].liveBytes = search.bytes();
  }
  return summary;
}

}  // namespace moeblaze
