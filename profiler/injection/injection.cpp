// The library that CUDA (CUDA_INJECTION64_PATH) and NVTX load into a recorded process. It throws nothing into that
// process and prints nothing on its standard output. After a fork, the child uses nothing of it.
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include <exception>
#include <filesystem>
#include <fstream>
#include <memory>
#include <mutex>
#include <optional>

#include "profiler/injection/injection_settings.h"
#include "profiler/injection/status_page.h"
#include "profiler/recording/recording.h"

namespace moeblaze::profiler {
namespace {

/// The beginning of this process's command line.
std::string commandLine() {
  std::ifstream in("/proc/self/cmdline", std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(in)), {});
  constexpr size_t kMaxBytes = 4096;
  text.resize(std::min(text.size(), kMaxBytes));
  for (char& c : text)
    if (c == '\0') c = ' ';
  while (!text.empty() && text.back() == ' ') text.pop_back();
  return text;
}

/// The state of the recording in this process. It is never destroyed, because CUDA may call into it while the process
/// ends.
struct Injection {
  std::once_flag once;
  InjectionSettings settings;
  std::optional<StatusPage> page;
  ProcessStatus* status = nullptr;
  std::optional<Cupti> cupti;
  std::unique_ptr<Recording> recording;
  pid_t owner = 0;

  static Injection& instance() {
    static auto* const kInstance = new Injection;
    return *kInstance;
  }

  void fail(const char* why) {
    if (status != nullptr) status->fail(why);
  }

  const Cupti& loaded() {
    if (!cupti) cupti = loadCupti(settings.cupti);
    return *cupti;
  }

  /// A page that cannot be joined does no harm: the recording is the same, but its progress is not shown.
  void joinPage() {
    if (settings.statusFile.empty()) return;
    try {
      page.emplace(StatusPage::open(settings.statusFile));
      status = page->join(owner);
    } catch (const std::exception&) {
      page.reset();
    }
  }

  void start() {
    owner = getpid();
    joinPage();
    RecordingOptions options;
    options.collector.work = !settings.memoryOnly;
    options.recorder.followsStreams = !settings.memoryOnly;
    options.meta = {{"source", "moeblaze-prof record"}, {"process", std::to_string(owner)}, {"command", commandLine()}};
    if (settings.memoryOnly) options.meta.emplace_back("recorded", "memory and NVTX ranges only");
    if (status != nullptr)
      options.watch = [this](const LiveBytes& live) {
        status->liveBytes = live.now;
        status->peakBytes = live.peak;
      };
    options.failed = [this](const std::string& why) { fail(why.c_str()); };
    recording = std::make_unique<Recording>(loaded(), settings.fileOf(owner), std::move(options));
    atexit([] { instance().stop(); });
    pthread_atfork(nullptr, nullptr, [] { instance().forget(); });
  }

  void stop() {
    if (recording == nullptr || getpid() != owner) return;
    try {
      recording->stop();
    } catch (const std::exception& error) {
      fail(error.what());
    }
  }

  /// To be called in a forked child. The recording's thread does not exist there and CUDA does not work there, so
  /// nothing can be stopped or destroyed.
  void forget() {
    static_cast<void>(recording.release());
    status = nullptr;
  }
};

void startOnce() {
  Injection& injection = Injection::instance();
  std::call_once(injection.once, [&] {
    try {
      if (InjectionSettings::fromEnvironment([](const char* name) { return getenv(name); }, injection.settings))
        injection.start();
    } catch (const std::exception& error) {
      injection.fail(error.what());
    }
  });
}

/// Passes a call on to the entry point that CUPTI has for NVTX. None of CUPTI's headers declares it, so it is found by
/// name. Does nothing when this process is not recorded.
template <typename Argument>
int forward(const char* entry, Argument argument) {
  try {
    InjectionSettings settings;
    if (!InjectionSettings::fromEnvironment([](const char* name) { return getenv(name); }, settings)) return 0;
    const auto call = reinterpret_cast<int (*)(Argument)>(dlsym(loadCupti(settings.cupti).library, entry));
    return call == nullptr ? 0 : call(argument);
  } catch (const std::exception&) {
    return 0;
  }
}

}  // namespace
}  // namespace moeblaze::profiler

extern "C" {

/// The driver calls this when the process initialises CUDA.
__attribute__((visibility("default"))) int InitializeInjection() {
  moeblaze::profiler::startOnce();
  return 1;
}

/// NVTX calls this, or one of the two below, at the first range of each library that contains NVTX.
__attribute__((visibility("default"))) int InitializeInjectionNvtx2(void* getExportTable) {
  return moeblaze::profiler::forward("InitializeInjectionNvtx2", getExportTable);
}

__attribute__((visibility("default"))) int InitializeInjectionNvtx(void* getExportTable) {
  return moeblaze::profiler::forward("InitializeInjectionNvtx", getExportTable);
}

__attribute__((visibility("default"))) int InitializeInjectionNvtxExtension(void* extension) {
  return moeblaze::profiler::forward("InitializeInjectionNvtxExtension", extension);
}
}
