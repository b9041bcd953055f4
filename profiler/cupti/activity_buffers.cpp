#include "profiler/cupti/activity_buffers.h"

#include <time.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace moeblaze::profiler {
namespace {

int64_t wallNs() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

}  // namespace

/// Reserves all room now: request() and complete() are called from C and must not throw when memory runs out.
ActivityBuffers::ActivityBuffers() {
  free_.reserve(kMaxBuffers);
  filled_.reserve(kMaxBuffers);
  out_.reserve(kMaxBuffers);
}

ActivityBuffers::~ActivityBuffers() {
  for (uint8_t* buffer : free_) std::free(buffer);
  for (const Filled& filled : filled_) std::free(filled.buffer);
}

uint8_t* ActivityBuffers::request() {
  const std::lock_guard lock(mutex_);
  uint8_t* buffer = nullptr;
  if (!free_.empty()) {
    buffer = free_.back();
    free_.pop_back();
  } else if (count_ < kMaxBuffers) {
    // calloc maps a block of this size, and the system zeroes a page only when it is first written. So this is quick,
    // which matters because it runs on the program's thread.
    buffer = static_cast<uint8_t*>(std::calloc(1, kBytes));
    count_ += buffer != nullptr;
  }
  if (buffer == nullptr) {
    refused_.fetch_add(1, std::memory_order_relaxed);
  } else {
    out_.emplace_back(buffer, wallNs());
  }
  return buffer;
}

void ActivityBuffers::complete(uint8_t* buffer, size_t validBytes) {
  if (buffer == nullptr) return;
  const std::lock_guard lock(mutex_);
  std::erase_if(out_, [&](const auto& out) { return out.first == buffer; });
  filled_.push_back({buffer, validBytes});
}

int64_t ActivityBuffers::oldestOutNs() {
  const std::lock_guard lock(mutex_);
  int64_t oldest = INT64_MAX;
  for (const auto& [buffer, sinceNs] : out_) oldest = std::min(oldest, sinceNs);
  return oldest;
}

void ActivityBuffers::drain(const std::function<void(uint8_t*, size_t)>& read) {
  std::vector<Filled> filled;
  {
    const std::lock_guard lock(mutex_);
    filled.swap(filled_);
    filled_.reserve(kMaxBuffers);
  }
  for (const auto& [buffer, validBytes] : filled) {
    if (validBytes > 0) read(buffer, validBytes);
    std::memset(buffer, 0, validBytes);
    const std::lock_guard lock(mutex_);
    free_.push_back(buffer);
  }
}

}  // namespace moeblaze::profiler
