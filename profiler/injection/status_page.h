#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

namespace moeblaze::profiler {

/// What one recorded process reports about itself.
struct ProcessStatus {
  std::atomic<int32_t> pid{0};
  std::atomic<int64_t> liveBytes{0}, peakBytes{0};
  std::array<char, 256> failure{};  ///< why it does not record, or no longer does; written once, before hasFailed
  std::atomic<bool> hasFailed{false};

  /// Reports a failure; a long text is cut.
  void fail(std::string_view why);
};

/// A page of memory that recorded processes share with the program that launched them. What a process wrote last stays
/// there, however the process ends.
class StatusPage {
 public:
  static constexpr size_t kMaxProcesses = 256;

  /// Makes a new page in a temporary file, which the destructor removes. Throws InputError.
  static StatusPage create();
  /// Opens the page that another process made in `file`. Throws InputError.
  static StatusPage open(const std::string& file);
  StatusPage(StatusPage&& other) noexcept;
  StatusPage& operator=(StatusPage&&) = delete;
  ~StatusPage();

  const std::string& file() const { return file_; }
  /// A place for the process `pid`; null when all kMaxProcesses places are taken.
  ProcessStatus* join(int32_t pid);
  /// The number of processes that have joined and found a place.
  size_t size() const;
  /// The number of processes that found all places taken.
  size_t turnedAway() const;
  const ProcessStatus& operator[](size_t i) const { return page_->processes[i]; }

 private:
  struct Page {
    std::atomic<uint32_t> joined{0};
    std::array<ProcessStatus, kMaxProcesses> processes;
  };
  StatusPage(std::string file, int descriptor, bool owns);

  std::string file_;
  Page* page_ = nullptr;
  bool owns_ = false;
};

}  // namespace moeblaze::profiler
