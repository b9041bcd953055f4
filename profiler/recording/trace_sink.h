#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/trace/trace.h"
#include "traces/store/store.h"

namespace moeblaze::profiler {

/// Where a recording puts its trace. The functions mean what those of TraceWriter mean.
class TraceSink {
 public:
  TraceSink() = default;
  virtual ~TraceSink() = default;
  TraceSink(const TraceSink&) = delete;
  TraceSink& operator=(const TraceSink&) = delete;

  virtual void addMeta(std::string_view key, std::string_view value) = 0;
  virtual void addDevice(const Device& device) = 0;
  virtual TrackId addTrack(const Track& track) = 0;
  virtual CounterId addCounter(TrackId track, StringId name, StringId unit) = 0;
  virtual StringId addString(std::string_view text) = 0;
  virtual AllocationId addAllocation(const Allocation& allocation) = 0;
  virtual void addFree(AllocationId id, int64_t freeNs, int64_t freeRequestedNs) = 0;
  virtual void addSpan(const Span& span) = 0;
  virtual void addPoint(CounterId counter, int64_t timeNs, double value) = 0;
  virtual void addLoss(std::string_view what, int64_t count) = 0;
  /// Makes everything so far safe from the end of the process, where the sink can do that.
  virtual void flush() = 0;
  /// Nothing may be added after this.
  virtual void finish() = 0;
};

/// Writes the trace to a file while it grows. Throws what TraceWriter throws.
class FileSink : public TraceSink {
 public:
  explicit FileSink(const std::string& file) : writer_(file) {}

  void addMeta(std::string_view key, std::string_view value) override { writer_.addMeta(key, value); }
  void addDevice(const Device& device) override { writer_.addDevice(device); }
  TrackId addTrack(const Track& track) override { return writer_.addTrack(track); }
  CounterId addCounter(TrackId track, StringId name, StringId unit) override {
    return writer_.addCounter(track, name, unit);
  }
  StringId addString(std::string_view text) override { return writer_.addString(text); }
  AllocationId addAllocation(const Allocation& allocation) override { return writer_.addAllocation(allocation); }
  void addFree(AllocationId id, int64_t freeNs, int64_t freeRequestedNs) override {
    writer_.addFree(id, freeNs, freeRequestedNs);
  }
  void addSpan(const Span& span) override { writer_.addSpan(span); }
  void addPoint(CounterId counter, int64_t timeNs, double value) override { writer_.addPoint(counter, timeNs, value); }
  void addLoss(std::string_view what, int64_t count) override { writer_.addLoss(what, count); }
  void flush() override { writer_.flush(); }
  void finish() override { writer_.finish(); }

 private:
  TraceWriter writer_;
};

/// Collects the trace in memory, as readTrace would return it from a file. Unlike a file, it also keeps the Plan's
/// buffer of each allocation.
class MemorySink : public TraceSink {
 public:
  /// Adds to `trace`, which must be empty and must outlive this.
  explicit MemorySink(Trace& trace) : trace_(trace) {}

  void addMeta(std::string_view key, std::string_view value) override { trace_.meta.emplace_back(key, value); }
  void addDevice(const Device& device) override { trace_.devices.push_back(device); }
  TrackId addTrack(const Track& track) override;
  CounterId addCounter(TrackId track, StringId name, StringId unit) override;
  StringId addString(std::string_view text) override { return trace_.strings.add(text); }
  AllocationId addAllocation(const Allocation& allocation) override;
  void addFree(AllocationId id, int64_t freeNs, int64_t freeRequestedNs) override;
  void addSpan(const Span& span) override { trace_.spans.push_back(span); }
  void addPoint(CounterId counter, int64_t timeNs, double value) override;
  void addLoss(std::string_view what, int64_t count) override;
  void flush() override {}
  void finish() override {}

 private:
  Trace& trace_;
};

}  // namespace moeblaze::profiler
