#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "profiler/cupti/cupti.h"
#include "profiler/cupti/events.h"

namespace moeblaze::profiler {

/// What a Collector collects besides memory and NVTX ranges.
struct CollectorOptions {
  bool work = true;                ///< kernels, copies and sets; costs about 2 µs for each launch
  bool attribution = false;        ///< the external ids that this process pushes; costs as much again
  bool allocationSources = false;  ///< which library made an allocation
};

/// CUPTI in this process: its one subscriber, which receives all of its callbacks. At most one Collector may exist at a
/// time. After it is destroyed, CUPTI still slows the process down a little until the process ends.
class Collector {
 public:
  using Sink = std::function<void(Event event)>;

  /// Subscribes and begins to collect. Throws DeviceError when another profiler holds CUPTI, naming it, or when CUPTI
  /// lacks something.
  Collector(const Cupti& cupti, CollectorOptions options);
  ~Collector();
  Collector(const Collector&) = delete;
  Collector& operator=(const Collector&) = delete;

  /// Stops and resumes collecting.
  void pause();
  void resume();
  /// Passes everything that has arrived to `sink`. With `atEnd`, this includes work that is still running, which then
  /// has no end. Only one thread may call this at a time, and it must hold no lock that one of the program's threads
  /// could wait for inside CUDA.
  void drain(bool atEnd, const Sink& sink);
  /// The last drain() reported every event before this time, ns of CUPTI's clock. Work that still ran then, and calls
  /// whose records share a buffer with such work, are reported later.
  int64_t toldUntilNs() const { return toldUntilNs_; }
  /// The present time of CUPTI's clock, ns.
  int64_t nowNs() const;
  /// This thread's calls from push(id) until pop() are attributed to `id`.
  void push(uint64_t id);
  void pop();

 private:
  static void CUPTIAPI onCallback(void* self, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* data);
  void subscribe();
  void enableAll();
  void onCall(CUpti_CallbackDomain domain, CUpti_CallbackId id, const CUpti_CallbackData& call);
  void keep(Event event);

  const Cupti& cupti_;
  CollectorOptions options_;
  CUpti_SubscriberHandle subscriber_ = nullptr;
  std::vector<CUpti_ActivityKind> enabled_;
  std::atomic<bool> failed_{false};  ///< CUPTI met an error after which it reports nothing more
  std::atomic<bool> paused_{false};
  std::mutex callsMutex_;
  std::vector<Event> calls_;  ///< calls that only callbacks report: CUPTI writes no records of them
  int64_t lostCalls_ = 0;
  bool toldFailed_ = false;
  int64_t toldRefused_ = 0, toldUntilNs_ = INT64_MIN;
};

}  // namespace moeblaze::profiler
