#include "profiler/recording/event_recorder.h"

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

namespace moeblaze::profiler {
namespace {

/// A stream-ordered call waits this long for later work in its stream; then it is dated by what is known.
constexpr int64_t kPatienceNs = 5'000'000'000;
/// If CUPTI has a record of a free, it arrives within this time after the call.
constexpr int64_t kMaxFreeDelayNs = 100'000'000;

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

EventRecorder::EventRecorder(TraceSink& sink, const RecordingClock& clock, RecorderOptions options,
                             BoundedWriter::Limits limits)
    : writer_(sink, limits),
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
  writer_.sink().addDevice({static_cast<int32_t>(event.device), event.name, event.memoryBytes});
  writer_.sink().addMeta("gpu " + std::to_string(event.device), event.uuid);
}

void EventRecorder::settleWork() {
  for (const WorkEvent& event : work_) record(event);
  work_.clear();
}

void EventRecorder::settleMemory(int64_t untilNs) {
  std::ranges::stable_sort(waiting_, {}, &std::pair<int64_t, Ordered>::first);
  auto it = waiting_.begin();
  for (; it != waiting_.end() && it->first < untilNs; ++it) {
    const auto* memory = std::get_if<MemoryEvent>(&it->second);
    // A module's variables are reported when the module is loaded, with an earlier time. They are not out of order:
    // they are never freed one by one.
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
  settleWork();
  settleMemory(clock_.at(untilNs));
  ledger_.settle(clock_.at(untilNs) - kMaxFreeDelayNs);
  order_.settle(untilNs - kPatienceNs, untilNs);
  writeLosses();
  writer_.sink().flush();
}

void EventRecorder::finish(int64_t endNs) {
  settleWork();
  settleMemory(INT64_MAX);
  ledger_.settle(INT64_MAX);
  order_.settle(INT64_MAX, INT64_MAX);
  ranges_.finish(endNs);
  writeLosses();
}

/// Writes the losses since the last call, so that a file tells of them even when its program is killed.
void EventRecorder::writeLosses() {
  losses_["frees of memory from before the recording"] = ledger_.unmatched();
  losses_["allocations where one was alive: its free was not seen"] = ledger_.replaced();
  losses_["stream-ordered frees dated before their stream reached them"] = order_.misdated();
  losses_["steps of the wall clock, evened out"] = clock_.steps();
  losses_["allocations beyond what a file holds"] = writer_.lostAllocations();
  losses_["kernels, copies and ranges beyond what a file holds"] = writer_.lostSpans();
  for (const auto& [what, count] : losses_) {
    int64_t& written = writtenLosses_[what];
    if (count > written) writer_.sink().addLoss(what, count - written);
    written = std::max(written, count);
  }
}

}  // namespace moeblaze::profiler
