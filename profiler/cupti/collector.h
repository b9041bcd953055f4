#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "profiler/cupti/cupti.h"
#include "profiler/cupti/events.h"

namespace moeblaze::profiler {

struct CollectorOptions {
  bool work = true;                ///< kernels, copies and sets; costs about 2 µs a launch
  bool attribution = false;        ///< external ids that this process pushes; costs as much again
  bool allocationSources = false;  ///< which library allocates
};

/// CUPTI in this process: its one subscriber and the owner of its callbacks. One at a time, and once ended CUPTI keeps
/// a little of its cost until the process ends.
class Collector {
 public:
  using Sink = std::function<void(Event event)>;

  /// Subscribes and begins to collect. Throws DeviceError naming what holds CUPTI or what it lacks.
  Collector(const Cupti& cupti, CollectorOptions options);
  ~Collector();
  Collector(const Collector&) = delete;
  Collector& operator=(const Collector&) = delete;

  /// Stops and resumes collecting.
  void pause();
  void resume();
  /// Tells `sink` all that has arrived. With `atEnd`, work still running is told too, without an end. One thread at a
  /// time, which must hold no lock that the program's threads could wait for inside CUDA.
  void drain(bool atEnd, const Sink& sink);
  /// Everything that happened before, ns, was told by the drain before this; what still runs, and calls whose records
  /// lie in one buffer with it, come later.
  int64_t toldUntilNs() const { return toldUntilNs_; }
  /// CUPTI's clock, ns.
  int64_t nowNs() const;
  /// Calls until the pop are attributed to `id`.
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
  std::atomic<bool> failed_{false};  ///< CUPTI met an error it cannot go on from; no more will come
  std::atomic<bool> paused_{false};
  std::mutex callsMutex_;
  std::vector<Event> calls_;  ///< of which CUPTI has no records
  int64_t lostCalls_ = 0;
  bool toldFailed_ = false;
  int64_t toldRefused_ = 0, toldUntilNs_ = INT64_MIN;
};

}  // namespace moeblaze::profiler
