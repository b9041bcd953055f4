#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace moeblaze {

/// What a compressed file may unpack to. Traces shrink 10 to 30 times; a file that claims far more is a trap.
struct GunzipLimits {
  size_t bytes = size_t{16} << 30;
  size_t ratio = 250;                   ///< of unpacked to packed bytes
  size_t freeBytes = size_t{16} << 20;  ///< up to here any ratio is harmless
};

/// Whether `bytes` start as gzip data do.
bool isGzip(std::string_view bytes);

/// The content of gzip data (several members too), kept in `storage`; `bytes` themselves when they are not gzip data.
/// Throws InputError naming `source` for damaged data and beyond the limits.
std::string_view gunzip(std::string_view bytes, std::string& storage, std::string_view source,
                        GunzipLimits limits = {});

}  // namespace moeblaze
