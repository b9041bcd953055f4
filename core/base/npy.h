#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

namespace moeblaze {

/// An array of integers from a NumPy .npy file (format 1.0 to 3.0, C order, little-endian integers of 1 to 8 bytes).
struct NpyArray {
  std::vector<int64_t> shape;
  std::vector<int64_t> values;  ///< row-major
};

/// Reads `path`. Throws InputError when the file is truncated or has bytes left over, has more than 2³¹ elements, or
/// has another dtype or order. Allocates no more memory than the file has elements for.
NpyArray readNpy(const std::filesystem::path& path);

}  // namespace moeblaze
