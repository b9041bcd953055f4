#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace moeblaze {

/// The bytes of a .npy file before its data: format version `major`.0 with `dict` as its header, padded as NumPy pads.
inline std::string npyHeader(std::string dict, int major = 1) {
  const size_t lengthBytes = major == 1 ? 2 : 4;
  while ((8 + lengthBytes + dict.size() + 1) % 64 != 0) dict += ' ';
  dict += '\n';
  std::string file = "\x93NUMPY";
  file += static_cast<char>(major);
  file += '\0';
  for (size_t i = 0; i < lengthBytes; ++i) file += static_cast<char>(dict.size() >> (8 * i) & 0xff);
  return file + dict;
}

/// The header of an array, as NumPy writes it: element type, shape and order.
inline std::string npyDict(std::string_view descr, std::string_view shape, std::string_view fortran = "False") {
  return std::string("{'descr': '") + std::string(descr) + "', 'fortran_order': " + std::string(fortran) +
         ", 'shape': " + std::string(shape) + ", }";
}

/// The `values` one after another, each as `bytes` bytes in little-endian order.
inline std::string littleEndianBytes(const std::vector<int64_t>& values, size_t bytes) {
  std::string data;
  for (int64_t value : values) {
    for (size_t i = 0; i < bytes; ++i) data += static_cast<char>(static_cast<uint64_t>(value) >> (8 * i) & 0xff);
  }
  return data;
}

/// A whole .npy file of int64 values.
inline std::string npyFile(std::string_view shape, const std::vector<int64_t>& values) {
  return npyHeader(npyDict("<i8", shape)) + littleEndianBytes(values, 8);
}

}  // namespace moeblaze
