#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <utility>
#include <vector>

namespace moeblaze::profiler {

/// Memory that CUPTI fills with records: handed out and taken back on the program's threads, emptied on ours. Records
/// that came in while there was no buffer left are CUPTI's to drop; how often that was is counted here.
class ActivityBuffers {
 public:
  static constexpr size_t kBytes = 4 << 20;  ///< about 19,000 kernels
  static constexpr size_t kMostBuffers =
      256;  ///< 1 GiB: a program that outruns its recording by that much loses records

  ActivityBuffers();
  ~ActivityBuffers();
  ActivityBuffers(const ActivityBuffers&) = delete;
  ActivityBuffers& operator=(const ActivityBuffers&) = delete;

  /// A zeroed buffer; null when too many are out.
  uint8_t* request();
  /// One comes back with `validBytes` of records.
  void complete(uint8_t* buffer, size_t validBytes);
  /// Calls `read` for each buffer that came back, in their order, and readies them for use again.
  void drain(const std::function<void(uint8_t* buffer, size_t validBytes)>& read);
  /// Since when the buffer that is out longest may hold records, ns of the wall clock; INT64_MAX when none is out.
  int64_t oldestOutNs();
  /// Requests that found no buffer.
  int64_t refused() const { return refused_.load(std::memory_order_relaxed); }

 private:
  struct Filled {
    uint8_t* buffer = nullptr;
    size_t validBytes = 0;
  };
  std::mutex mutex_;
  std::vector<uint8_t*> free_;
  std::vector<Filled> filled_;
  std::vector<std::pair<uint8_t*, int64_t>> out_;  ///< since when, ns
  size_t count_ = 0;
  std::atomic<int64_t> refused_{0};
};

}  // namespace moeblaze::profiler
