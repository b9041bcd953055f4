#include "profiler/activity_buffers.h"

#include <cstdlib>
#include <cstring>
#include <utility>

namespace moeblaze::profiler {

ActivityBuffers::~ActivityBuffers() {
  for (uint8_t* buffer : free_) std::free(buffer);
  for (const Filled& filled : filled_) std::free(filled.buffer);
}

uint8_t* ActivityBuffers::request() {
  {
    const std::lock_guard lock(mutex_);
    if (!free_.empty()) {
      uint8_t* const buffer = free_.back();
      free_.pop_back();
      return buffer;
    }
    if (count_ < kMostBuffers) {
      // The system zeroes such blocks page by page, when they are written: quick here, on the program's thread.
      if (auto* const buffer = static_cast<uint8_t*>(std::calloc(1, kBytes))) {
        ++count_;
        return buffer;
      }
    }
  }
  refused_.fetch_add(1, std::memory_order_relaxed);
  return nullptr;
}

void ActivityBuffers::complete(uint8_t* buffer, size_t validBytes) {
  if (buffer == nullptr) return;
  const std::lock_guard lock(mutex_);
  filled_.push_back({buffer, validBytes});
}

void ActivityBuffers::drain(const std::function<void(uint8_t*, size_t)>& read) {
  std::vector<Filled> filled;
  {
    const std::lock_guard lock(mutex_);
    filled.swap(filled_);
  }
  for (const auto& [buffer, validBytes] : filled) {
    if (validBytes > 0) read(buffer, validBytes);
    std::memset(buffer, 0, validBytes);
    const std::lock_guard lock(mutex_);
    free_.push_back(buffer);
  }
}

}  // namespace moeblaze::profiler
