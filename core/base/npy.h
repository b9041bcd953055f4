#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

namespace moeblaze {

/// An array of integers out of a NumPy .npy file (format 1.0 to 3.0, C order, little-endian integers of 1 to 8 bytes).
struct NpyArray {
  std::vector<int64_t> shape;
  std::vector<int64_t> values;  ///< row-major
};

/// Reads `path`; throws InputError for anything truncated, oversized (over 2³¹ elements), of another dtype or order.
/// Reads no more than the header announces and the file holds.
NpyArray readNpy(const std::filesystem::path& path);

}  // namespace moeblaze
