#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <string>
#include <string_view>

#include "core/base/error.h"
#include "traces/store/file/store_file.h"
#include "traces/store/store.h"

namespace {

using namespace moeblaze;
using namespace moeblaze::store;

/// Takes numbers from the input. After its end they are zero.
class Bytes {
 public:
  explicit Bytes(std::string_view bytes) : bytes_(bytes) {}
  bool empty() const { return bytes_.empty(); }
  template <typename Value>
  Value take() {
    Value value{};
    const size_t size = std::min(sizeof(value), bytes_.size());
    std::memcpy(&value, bytes_.data(), size);
    bytes_.remove_prefix(size);
    return value;
  }
  std::string take(size_t size) {
    std::string taken(bytes_.substr(0, size));
    bytes_.remove_prefix(taken.size());
    taken.resize(size);
    return taken;
  }

 private:
  std::string_view bytes_;
};

size_t rowBytes(const ChunkInfo& chunk) {
  const size_t rows = static_cast<size_t>(chunk.rows), frees = static_cast<size_t>(chunk.frees);
  switch (chunk.kind) {
    case ChunkKind::memory:
      return rows * kAllocationRowBytes + frees * kFreeRowBytes;
    case ChunkKind::spans:
      return rows * kSpanRowBytes;
    default:
      return rows * kPointRowBytes;
  }
}

/// Writes a file whose tables and checksums are right, but whose chunks are what the input says.
void writeChunks(const std::string& path, Bytes input) {
  StoreFile file(path, path, Mode::whole);
  for (std::string_view text : {"", "text"}) file.insert(Table::strings, text);
  for (std::string_view frames : {"", "\0\0\0"}) file.insert(Table::stacks, sqlite::Blob{frames});
  for (int32_t kind : {1, 2}) file.insert(Table::tracks, std::string_view("track"), kind, 0);
  file.insert(Table::counters, 0, 1, 1);
  while (!input.empty()) {
    ChunkInfo chunk;
    chunk.kind = static_cast<ChunkKind>(input.take<uint8_t>() % 5);
    chunk.owner = input.take<int8_t>();
    chunk.rows = input.take<uint8_t>();
    chunk.frees = chunk.kind == ChunkKind::memory ? input.take<uint8_t>() : 0;
    for (int64_t* field : {&chunk.startNs, &chunk.endNs, &chunk.netBytes, &chunk.maxBytes, &chunk.maxNs})
      *field = input.take<uint8_t>() % 2 ? input.take<int8_t>() : input.take<int64_t>();
    file.insertChunk(chunk, input.take(rowBytes(chunk)));
  }
  file.finish();
}

void writeBytes(const std::string& path, std::string_view bytes) {
  if (std::FILE* file = std::fopen(path.c_str(), "wb")) {
    std::fwrite(bytes.data(), 1, bytes.size(), file);
    std::fclose(file);
  }
}

}  // namespace

/// Reads the bytes as a trace file, or those after a leading C as the chunks of one. Only InputError may be thrown.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  // The file needs a name: SQLite resolves links, so it cannot open a descriptor of an unnamed file by its path.
  static const std::string kPath =
      (std::filesystem::temp_directory_path() / ("store_fuzz." + std::to_string(getpid()))).string();
  const std::string_view input(reinterpret_cast<const char*>(bytes), size);
  if (input.starts_with('C'))
    writeChunks(kPath, Bytes(input.substr(1)));
  else
    writeBytes(kPath, input);
  try {
    summarize(kPath);
  } catch (const InputError&) {
  }
  try {
    readTrace(kPath);
  } catch (const InputError&) {
  }
  for (const char* suffix : {"", "-wal", "-shm", "-journal"}) std::remove((kPath + suffix).c_str());
  return 0;
}
