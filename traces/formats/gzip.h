#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace moeblaze {

/// How much a compressed file may unpack to. Traces compress 10 to 30 times; a file that claims far more is an attack.
struct GunzipLimits {
  size_t bytes = size_t{16} << 30;
  size_t ratio = 250;                   ///< most unpacked bytes for each packed byte
  size_t freeBytes = size_t{16} << 20;  ///< the ratio does not matter up to this many unpacked bytes
};

/// Whether `bytes` begin as gzip data do.
bool isGzip(std::string_view bytes);

/// Unpacks gzip data of one or several members into `storage` and returns it. Returns `bytes` when they are not gzip
/// data. Throws InputError naming `source` for damaged data and beyond the limits.
std::string_view gunzip(std::string_view bytes, std::string& storage, std::string_view source,
                        GunzipLimits limits = {});

}  // namespace moeblaze
