#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "profiler/recording/event_recorder.h"
#include "traces/store/store.h"

namespace moeblaze::profiler {

inline constexpr int64_t kStart = 1'000'000;  ///< the profiler's clock when the recording begins

/// Adds events to an EventRecorder and reads the trace back from its file. Times are ns since the recording began.
class RecorderTest : public ::testing::Test {
 protected:
  ~RecorderTest() override { std::filesystem::remove(file_); }

  EventRecorder& recorder() { return *recorder_; }
  void make(RecorderOptions options = {}, BoundedWriter::Limits limits = {}) {
    recorder_.emplace(*sink_, clock_, std::move(options), limits);
  }
  /// The trace as another program reads it while the recording goes on.
  Trace soFar() const { return readTrace(file_); }
  Trace finish(int64_t endNs = 1'000'000'000) {
    recorder_->finish(kStart + endNs);
    recorder_.reset();
    sink_->finish();
    sink_.reset();
    return readTrace(file_);
  }
  /// The trace of a recording that receives exactly `events`, in this order.
  Trace recorded(const std::vector<Event>& events, RecorderOptions options = {}) {
    make(std::move(options));
    for (const Event& event : events) recorder().add(event);
    return finish();
  }

  static MemoryEvent take(uint64_t address, int64_t bytes, int64_t timeNs, uint32_t correlation = 1) {
    return {.address = address,
            .bytes = bytes,
            .timeNs = kStart + timeNs,
            .context = 1,
            .stream = 7,
            .correlation = correlation};
  }
  static MemoryEvent giveBack(uint64_t address, int64_t bytes, int64_t timeNs, uint32_t correlation = 2) {
    MemoryEvent event = take(address, bytes, timeNs, correlation);
    event.isFree = true;
    return event;
  }
  static MemoryEvent inStreamOrder(MemoryEvent event) {
    event.isStreamOrdered = true;
    return event;
  }
  static WorkEvent kernel(int64_t startNs, int64_t endNs, uint32_t correlation, uint32_t stream = 7) {
    return {.startNs = kStart + startNs,
            .endNs = kStart + endNs,
            .context = 1,
            .stream = stream,
            .correlation = correlation,
            .name = "_Z4spinx"};
  }
  static std::vector<std::string> lossesOf(const Trace& trace) {
    std::vector<std::string> all;
    for (const Loss& loss : trace.losses) all.push_back(std::to_string(loss.count) + ' ' + loss.what);
    return all;
  }

 private:
  const std::string file_ =
      (std::filesystem::temp_directory_path() / ("recorder_test." + std::to_string(getpid()) + ".mbtrace")).string();
  std::optional<FileSink> sink_{std::in_place, file_};
  RecordingClock clock_{kStart, 5'000};
  std::optional<EventRecorder> recorder_;
};

}  // namespace moeblaze::profiler
