#include "profiler/recording.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

#include <chrono>

#include "core/error.h"

namespace moeblaze::profiler {
namespace {

constexpr auto kPeriod = std::chrono::milliseconds(100);
/// A record is in its buffer this long after its time; threads are held up between the two, now and then.
constexpr int64_t kSlackNs = 150'000'000;
constexpr int64_t kSampleNs = 1'000'000'000;

int64_t steadyNs() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

/// Signals are for the program's own threads.
std::thread startQuietly(std::function<void()> body) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread thread(std::move(body));
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return thread;
}

}  // namespace

Recording::Recording(const Cupti& cupti, const std::string& file, RecordingOptions options)
    : options_(std::move(options)),
      collector_(cupti, options_.collector),
      clock_(collector_.nowNs(), steadyNs()),
      writer_(file),
      recorder_(writer_, clock_, options_.recorder) {
  for (const auto& [key, value] : options_.meta) writer_.addMeta(key, value);
  const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  writer_.addMeta("started", fmt::format("{:%FT%TZ}", fmt::gmtime(std::chrono::system_clock::to_time_t(now))));
  writer_.addMeta("cupti", std::to_string(cupti.version));
  sampledNs_ = steadyNs();
  thread_ = startQuietly([this] { run(); });
}

Recording::~Recording() {
  try {
    stop();
  } catch (const std::exception&) {
    // Told by whoever stops on purpose.
  }
}

void Recording::run() {
  std::unique_lock lock(stopMutex_);
  while (!wake_.wait_for(lock, kPeriod, [this] { return stopping_; })) {
    lock.unlock();
    cycle();
    lock.lock();
  }
}

void Recording::settle() { cycle(); }

void Recording::cycle() {
  const std::lock_guard lock(mutex_);
  if (!failure_.empty()) return;
  try {
    const int64_t untilNs = collector_.nowNs() - kSlackNs;
    collector_.drain(false, [this](Event event) { recorder_.add(std::move(event)); });
    const int64_t now = steadyNs();
    if (now - sampledNs_ >= kSampleNs) {
      clock_.sample(collector_.nowNs(), now);
      sampledNs_ = now;
    }
    recorder_.settle(untilNs);
    if (options_.watch) options_.watch(recorder_.live());
  } catch (const std::exception& error) {
    // Most likely the disk is full: what is written stays, and the program goes on undisturbed.
    failure_ = error.what();
    collector_.pause();
  }
}

void Recording::stop() {
  {
    const std::lock_guard lock(stopMutex_);
    if (stopped_) return;
    stopping_ = stopped_ = true;
  }
  wake_.notify_all();
  thread_.join();
  cycle();
  const std::lock_guard lock(mutex_);
  if (failure_.empty()) {
    collector_.pause();
    const int64_t endNs = collector_.nowNs();
    collector_.drain(true, [this](Event event) { recorder_.add(std::move(event)); });
    recorder_.finish(endNs);
    if (options_.watch) options_.watch(recorder_.live());
    writer_.finish();
  } else {
    throw InputError(failure_);
  }
}

void listenToRanges(const Cupti& cupti) { setenv("NVTX_INJECTION64_PATH", cupti.path.c_str(), 0); }

}  // namespace moeblaze::profiler
