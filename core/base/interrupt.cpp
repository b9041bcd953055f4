#include "core/base/interrupt.h"

#include <csignal>

namespace moeblaze {
namespace {

volatile std::sig_atomic_t requestedFlag = 0;

extern "C" void noteRequest(int signal) {
  requestedFlag = 1;
  std::signal(signal, SIG_DFL);  // the next one ends the program
}

}  // namespace

InterruptWatch::InterruptWatch() {
  requestedFlag = 0;
  std::signal(SIGINT, noteRequest);
  std::signal(SIGTERM, noteRequest);
}

InterruptWatch::~InterruptWatch() {
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
  requestedFlag = 0;
}

bool InterruptWatch::requested() { return requestedFlag != 0; }

bool InterruptWatch::acknowledge() {
  const bool was = requestedFlag != 0;
  requestedFlag = 0;
  return was;
}

}  // namespace moeblaze
