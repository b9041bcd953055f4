#include "traces/open.h"

#include <array>
#include <iterator>

#include "core/base/input_file.h"
#include "traces/formats/gzip.h"
#include "traces/formats/sqlite.h"
#include "traces/import/kineto/kineto.h"
#include "traces/import/nsight/nsight.h"
#include "traces/import/torch/torch_snapshot.h"
#include "traces/store/store.h"
#include "traces/store/store_schema.h"

namespace moeblaze {
namespace {

constexpr std::array<std::string_view, 4> kNames{"mbtrace", "PyTorch memory snapshot", "Kineto trace",
                                                 "Nsight Systems database"};
constexpr size_t kHeadBytes = 4096;

[[noreturn]] void refuseFile(const std::string& path) {
  throw InputError(
      path +
      ": is no trace; allowed: .mbtrace, a PyTorch memory snapshot (pickle or JSON), a Kineto trace (JSON or "
      "JSON.gz), an Nsight Systems SQLite export");
}

std::string headOf(const std::string& path) {
  std::ifstream in = openInput(path);
  std::string head(kHeadBytes, '\0');
  in.read(head.data(), static_cast<std::streamsize>(head.size()));
  head.resize(static_cast<size_t>(in.gcount()));
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

}  // namespace

std::string_view name(FileKind kind) { return kNames[static_cast<size_t>(kind)]; }

FileKind kindOf(const std::string& path) {
  constexpr std::string_view kSqlite("SQLite format 3\0", 16);
  const std::string head = headOf(path);
  if (head.starts_with(kSqlite)) {
    // Asked of SQLite: while a file is recorded its mark may still be in the log beside it.
    const int64_t application = sqlite::Database::openToRead(path).integer("PRAGMA application_id");
    return application == store::kApplicationId ? FileKind::mbtrace : FileKind::nsight;
  }
  if (head.starts_with('\x80')) return FileKind::torchSnapshot;
  if (isGzip(head)) return FileKind::kineto;
  const size_t first = head.find_first_not_of(" \t\r\n");
  if (first == std::string::npos || (head[first] != '{' && head[first] != '[')) refuseFile(path);
  // Both are JSON; a snapshot begins with what only it has, or is a list of segments.
  for (const char* key : {"\"segments\"", "\"device_traces\"", "\"allocator_settings\"", "\"total_size\""})
    if (head.find(key) != std::string::npos) return FileKind::torchSnapshot;
  return FileKind::kineto;
}

Trace openTrace(const std::string& path, const ReadProgress& progress) {
  switch (kindOf(path)) {
    case FileKind::mbtrace:
      return readTrace(path, progress);
    case FileKind::torchSnapshot:
      return importTorchSnapshot(contentOf(path), path, progress);
    case FileKind::kineto:
      return importKineto(contentOf(path), path, progress);
    case FileKind::nsight:
      break;
  }
  return importNsight(path, progress);
}

}  // namespace moeblaze
