#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

namespace moeblaze::profiler {

/// What one recorded process says of itself.
struct ProcessStatus {
  std::atomic<int32_t> pid{0};
  std::atomic<int64_t> liveBytes{0}, peakBytes{0};
  std::array<char, 256> failure{};  ///< why it does not record, or no longer; written once, before hasFailed
  std::atomic<bool> hasFailed{false};

  void fail(std::string_view why);
};

/// A page that recorded processes and the program that launched them share: what a process wrote last stays, however it
/// ends.
class StatusPage {
 public:
  static constexpr size_t kMostProcesses = 256;

  /// A new page in a temporary file that goes when this does. Throws InputError.
  static StatusPage create();
  /// The page of `file`. Throws InputError.
  static StatusPage open(const std::string& file);
  StatusPage(StatusPage&& other) noexcept;
  StatusPage& operator=(StatusPage&&) = delete;
  ~StatusPage();

  const std::string& file() const { return file_; }
  /// A place for the process `pid`; null when all are taken.
  ProcessStatus* join(int32_t pid);
  /// How many processes have joined and found a place.
  size_t size() const;
  /// How many came when all places were taken.
  size_t turnedAway() const;
  const ProcessStatus& operator[](size_t i) const { return page_->processes[i]; }

 private:
  struct Page {
    std::atomic<uint32_t> joined{0};
    std::array<ProcessStatus, kMostProcesses> processes;
  };
  StatusPage(std::string file, int descriptor, bool owns);

  std::string file_;
  Page* page_ = nullptr;
  bool owns_ = false;
};

}  // namespace moeblaze::profiler
