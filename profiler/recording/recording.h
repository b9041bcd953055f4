#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "profiler/cupti/collector.h"
#include "profiler/recording/event_recorder.h"
#include "profiler/recording/recording_clock.h"
#include "profiler/recording/trace_sink.h"

namespace moeblaze::profiler {

struct RecordingOptions {
  CollectorOptions collector;
  RecorderOptions recorder;
  std::vector<std::pair<std::string, std::string>> meta;  ///< keys and values to put into the trace
  /// Called about ten times a second, on the recording's thread; may be empty.
  std::function<void(const LiveBytes& live)> watch;
  /// Called once, with the reason, when nothing more can be recorded; may be empty.
  std::function<void(const std::string& why)> failed;
};

/// Records this process's GPU work and memory while it happens. An event is safe in the file a third of a second later,
/// or once the work that was running at its time has ended. A stream-ordered free is safe once its stream is used
/// again, or five seconds later.
class Recording {
 public:
  /// Records into a file. Throws DeviceError when CUPTI cannot collect here, InputError when the file cannot be
  /// written.
  Recording(const Cupti& cupti, const std::string& file, RecordingOptions options);
  /// Records into `trace`, which must be empty and is whole after stop(); it must outlive this. Throws DeviceError.
  Recording(const Cupti& cupti, Trace& trace, RecordingOptions options);
  /// Stops and does not report failures.
  ~Recording();

  /// Writes what is left and finishes the trace. Work should have ended before: work that still runs gets no end.
  /// Throws InputError when the recording failed earlier, and what finishing it throws.
  void stop();
  Collector& collector() { return collector_; }

 private:
  using OpenSink = std::function<std::unique_ptr<TraceSink>()>;
  Recording(const Cupti& cupti, const OpenSink& open, RecordingOptions options);
  void run();
  void cycle();
  void sampleClocks();
  void fail(const std::string& why);

  RecordingOptions options_;
  Collector collector_;
  RecordingClock clock_;
  std::unique_ptr<TraceSink> sink_;  ///< opened after the collector, so that no file appears where CUPTI cannot collect
  EventRecorder recorder_;
  std::mutex mutex_;  ///< guards the sink and the recorder; no thread of the program takes it
  std::mutex stopMutex_;
  std::condition_variable wake_;
  bool stopping_ = false, stopped_ = false;
  std::string failure_;
  int64_t sampledNs_ = 0;
  std::thread thread_;
};

/// Lets this process's NVTX ranges reach CUPTI. Has no effect after the process's first range.
void listenToRanges(const Cupti& cupti);

}  // namespace moeblaze::profiler
