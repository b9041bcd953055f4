#include "traces/import/torch/torch_allocator.h"

#include <algorithm>
#include <bit>

namespace moeblaze {
namespace {

constexpr int64_t kMinBlock = 512;
constexpr int64_t kSmall = int64_t{1} << 20;  // up to here blocks come from the small pool, where any rest is split off

int64_t log2Floor(int64_t value) { return std::bit_width(static_cast<uint64_t>(value)) - 1; }

}  // namespace

int64_t TorchAllocatorRules::rounded(int64_t request) const {
  if (request < kMinBlock) return kMinBlock;
  const int64_t slot = std::clamp<int64_t>(log2Floor(request) - 20, 0, std::ssize(divisions) - 1);
  const int64_t parts = divisions[static_cast<size_t>(slot)];
  if (parts <= 1 || request <= kMinBlock * parts) return (request + kMinBlock - 1) / kMinBlock * kMinBlock;
  const int64_t power = int64_t{1} << log2Floor(request);
  if (request == power) return request;
  const int64_t part = power >> log2Floor(parts);
  return part == 0 ? 2 * power : (request + part - 1) / part * part;
}

int64_t TorchAllocatorRules::blockBytes(int64_t request, int64_t gap) const {
  const int64_t bytes = rounded(request);
  const int64_t rest = gap - bytes;
  if (rest < 0) return bytes;
  const bool splits = bytes <= kSmall || expandableSegments
                          ? rest >= kMinBlock
                          : (maxSplitBytes == 0 || bytes < maxSplitBytes) && rest > kSmall;
  return splits ? bytes : gap;
}

}  // namespace moeblaze
