#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "profiler/cupti/collector.h"
#include "profiler/recording/event_recorder.h"
#include "profiler/recording/recording_clock.h"
#include "traces/store/store.h"

namespace moeblaze::profiler {

struct RecordingOptions {
  CollectorOptions collector;
  RecorderOptions recorder;
  std::vector<std::pair<std::string, std::string>> meta;
  /// Told about ten times a second, on the recording's thread; may be empty.
  std::function<void(const LiveBytes& live)> watch;
  /// Told why, once, when nothing more can be recorded; may be empty.
  std::function<void(const std::string& why)> failed;
};

/// This process's GPU work and memory, written to a file while it happens. What happened is safe in the file a third of
/// a second later, or when work that was running then has ended; frees in a stream's order when their stream is used
/// again, or five seconds later.
class Recording {
 public:
  /// Throws DeviceError when CUPTI cannot collect here, InputError when the file cannot be written.
  Recording(const Cupti& cupti, const std::string& file, RecordingOptions options);
  /// Stops, without a word about failures.
  ~Recording();

  /// Writes what is left and closes the file. Work should have ended: what still runs has no end. Throws what kept the
  /// recording from being whole.
  void stop();
  Collector& collector() { return collector_; }

 private:
  void run();
  void cycle();
  void sampleClocks();
  void fail(const std::string& why);

  RecordingOptions options_;
  Collector collector_;
  RecordingClock clock_;
  TraceWriter writer_;  ///< after the collector: no file where nothing can be collected
  EventRecorder recorder_;
  std::mutex mutex_;  ///< of the writer and the recorder; never held by a thread of the program
  std::mutex stopMutex_;
  std::condition_variable wake_;
  bool stopping_ = false, stopped_ = false;
  std::string failure_;
  int64_t sampledNs_ = 0;
  std::thread thread_;
};

/// Lets this process's NVTX ranges reach CUPTI. Before the first of them, or they never do.
void listenToRanges(const Cupti& cupti);

}  // namespace moeblaze::profiler
