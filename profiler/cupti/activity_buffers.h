#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <utility>
#include <vector>

namespace moeblaze::profiler {

/// The memory that CUPTI fills with records. CUPTI requests and returns buffers on the program's threads; the
/// recording's thread reads the records. While no buffer is left, CUPTI drops records; this class counts its requests
/// that found none.
class ActivityBuffers {
 public:
  static constexpr size_t kBytes = 4 << 20;  ///< size of one buffer: room for about 19,000 kernels
  /// 1 GiB in all. A program that is further ahead of its recording than that loses records.
  static constexpr size_t kMaxBuffers = 256;

  ActivityBuffers();
  ~ActivityBuffers();
  ActivityBuffers(const ActivityBuffers&) = delete;
  ActivityBuffers& operator=(const ActivityBuffers&) = delete;

  /// Hands out a zeroed buffer of kBytes, or null when kMaxBuffers are in use.
  uint8_t* request();
  /// Takes a buffer back whose first `validBytes` are records.
  void complete(uint8_t* buffer, size_t validBytes);
  /// Calls `read` for each buffer that was taken back and holds records, in the order of their return, and then makes
  /// all of them ready for use again.
  void drain(const std::function<void(uint8_t* buffer, size_t validBytes)>& read);
  /// When the oldest of the buffers that CUPTI holds was handed out, in ns of the wall clock: it may hold records since
  /// then. INT64_MAX when CUPTI holds no buffer.
  int64_t oldestOutNs();
  /// Number of requests that found no buffer.
  int64_t refused() const { return refused_.load(std::memory_order_relaxed); }

 private:
  struct Filled {
    uint8_t* buffer = nullptr;
    size_t validBytes = 0;
  };
  std::mutex mutex_;  ///< guards all members but refused_
  std::vector<uint8_t*> free_;
  std::vector<Filled> filled_;
  std::vector<std::pair<uint8_t*, int64_t>> out_;  ///< buffers that CUPTI holds, and when each was handed out, ns
  size_t count_ = 0;                               ///< buffers allocated so far
  std::atomic<int64_t> refused_{0};
};

}  // namespace moeblaze::profiler
