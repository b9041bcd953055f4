#include "traces/formats/gzip.h"

#include <zlib.h>

#include <algorithm>
#include <limits>
#include <new>

#include "core/base/error.h"

namespace moeblaze {
namespace {

constexpr size_t kChunk = size_t{1} << 20;

/// Unpacks gzip members with zlib. Data are fed in pieces, because zlib counts bytes in 32 bits.
class Inflater {
 public:
  explicit Inflater(std::string_view bytes) : rest_(bytes) {
    constexpr int kGzipOnly = 15 + 16;  // as zlib codes it: 15 for the largest window, 16 for a gzip header
    if (inflateInit2(&stream_, kGzipOnly) != Z_OK) throw std::bad_alloc();
  }
  ~Inflater() { inflateEnd(&stream_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  /// Unpacks up to `size` bytes into `out` and returns how many. `status` is set to what zlib answers.
  size_t read(char* out, size_t size, int& status) {
    const size_t fed = std::min<size_t>(rest_.size(), std::numeric_limits<uInt>::max());
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(rest_.data()));
    stream_.avail_in = static_cast<uInt>(fed);
    stream_.next_out = reinterpret_cast<Bytef*>(out);
    stream_.avail_out = static_cast<uInt>(size);
    status = inflate(&stream_, Z_NO_FLUSH);
    rest_.remove_prefix(fed - stream_.avail_in);
    return size - stream_.avail_out;
  }

  /// Whether another member follows the one that has ended. Zeros at the end are padding.
  bool nextMember() {
    if (rest_.find_first_not_of('\0') == std::string_view::npos) return false;
    inflateReset(&stream_);
    return true;
  }

  size_t restBytes() const { return rest_.size(); }

 private:
  z_stream stream_{};
  std::string_view rest_;
};

void checkLimits(size_t unpacked, size_t packed, std::string_view source, const GunzipLimits& limits) {
  if (unpacked > limits.bytes) {
    refuse(source, "unpacks to more than {} bytes; allowed: up to that", limits.bytes);
  }
  if (unpacked > limits.freeBytes && unpacked / limits.ratio > packed) {
    refuse(source, "unpacks to more than {} times its {} bytes; allowed: up to that", limits.ratio, packed);
  }
}

}  // namespace

bool isGzip(std::string_view bytes) { return bytes.starts_with("\x1f\x8b"); }

std::string_view gunzip(std::string_view bytes, std::string& storage, std::string_view source, GunzipLimits limits) {
  if (!isGzip(bytes)) return bytes;
  storage.clear();
  Inflater inflater(bytes);
  size_t used = 0;
  while (true) {
    if (storage.size() - used < kChunk) storage.resize(std::max(storage.size() + kChunk, storage.size() * 3 / 2));
    int status = Z_OK;
    const size_t got = inflater.read(storage.data() + used, std::min(storage.size() - used, kChunk), status);
    used += got;
    checkLimits(used, bytes.size(), source, limits);
    if (status == Z_STREAM_END) {
      if (!inflater.nextMember()) break;
    } else if (status == Z_BUF_ERROR) {
      refuse(source, "the gzip data end early, after {} bytes unpacked; allowed: a whole file", used);
    } else if (status != Z_OK) {
      refuse(source, "the gzip data are damaged at byte {}; allowed: a whole file",
             bytes.size() - inflater.restBytes());
    }
  }
  storage.resize(used);
  return storage;
}

}  // namespace moeblaze
