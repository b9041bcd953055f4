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

/// An opened trace with what views need to find their way in it. Immutable: what it makes on first use is the same
/// whoever asks first. Safe to share between threads; build it, and ask it for what it makes, off the GUI thread.
class Document {
 public:
  /// `path` is empty when it came from no file; `title` is what users call it.
  Document(std::shared_ptr<const Trace> trace, std::string path, std::string title, const Progress& progress = {});

  const Trace& trace() const { return *trace_; }
  const std::shared_ptr<const Trace>& sharedTrace() const { return trace_; }
  const std::string& path() const { return path_; }
  const std::string& title() const { return title_; }

  /// Everything that has a time, with a little room; never empty. What recording cost before and after is left out
  /// where there is memory to see.
  const TimeWindow& bounds() const { return bounds_; }
  /// Planned and observed tracks that have allocations, in order.
  std::span<const TrackId> memoryTracks() const { return memoryTracks_; }
  /// Tracks that have spans, in the order of their lanes: planned Steps first, what recording cost last.
  std::span<const TrackId> spanTracks() const { return spanTracks_; }
  /// The memory track to show first; TrackId::none when there is none.
  TrackId mainTrack() const { return mainTrack_; }
  /// The bands that tell most of the main track: roles, or where nobody recorded those, stacks or names.
  Attribute mainCategories() const { return mainCategories_; }
  /// The track to lay over it: a planned one over an observed one, an observed one over a planned one.
  TrackId overlayOf(TrackId track) const;
  /// Reserved memory of a track's device; TrackId::none when nobody recorded that.
  TrackId segmentsOf(TrackId track) const;

  /// What a Step is called; empty when no span says so.
  std::string_view stepName(StepId step) const;

  /// Points and events of a memory track or of one's segments, ready at once; null for others.
  std::shared_ptr<const MemoryEvents> events(TrackId track) const;
  /// Its bands; mainCategories() of the main track are ready at once, others are made on first use.
  std::shared_ptr<const MemoryIndex> memory(TrackId track, Attribute attribute, const Progress& progress = {}) const;
  /// The same without bands: all that a line needs.
  std::shared_ptr<const MemoryIndex> total(TrackId track, const Progress& progress = {}) const;
  /// Its allocations by when they lived, made on first use.
  std::shared_ptr<const LifetimeIndex> lifetimes(TrackId track, const Progress& progress = {}) const;
  /// Where its allocations lay, made on first use; AddressMap::empty() when no address is known.
  std::shared_ptr<const AddressMap> addresses(TrackId track, const Progress& progress = {}) const;
  /// The same at once: null where they are not made yet.
  std::shared_ptr<const MemoryIndex> readyMemory(TrackId track, Attribute attribute) const;
  std::shared_ptr<const MemoryIndex> readyTotal(TrackId track) const;
  std::shared_ptr<const LifetimeIndex> readyLifetimes(TrackId track) const;
  std::shared_ptr<const AddressMap> readyAddresses(TrackId track) const;
  /// Ready at once; null for a track without spans.
  std::shared_ptr<const SpanLanes> spans(TrackId track) const;

 private:
  /// What is made on first use, by track and variant.
  template <typename Value>
  class Made {
   public:
    template <typename Make>
    std::shared_ptr<const Value> get(TrackId track, int variant, Make make);
    std::shared_ptr<const Value> find(TrackId track, int variant);

   private:
    std::mutex making_, mutex_;  // the first while one is made; readers never wait for that
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

/// Makes a document of a trace that came from no file.
std::shared_ptr<const Document> makeDocument(Trace trace, std::string title, const Progress& progress = {});

}  // namespace moeblaze::gui
