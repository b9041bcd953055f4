#include "profiler/commands/launch.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

#include "core/base/error.h"

namespace moeblaze::profiler {
namespace {

constexpr auto kTick = std::chrono::milliseconds(250);
constexpr auto kPoll = std::chrono::milliseconds(10);

volatile sig_atomic_t terminateRequests = 0;

void passOn(int) { terminateRequests = terminateRequests + 1; }

/// Sets how this process reacts to signals while the program runs. The terminal sends Ctrl-C to the whole process
/// group; it is meant for the program, so this process ignores it.
class SignalsOfParent {
 public:
  SignalsOfParent() {
    terminateRequests = 0;
    for (size_t i = 0; i < kSignals.size(); ++i) {
      sigaction(kSignals[i].first, nullptr, &before_[i]);
      // A signal that this process was started to ignore, as under nohup, stays ignored. SIGCHLD is the exception:
      // while it is ignored, waitpid cannot tell how the child ended.
      if (before_[i].sa_handler == SIG_IGN && kSignals[i].first != SIGCHLD) continue;
      struct sigaction action {};
      action.sa_handler = kSignals[i].second;
      sigaction(kSignals[i].first, &action, nullptr);
    }
  }
  ~SignalsOfParent() { restore(); }
  SignalsOfParent(const SignalsOfParent&) = delete;
  SignalsOfParent& operator=(const SignalsOfParent&) = delete;
  void restore() const {
    for (size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i].first, &before_[i], nullptr);
  }

 private:
  static inline const std::array<std::pair<int, void (*)(int)>, 5> kSignals{
      {{SIGINT, SIG_IGN}, {SIGQUIT, SIG_IGN}, {SIGTERM, passOn}, {SIGHUP, passOn}, {SIGCHLD, SIG_DFL}}};
  std::array<struct sigaction, 5> before_{};
};

/// Runs in the child. When the program cannot be started, writes errno to `failurePipe`.
[[noreturn]] void become(const std::vector<std::string>& command, const std::vector<std::string>& environment,
                         int failurePipe) {
  for (const std::string& entry : environment) {
    const size_t equals = entry.find('=');
    setenv(entry.substr(0, equals).c_str(), entry.c_str() + equals + 1, 1);
  }
  std::vector<char*> words;
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  execvp(words[0], words.data());
  const int reason = errno;
  if (write(failurePipe, &reason, sizeof(reason)) < 0) _exit(126);
  _exit(127);
}

Ended endOf(int status, pid_t pid) {
  if (WIFSIGNALED(status)) return {128 + WTERMSIG(status), WTERMSIG(status), pid};
  return {WEXITSTATUS(status), 0, pid};
}

}  // namespace

Ended launch(const std::vector<std::string>& command,
             const std::function<std::vector<std::string>(int32_t)>& environment, const std::function<void()>& tick) {
  int pipeEnds[2];
  if (pipe2(pipeEnds, O_CLOEXEC) != 0)
    throw InputError(std::string("no pipe to start a program with: ") + std::strerror(errno));
  const SignalsOfParent signals;
  const pid_t pid = fork();
  if (pid == 0) {
    signals.restore();
    become(command, environment(getpid()), pipeEnds[1]);
  }
  ::close(pipeEnds[1]);
  int reason = 0;
  const bool failed = pid < 0 || read(pipeEnds[0], &reason, sizeof(reason)) == sizeof(reason);
  ::close(pipeEnds[0]);
  if (failed) {
    if (pid > 0) waitpid(pid, nullptr, 0);
    refuse(command.front(), "cannot be started: {}", std::strerror(pid < 0 ? errno : reason));
  }
  int status = 0;
  int passedOn = 0;
  for (auto due = std::chrono::steady_clock::now();;) {
    const pid_t ended = waitpid(pid, &status, WNOHANG);
    if (ended == pid) break;
    if (ended < 0 && errno != EINTR) refuse(command.front(), "cannot be waited for: {}", std::strerror(errno));
    for (; passedOn < terminateRequests; ++passedOn) kill(pid, SIGTERM);
    if (std::chrono::steady_clock::now() >= due) tick(), due += kTick;
    std::this_thread::sleep_for(kPoll);
  }
  return endOf(status, pid);
}

}  // namespace moeblaze::profiler
