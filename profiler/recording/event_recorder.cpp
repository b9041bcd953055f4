#include "profiler/recording/event_recorder.h"

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

namespace moeblaze::profiler {
namespace {

/// How long a call waits for its stream to be used again before it is dated without.
constexpr int64_t kPatienceNs = 5'000'000'000;
/// How long after its call a free is told of at the latest, if it is told of at all.
constexpr int64_t kToldTwiceNs = 100'000'000;

std::string demangled(const std::string& name) {
  if (!name.starts_with("_Z")) return name;
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status),
                                                         &std::free);
  return status == 0 && text != nullptr ? text.get() : name;
}

int64_t timeOf(const MemoryEvent& event) { return event.timeNs; }
int64_t timeOf(const MappingEvent& event) { return event.timeNs; }
int64_t timeOf(const PoolEvent& event) { return event.timeNs; }
int64_t timeOf(const FreeCallEvent& event) { return event.endedNs; }

}  // namespace

EventRecorder::EventRecorder(TraceWriter& writer, const RecordingClock& clock, RecorderOptions options,
                             BoundedWriter::Limits limits)
    : writer_(writer, limits),
      clock_(clock),
      options_(std::move(options)),
      tracks_(writer_),
      ledger_(writer_, tracks_, clock, options_.followsStreams ? &order_ : nullptr, options_.placement),
      ranges_(writer_, tracks_, clock) {}

void EventRecorder::add(Event event) {
  if (auto* work = std::get_if<WorkEvent>(&event)) {
    work_.push_back(std::move(*work));
  } else if (const auto* attribution = std::get_if<AttributionEvent>(&event)) {
    externalIds_[attribution->correlation] = attribution->externalId;
  } else if (const auto* range = std::get_if<RangeEvent>(&event)) {
    ranges_.add(*range);
  } else if (const auto* overhead = std::get_if<OverheadEvent>(&event)) {
    record(*overhead);
  } else if (const auto* device = std::get_if<DeviceEvent>(&event)) {
    record(*device);
  } else if (const auto* lost = std::get_if<LostEvent>(&event)) {
    losses_[lost->what] += lost->count;
  } else {
    std::visit(
        [&](auto& it) {
          if constexpr (std::is_constructible_v<Ordered, decltype(it)>)
            waiting_.emplace_back(clock_.at(timeOf(it)), std::move(it));
        },
        event);
  }
}

std::optional<Label> EventRecorder::labelOf(uint32_t correlation) const {
  const auto found = externalIds_.find(correlation);
  if (found == externalIds_.end() || !options_.labels) return std::nullopt;
  return options_.labels(found->second);
}

StringId EventRecorder::nameOf(const std::string& compiled) {
  const auto [entry, isNew] = names_.try_emplace(compiled);
  if (isNew) entry->second = writer_.addString(demangled(compiled));
  return entry->second;
}

void EventRecorder::record(const WorkEvent& event) {
  if (options_.followsStreams) order_.addWork({event.context, event.stream}, event.correlation, event.endNs);
  const std::optional<Label> label = labelOf(event.correlation);
  writer_.addSpan({.track = tracks_.work(event.kind, event.device, event.context, event.stream),
                   .name = nameOf(event.name),
                   .startNs = clock_.at(event.startNs),
                   .durationNs = event.endNs - event.startNs,
                   .step = label ? label->step : StepId::none});
}

void EventRecorder::record(const OverheadEvent& event) {
  writer_.addSpan({.track = tracks_.overhead(),
                   .name = writer_.addString(event.name),
                   .startNs = clock_.at(event.startNs),
                   .durationNs = event.endNs - event.startNs});
}

void EventRecorder::record(const DeviceEvent& event) {
  writer_.writer().addDevice({static_cast<int32_t>(event.device), event.name, event.memoryBytes});
  writer_.writer().addMeta("gpu " + std::to_string(event.device), event.uuid);
}

void EventRecorder::settleMemory(int64_t untilNs) {
  std::ranges::stable_sort(waiting_, {}, &std::pair<int64_t, Ordered>::first);
  auto it = waiting_.begin();
  for (; it != waiting_.end() && it->first < untilNs; ++it) {
    const auto* memory = std::get_if<MemoryEvent>(&it->second);
    // Variables are told of when their module is loaded, and dated before; they are never freed one by one.
    if (it->first < settledNs_ && (memory == nullptr || !memory->isStatic))
      ++losses_["calls told late, after later ones had counted"];
    if (memory != nullptr) {
      ledger_.add(*memory, labelOf(memory->correlation));
    } else if (const auto* mapping = std::get_if<MappingEvent>(&it->second)) {
      ledger_.add(*mapping);
    } else if (const auto* pool = std::get_if<PoolEvent>(&it->second)) {
      ledger_.add(*pool);
    } else {
      ledger_.add(std::get<FreeCallEvent>(it->second));
    }
  }
  waiting_.erase(waiting_.begin(), it);
  settledNs_ = std::max(settledNs_, untilNs);
}

void EventRecorder::settle(int64_t untilNs) {
  for (const WorkEvent& event : work_) record(event);
  work_.clear();
  settleMemory(clock_.at(untilNs));
  ledger_.settle(clock_.at(untilNs) - kToldTwiceNs);
  order_.settle(untilNs - kPatienceNs, untilNs);
  writeLosses();
  writer_.writer().flush();
}

void EventRecorder::finish(int64_t endNs) {
  for (const WorkEvent& event : work_) record(event);
  work_.clear();
  settleMemory(INT64_MAX);
  ledger_.settle(INT64_MAX);
  order_.settle(INT64_MAX, INT64_MAX);
  ranges_.finish(endNs);
  writeLosses();
}

/// What was lost since this was last called, so that a file knows even when its program is killed.
void EventRecorder::writeLosses() {
  losses_["frees of memory from before the recording"] = ledger_.unmatched();
  losses_["allocations where one was alive: its free was not seen"] = ledger_.replaced();
  losses_["stream-ordered frees dated before their stream reached them"] = order_.misdated();
  losses_["steps of the wall clock, evened out"] = clock_.steps();
  losses_["allocations beyond what a file holds"] = writer_.lostAllocations();
  losses_["kernels, copies and ranges beyond what a file holds"] = writer_.lostSpans();
  for (const auto& [what, count] : losses_) {
    int64_t& written = writtenLosses_[what];
    if (count > written) writer_.writer().addLoss(what, count - written);
    written = std::max(written, count);
  }
}

}  // namespace moeblaze::profiler
