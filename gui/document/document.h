#pragma once

#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/trace/trace.h"
#include "gui/timeline/index/address_map.h"
#include "gui/timeline/index/lifetime_index.h"
#include "gui/timeline/index/memory_index.h"
#include "gui/timeline/index/span_lanes.h"

namespace moeblaze::gui {

/// An opened trace, together with the indices that views need to search and draw it. It is immutable: indices that are
/// made on first use are the same whoever asks first. It can be shared between threads. Construct it, and call the
/// members that may make an index, on a worker thread.
class Document {
 public:
  /// `path` is empty for a trace that came from no file; `title` is its name for users. Throws Interrupted when
  /// `progress` was asked to stop.
  Document(std::shared_ptr<const Trace> trace, std::string path, std::string title, const Progress& progress = {});

  const Trace& trace() const { return *trace_; }
  const std::shared_ptr<const Trace>& sharedTrace() const { return trace_; }
  const std::string& path() const { return path_; }
  const std::string& title() const { return title_; }

  /// The time range of all events and spans, with a little room at its ends; never empty. If the trace has memory
  /// events, spans of recording overhead do not count.
  const TimeWindow& bounds() const { return bounds_; }
  /// The planned and observed tracks that have allocations, in the trace's order.
  std::span<const TrackId> memoryTracks() const { return memoryTracks_; }
  /// The tracks that have spans in the order of their lanes: planned Steps first, overhead of recording last.
  std::span<const TrackId> spanTracks() const { return spanTracks_; }
  /// The memory track to show first; TrackId::none if there is none.
  TrackId mainTrack() const { return mainTrack_; }
  /// The attribute whose bands say most about the main track: the role, or the stack or name when no role was recorded.
  Attribute mainCategories() const { return mainCategories_; }
  /// The track to draw as a line over `track`: a planned one over an observed one and the other way round.
  TrackId overlayOf(TrackId track) const;
  /// The track of the memory reserved on the same device; TrackId::none if it was not recorded.
  TrackId segmentsOf(TrackId track) const;

  /// The name of a Step; empty if no span tells it.
  std::string_view stepName(StepId step) const;

  /// The events of a memory track or of its segments, available at once; null for other tracks.
  std::shared_ptr<const MemoryEvents> events(TrackId track) const;
  /// The memory curve in bands of an attribute. It is made on first use, except for mainCategories() of the main track,
  /// which is available at once.
  std::shared_ptr<const MemoryIndex> memory(TrackId track, Attribute attribute, const Progress& progress = {}) const;
  /// The memory curve without bands, enough to draw it as a line. Made on first use.
  std::shared_ptr<const MemoryIndex> total(TrackId track, const Progress& progress = {}) const;
  /// The track's allocations by lifetime, made on first use.
  std::shared_ptr<const LifetimeIndex> lifetimes(TrackId track, const Progress& progress = {}) const;
  /// The track's allocations by address, made on first use; AddressMap::empty() says whether no address is known.
  std::shared_ptr<const AddressMap> addresses(TrackId track, const Progress& progress = {}) const;
  /// The same indices without making them: null when they do not exist yet.
  std::shared_ptr<const MemoryIndex> readyMemory(TrackId track, Attribute attribute) const;
  std::shared_ptr<const MemoryIndex> readyTotal(TrackId track) const;
  std::shared_ptr<const LifetimeIndex> readyLifetimes(TrackId track) const;
  std::shared_ptr<const AddressMap> readyAddresses(TrackId track) const;
  /// The spans of a track, available at once; null for a track without spans.
  std::shared_ptr<const SpanLanes> spans(TrackId track) const;

 private:
  /// Values that are made on first use, by track and variant.
  template <typename Value>
  class Made {
   public:
    template <typename Make>
    std::shared_ptr<const Value> get(TrackId track, int variant, Make make);
    std::shared_ptr<const Value> find(TrackId track, int variant);

   private:
    // making_ is held while a value is made. Readers only take mutex_, so they never wait for that.
    std::mutex making_, mutex_;
    std::map<std::pair<TrackId, int>, std::shared_ptr<const Value>> values_;
  };
  void findTracks();
  void findBounds();
  void findMainTrack();
  void findMainCategories();

  std::shared_ptr<const Trace> trace_;
  std::string path_, title_;
  TimeWindow bounds_;
  TrackId mainTrack_ = TrackId::none;
  Attribute mainCategories_ = Attribute::role;
  std::vector<TrackId> memoryTracks_, spanTracks_;
  std::vector<StringId> stepNames_;
  std::map<TrackId, std::shared_ptr<const SpanLanes>> spans_;
  std::map<TrackId, std::shared_ptr<const MemoryEvents>> events_;
  mutable Made<MemoryIndex> memory_;
  mutable Made<LifetimeIndex> lifetimes_;
  mutable Made<AddressMap> addresses_;
};

using Documents = std::vector<std::shared_ptr<const Document>>;

/// Makes a document of a trace that came from no file.
std::shared_ptr<const Document> makeDocument(Trace trace, std::string title, const Progress& progress = {});

}  // namespace moeblaze::gui
