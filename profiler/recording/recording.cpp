#include "profiler/recording/recording.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

#include <chrono>

#include "core/base/error.h"

namespace moeblaze::profiler {
namespace {

constexpr auto kPeriod = std::chrono::milliseconds(100);
constexpr int64_t kSampleNs = 1'000'000'000;

int64_t steadyNs() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

/// Blocks all signals in this thread while it exists. Threads started meanwhile inherit the block.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_{};
};

}  // namespace

Recording::Recording(const Cupti& cupti, const std::string& file, RecordingOptions options)
    : Recording(
          cupti, [&] { return std::make_unique<FileSink>(file); }, std::move(options)) {}

Recording::Recording(const Cupti& cupti, Trace& trace, RecordingOptions options)
    : Recording(
          cupti, [&] { return std::make_unique<MemorySink>(trace); }, std::move(options)) {}

Recording::Recording(const Cupti& cupti, const OpenSink& open, RecordingOptions options)
    : options_(std::move(options)),
      collector_(cupti, options_.collector),
      clock_(collector_.nowNs(), steadyNs()),
      sink_(open()),
      recorder_(*sink_, clock_, options_.recorder) {
  for (const auto& [key, value] : options_.meta) sink_->addMeta(key, value);
  const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  sink_->addMeta("started", fmt::format("{:%FT%TZ}", fmt::gmtime(std::chrono::system_clock::to_time_t(now))));
  sink_->addMeta("cupti", std::to_string(cupti.version));
  sampledNs_ = steadyNs();
  const SignalsBlocked blocked;  // the program's own threads must handle its signals
  thread_ = std::thread([this] { run(); });
}

Recording::~Recording() {
  try {
    stop();
  } catch (const std::exception&) {
    // A caller that wants to know calls stop() itself.
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

/// Reads the two clocks at one instant. A reading during which this thread was held up is dropped.
void Recording::sampleClocks() {
  constexpr int64_t kMaxApartNs = 100'000;
  const int64_t before = steadyNs();
  if (before - sampledNs_ < kSampleNs) return;
  const int64_t profilerNs = collector_.nowNs();
  const int64_t after = steadyNs();
  if (after - before > kMaxApartNs) return;
  clock_.sample(profilerNs, before + (after - before) / 2);
  sampledNs_ = before;
}

void Recording::cycle() {
  const std::lock_guard lock(mutex_);
  if (!failure_.empty()) return;
  try {
    sampleClocks();
    collector_.drain(false, [this](Event event) { recorder_.add(std::move(event)); });
    recorder_.settle(collector_.toldUntilNs());
    if (options_.watch) options_.watch(recorder_.live());
  } catch (const std::exception& error) {
    fail(error.what());
  }
}

/// The likely cause is a full disk. What was written stays, and the program goes on undisturbed.
void Recording::fail(const std::string& why) {
  failure_ = why;
  collector_.pause();
  if (options_.failed) options_.failed(why);
  try {
    sink_->finish();
  } catch (const std::exception&) {
    // The file then looks as if the program had been killed.
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
  if (!failure_.empty()) throw InputError(failure_);
  collector_.pause();
  const int64_t endNs = collector_.nowNs();
  collector_.drain(true, [this](Event event) { recorder_.add(std::move(event)); });
  recorder_.finish(endNs);
  if (options_.watch) options_.watch(recorder_.live());
  sink_->finish();
}

void listenToRanges(const Cupti& cupti) { setenv("NVTX_INJECTION64_PATH", cupti.path.c_str(), 0); }

}  // namespace moeblaze::profiler
