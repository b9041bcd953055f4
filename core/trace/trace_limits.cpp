#include "core/trace/trace_limits.h"

#include <cmath>
#include <string_view>
#include <vector>

#include "core/base/error.h"

namespace moeblaze {

void checkId(const std::string& source, const char* what, int64_t id, size_t count) {
  if (id < 0 || id >= static_cast<int64_t>(count)) refuse(source, "{} {}, must be one of {}", what, id, count);
}

void checkTime(const std::string& source, const char* what, int64_t timeNs) {
  if (timeNs < -kMaxTimeNs || timeNs > kMaxTimeNs)
    refuse(source, "{} at {} ns, must be within {} ns of the start", what, timeNs, kMaxTimeNs);
}

void checkAllocation(const std::string& source, const Allocation& allocation, const IdCounts& counts) {
  checkId(source, "allocation: track", static_cast<int64_t>(allocation.track), counts.tracks);
  checkId(source, "allocation: name", static_cast<int64_t>(allocation.name), counts.strings);
  checkId(source, "allocation: stack", static_cast<int64_t>(allocation.stack), counts.stacks);
  checkId(source, "allocation: role", static_cast<int64_t>(allocation.role), static_cast<size_t>(Role::unknown) + 1);
  checkTime(source, "allocation", allocation.allocNs);
  for (int64_t bytes : {allocation.bytes, allocation.requestedBytes})
    if (bytes < 0 || bytes > kMaxAllocationBytes)
      refuse(source, "allocation: {} bytes, must be 0 to {}", bytes, kMaxAllocationBytes);
  if (allocation.step < StepId::none)
    refuse(source, "allocation: step {}, must be -1 or more", static_cast<int32_t>(allocation.step));
}

void checkFree(const std::string& source, int64_t allocNs, int64_t freeNs, int64_t freeRequestedNs) {
  if (freeNs == kNever && freeRequestedNs == kNever) refuse(source, "free: has no time");
  if (freeNs != kNever) checkTime(source, "free", freeNs);
  if (freeRequestedNs != kNever) checkTime(source, "request to free", freeRequestedNs);
  if (freeNs < allocNs) refuse(source, "free at {} ns, must not come before its allocation at {} ns", freeNs, allocNs);
}

void checkSpan(const std::string& source, const Span& span, const IdCounts& counts) {
  checkId(source, "span: track", static_cast<int64_t>(span.track), counts.tracks);
  checkId(source, "span: name", static_cast<int64_t>(span.name), counts.strings);
  checkTime(source, "span", span.startNs);
  if (span.durationNs < 0 || span.durationNs > kMaxTimeNs)
    refuse(source, "span: lasts {} ns, must be 0 to {}", span.durationNs, kMaxTimeNs);
  checkTime(source, "span: end", span.startNs + span.durationNs);
  if (span.step < StepId::none) refuse(source, "span: step {}, must be -1 or more", static_cast<int32_t>(span.step));
}

void checkPoint(const std::string& source, const std::pair<int64_t, double>& point,
                const std::pair<int64_t, double>* before) {
  checkTime(source, "counter point", point.first);
  if (!std::isfinite(point.second)) refuse(source, "counter point at {} ns: value must be finite", point.first);
  if (before && point.first < before->first)
    refuse(source, "counter point at {} ns, must not come before the one at {} ns", point.first, before->first);
}

namespace {

/// Checks a trace part by part.
class TraceCheck {
 public:
  TraceCheck(const std::string& source, const Trace& trace)
      : source_(source),
        trace_(trace),
        counts_{trace.tracks.size(), trace.strings.size(), trace.stacks.size()},
        trackBytes_(trace.tracks.size()) {}

  void run() {
    checkTables();
    for (const Allocation& allocation : trace_.allocations) check(allocation);
    for (const Span& span : trace_.spans) checkSpan(source_, span, counts_);
    for (const Counter& counter : trace_.counters) check(counter);
  }

 private:
  void checkCount(const char* what, size_t count, size_t most) const {
    if (count > most) refuse(source_, "{} {}, must be at most {}", count, what, most);
  }

  void checkText(std::string_view text) const {
    if (text.size() > kMaxTextBytes)
      refuse(source_, "text {} of {} bytes, must have at most {}", quote(text), text.size(), kMaxTextBytes);
  }

  void checkTables() const {
    checkCount("devices", trace_.devices.size(), kMaxTracks);
    checkCount("tracks", trace_.tracks.size(), kMaxTracks);
    checkCount("counters", trace_.counters.size(), kMaxTracks);
    checkCount("losses", trace_.losses.size(), kMaxLosses);
    checkCount("allocations", trace_.allocations.size(), kMaxTraceRows);
    checkCount("spans", trace_.spans.size(), kMaxTraceRows);
    size_t points = 0;
    for (const Counter& counter : trace_.counters) points += counter.points.size();
    checkCount("counter points", points, kMaxTraceRows);
    for (const auto& [key, value] : trace_.meta) checkText(key), checkText(value);
    for (const Device& device : trace_.devices) checkText(device.name);
    for (const Track& track : trace_.tracks) checkText(track.name);
    for (const Loss& loss : trace_.losses) checkText(loss.what);
    for (size_t i = 0; i < trace_.strings.size(); ++i) checkText(trace_.strings[static_cast<StringId>(i)]);
    for (size_t i = 0; i < trace_.stacks.size(); ++i)
      checkCount("frames in a stack", trace_.stacks[static_cast<StackId>(i)].size(), kMaxStackFrames);
  }

  void check(const Allocation& allocation) {
    checkAllocation(source_, allocation, counts_);
    if (allocation.freeNs != kNever || allocation.freeRequestedNs != kNever)
      checkFree(source_, allocation.allocNs, allocation.freeNs, allocation.freeRequestedNs);
    int64_t& bytes = trackBytes_[index(allocation.track)];
    if (allocation.bytes > kMaxTrackBytes - bytes)
      refuse(source_, "track {}: all allocations together exceed {} bytes", index(allocation.track), kMaxTrackBytes);
    bytes += allocation.bytes;
  }

  void check(const Counter& counter) const {
    if (counter.track != TrackId::none)
      checkId(source_, "counter: track", static_cast<int64_t>(counter.track), counts_.tracks);
    for (size_t i = 0; i < counter.points.size(); ++i)
      checkPoint(source_, counter.points[i], i > 0 ? &counter.points[i - 1] : nullptr);
  }

  const std::string& source_;
  const Trace& trace_;
  IdCounts counts_;
  std::vector<int64_t> trackBytes_;
};

}  // namespace

void checkTrace(const std::string& source, const Trace& trace) { TraceCheck(source, trace).run(); }

}  // namespace moeblaze
