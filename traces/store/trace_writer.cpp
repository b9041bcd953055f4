#include "traces/store/trace_writer.h"

#include <exception>

#include "traces/store/recorder.h"

namespace moeblaze {

using namespace store;

TraceWriter::TraceWriter(const std::string& path)
    : recorder_(std::make_unique<Recorder>(path, path, Mode::recording)) {}
TraceWriter::TraceWriter(TraceWriter&& other) noexcept = default;

TraceWriter::~TraceWriter() {
  if (!recorder_) return;
  if (!recorder_->isOwn()) {
    // In a forked child: closing the database here would release the parent's file locks, so it is leaked instead.
    static_cast<void>(recorder_.release());
    return;
  }
  try {
    recorder_->usable().finish();
  } catch (const std::exception&) {  // it was finished already, or a write failed and nothing more can be done
  }
}

void TraceWriter::addMeta(std::string_view key, std::string_view value) {
  recorder_->usable().tables().addMeta(key, value);
}
void TraceWriter::addDevice(const Device& device) { recorder_->usable().tables().add(device); }
TrackId TraceWriter::addTrack(const Track& track) { return recorder_->usable().tables().add(track); }
CounterId TraceWriter::addCounter(TrackId track, StringId name, StringId unit) {
  return recorder_->usable().tables().add(Counter{track, name, unit, {}});
}
StringId TraceWriter::addString(std::string_view text) { return recorder_->usable().tables().add(text); }
StackId TraceWriter::addStack(const std::vector<Frame>& frames) {
  return recorder_->usable().tables().add(std::span<const Frame>(frames));
}
AllocationId TraceWriter::addAllocation(const Allocation& allocation) {
  const int64_t id = recorder_->nextAllocation();
  recorder_->usable().addAllocation(id, allocation);
  return static_cast<AllocationId>(id);
}
void TraceWriter::addFree(AllocationId id, int64_t freeNs, int64_t freeRequestedNs) {
  recorder_->usable().addFree({static_cast<int64_t>(id), 0, freeNs, freeRequestedNs});
}
void TraceWriter::addSpan(const Span& span) { recorder_->usable().addSpan(span); }
void TraceWriter::addPoint(CounterId counter, int64_t timeNs, double value) {
  recorder_->usable().addPoint(counter, {timeNs, value});
}
void TraceWriter::addLoss(std::string_view what, int64_t count) {
  recorder_->usable().tables().add(Loss{std::string(what), count});
}
void TraceWriter::flushIfDue() { recorder_->usable().flushIfDue(); }
void TraceWriter::flush() { recorder_->usable().flush(); }
bool TraceWriter::finish() { return recorder_->usable().finish(); }

bool absorbLog(const std::string& path) {
  sqlite::Database database = sqlite::Database::openToWrite(path);
  return leaveLog(database);
}

}  // namespace moeblaze
