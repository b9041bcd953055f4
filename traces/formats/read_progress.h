#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <stop_token>
#include <string_view>
#include <utility>

#include "core/base/interrupt.h"

namespace moeblaze {

/// Reports how far a reader is, and can stop it. Both happen on the reading thread.
class ReadProgress {
 public:
  using Report = std::function<void(double fraction)>;

  /// Reports nothing. Only Ctrl-C under an InterruptWatch stops the reader.
  ReadProgress() = default;
  ReadProgress(Report report, std::stop_token stop) : report_(std::move(report)), stop_(std::move(stop)) {}

  /// Called by the reader when `fraction` of its work is done, in [0, 1]. Throws Interrupted when it shall stop.
  void at(double fraction) const {
    if (stop_.stop_requested()) throw Interrupted();
    InterruptWatch::check();
    if (report_) report_(from_ + (to_ - from_) * fraction);
  }
  void at(size_t done, size_t all) const { at(all == 0 ? 1 : static_cast<double>(done) / static_cast<double>(all)); }
  /// The progress of an inner reader, whose work is the part [from, to] of this one's.
  ReadProgress part(double from, double to) const {
    ReadProgress inner = *this;
    inner.from_ = from_ + (to_ - from_) * from;
    inner.to_ = from_ + (to_ - from_) * to;
    return inner;
  }

 private:
  Report report_;
  std::stop_token stop_;
  double from_ = 0, to_ = 1;
};

/// Goes through a text for a parser that knows nothing of progress, and reports every 256 KiB.
class ProgressIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  ProgressIterator(const char* at, const char* begin, const char* end, const ReadProgress& progress)
      : at_(at), begin_(begin), end_(end), progress_(&progress) {}

  reference operator*() const { return *at_; }
  ProgressIterator& operator++() {
    constexpr std::ptrdiff_t kEvery = 1 << 18;
    if ((++at_ - begin_) % kEvery == 0)
      progress_->at(static_cast<size_t>(at_ - begin_), static_cast<size_t>(end_ - begin_));
    return *this;
  }
  ProgressIterator operator++(int) {
    ProgressIterator before = *this;
    ++*this;
    return before;
  }
  bool operator==(const ProgressIterator& other) const { return at_ == other.at_; }

 private:
  const char *at_, *begin_, *end_;
  const ReadProgress* progress_;
};

/// The begin and end of `text` for a parser; both report to `progress`, which must outlive them.
inline std::pair<ProgressIterator, ProgressIterator> watched(std::string_view text, const ReadProgress& progress) {
  const char *begin = text.data(), *end = begin + text.size();
  return {{begin, begin, end, progress}, {end, begin, end, progress}};
}

/// Whether a loop over millions of records should call ReadProgress::at at the record of this number.
constexpr bool isMilestone(size_t record) { return (record & 0xfff) == 0; }

}  // namespace moeblaze
