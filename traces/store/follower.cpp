#include "traces/store/follower.h"

#include <filesystem>
#include <new>

#include "core/base/error.h"
#include "traces/store/trace_loader.h"

namespace moeblaze {

TraceFollower::TraceFollower(std::string path)
    : path_(std::move(path)), loader_(std::make_unique<store::TraceLoader>(path_)) {}
TraceFollower::~TraceFollower() = default;
TraceFollower::TraceFollower(TraceFollower&&) noexcept = default;
TraceFollower& TraceFollower::operator=(TraceFollower&&) noexcept = default;

bool TraceFollower::poll(const ReadProgress& progress) {
  const State now = stateOf();  // taken before reading, so that the next poll sees what is written meanwhile
  if (hasTrace_ && now == seen_) return false;
  try {
    loader_->advance(progress);
  } catch (const InputError&) {
    const bool mayBeReplaced = std::exchange(hasTrace_, false);
    loader_ = std::make_unique<store::TraceLoader>(path_);
    if (!mayBeReplaced) throw;
    loader_->advance(progress);
  } catch (const std::bad_alloc&) {
    refuse(path_, "does not fit into memory");
  }
  hasTrace_ = true;
  seen_ = now;
  return true;
}

const Trace& TraceFollower::trace() const { return loader_->trace(); }

bool TraceFollower::finished() const { return loader_->finished(); }

TraceFollower::State TraceFollower::stateOf() const {
  const auto look = [](const std::string& path, int64_t& bytes, int64_t& time) {
    std::error_code error;
    const auto size = std::filesystem::file_size(path, error);
    if (error) return;
    bytes = static_cast<int64_t>(size);
    time = static_cast<int64_t>(std::filesystem::last_write_time(path, error).time_since_epoch().count());
  };
  State state;
  look(path_, state.fileBytes, state.fileTime);
  look(path_ + "-wal", state.logBytes, state.logTime);
  return state;
}

}  // namespace moeblaze
