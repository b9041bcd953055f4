#include "profiler/injection/status_page.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <utility>

#include "core/base/error.h"

namespace moeblaze::profiler {

// A new file is all zero bytes, and these form a page that nobody has joined. So no constructor has to run in it, which
// is right only for atomics without a lock.
static_assert(std::atomic<int64_t>::is_always_lock_free);

void ProcessStatus::fail(std::string_view why) {
  const size_t length = std::min(why.size(), failure.size() - 1);
  std::memcpy(failure.data(), why.data(), length);
  failure[length] = '\0';
  hasFailed = true;
}

StatusPage::StatusPage(std::string file, int descriptor, bool owns) : file_(std::move(file)), owns_(owns) {
  void* memory = MAP_FAILED;
  if (!owns || ftruncate(descriptor, sizeof(Page)) == 0)
    if (lseek(descriptor, 0, SEEK_END) >= static_cast<off_t>(sizeof(Page)))
      memory = mmap(nullptr, sizeof(Page), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  ::close(descriptor);
  if (memory == MAP_FAILED) {
    if (owns) unlink(file_.c_str());
    refuse(file_, "cannot be shared: {}", std::strerror(errno));
  }
  page_ = static_cast<Page*>(memory);
}

StatusPage StatusPage::create() {
  std::string file = (std::filesystem::temp_directory_path() / "moeblaze-record-XXXXXX").string();
  const int descriptor = mkostemp(file.data(), O_CLOEXEC);
  if (descriptor < 0) refuse(file, "cannot be made: {}", std::strerror(errno));
  return {std::move(file), descriptor, true};
}

StatusPage StatusPage::open(const std::string& file) {
  const int descriptor = ::open(file.c_str(), O_RDWR | O_CLOEXEC);
  if (descriptor < 0) refuse(file, "cannot be opened: {}", std::strerror(errno));
  return {file, descriptor, false};
}

StatusPage::StatusPage(StatusPage&& other) noexcept
    : file_(std::move(other.file_)),
      page_(std::exchange(other.page_, nullptr)),
      owns_(std::exchange(other.owns_, false)) {}

StatusPage::~StatusPage() {
  if (page_ != nullptr) munmap(page_, sizeof(Page));
  if (owns_) unlink(file_.c_str());
}

ProcessStatus* StatusPage::join(int32_t pid) {
  const uint32_t place = page_->joined.fetch_add(1);
  if (place >= kMaxProcesses) return nullptr;
  page_->processes[place].pid = pid;
  return &page_->processes[place];
}

size_t StatusPage::turnedAway() const { return page_->joined.load() - size(); }

size_t StatusPage::size() const { return std::min<size_t>(page_->joined.load(), kMaxProcesses); }

}  // namespace moeblaze::profiler
