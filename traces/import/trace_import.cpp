#include "traces/import/trace_import.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/base/error.h"
#include "core/trace/trace_limits.h"

namespace moeblaze {
namespace {

/// Bytes of the UTF-8 sequence with which `text` begins; 0 when it begins with none.
size_t sequenceLength(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  if (byte(0) < 0x80) return 1;
  const size_t length = byte(0) >= 0xf5 ? 0 : byte(0) >= 0xf0 ? 4 : byte(0) >= 0xe0 ? 3 : byte(0) >= 0xc2 ? 2 : 0;
  if (length == 0 || text.size() < length) return 0;
  for (size_t i = 1; i < length; ++i)
    if (byte(i) >> 6 != 2) return 0;
  // Overlong forms, surrogates and numbers beyond Unicode are not valid.
  if ((byte(0) == 0xe0 && byte(1) < 0xa0) || (byte(0) == 0xed && byte(1) > 0x9f) ||
      (byte(0) == 0xf0 && byte(1) < 0x90) || (byte(0) == 0xf4 && byte(1) > 0x8f)) {
    return 0;
  }
  return length;
}

/// Whether a frame in `file` belongs to PyTorch, Python or C++ rather than to the program or a library that it uses.
bool isInternal(std::string_view file) {
  constexpr std::array<std::string_view, 5> kParts{"site-packages/torch/", "dist-packages/torch/", "/torch/csrc/",
                                                   "/torch/include/", "<frozen "};
  if (!file.ends_with(".py") && !file.starts_with('<')) return true;
  return std::ranges::any_of(kParts, [&](std::string_view part) { return file.find(part) != std::string_view::npos; });
}

}  // namespace

void TraceImport::lose(std::string_view what, int64_t count) {
  if (count == 0) return;
  const auto found = std::ranges::find(trace_.losses, what, &Loss::what);
  if (found == trace_.losses.end()) {
    trace_.losses.push_back({std::string(what), count});
  } else {
    found->count += count;
  }
}

StringId TraceImport::text(std::string_view text) {
  std::string clean;
  size_t copied = 0;
  for (size_t i = 0; i < text.size();) {
    const size_t length = sequenceLength(text.substr(i));
    if (length == 0) {
      clean.append(text.substr(copied, i - copied)) += '?';
      copied = i + 1;
    }
    i += std::max<size_t>(length, 1);
  }
  if (copied == 0) return trace_.strings.add(text);
  lose("texts that are not UTF-8");
  return trace_.strings.add(clean.append(text.substr(copied)));
}

size_t TraceImport::add(const Allocation& allocation) {
  if (trackBytes_.size() < trace_.tracks.size()) trackBytes_.resize(trace_.tracks.size());
  int64_t& bytes = trackBytes_[index(allocation.track)];
  if (allocation.bytes > kMaxTrackBytes - bytes) {
    refuse(source_, "allocations have too many bytes in all; allowed: up to {}", kMaxTrackBytes);
  }
  bytes += allocation.bytes;
  trace_.allocations.push_back(allocation);
  return trace_.allocations.size() - 1;
}

StringId TraceImport::nameOf(StackId stack) {
  if (stack == StackId::none) return StringId::empty;
  const auto [entry, isNew] = names_.try_emplace(static_cast<uint32_t>(stack), StringId::empty);
  if (!isNew) return entry->second;
  const std::span<const Frame> frames = trace_.stacks[stack];
  const auto isUser = [&](const Frame& frame) { return !isInternal(trace_.strings[frame.file]); };
  const auto found = std::ranges::find_if(frames, isUser);
  const Frame& frame = found == frames.end() ? frames.front() : *found;
  const std::string& file = trace_.strings[frame.file];
  const std::string text =
      fmt::format("{}:{}:{}", file.substr(file.find_last_of("/\\") + 1), trace_.strings[frame.function], frame.line);
  return entry->second = trace_.strings.add(text);
}

}  // namespace moeblaze
