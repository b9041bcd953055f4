#include "traces/import/file_kind.h"

#include <algorithm>

#include "core/base/input_file.h"

namespace moeblaze {

char FileHead::firstMark() const {
  const size_t first = bytes.find_first_not_of(" \t\r\n");
  return first == std::string::npos ? '\0' : bytes[first];
}

FileHead headOf(const std::string& path) {
  std::ifstream in = openInput(path);
  FileHead head{path, std::string(FileHead::kHeadBytes, '\0')};
  in.read(head.bytes.data(), static_cast<std::streamsize>(head.bytes.size()));
  head.bytes.resize(static_cast<size_t>(in.gcount()));
  return head;
}

std::string contentOf(const std::string& path) {
  std::ifstream in = openInput(path);
  in.seekg(0, std::ios::end);
  std::string content(static_cast<size_t>(std::max<std::streamoff>(0, in.tellg())), '\0');
  in.seekg(0);
  in.read(content.data(), static_cast<std::streamsize>(content.size()));
  content.resize(static_cast<size_t>(in.gcount()));
  return content;
}

}  // namespace moeblaze
