#include "traces/import/nsight/nsight.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>

#include "core/base/error.h"
#include "core/trace/trace_limits.h"
#include "traces/import/file_kind.h"
#include "traces/import/memory_log.h"
#include "traces/import/nsight/nsight_tables.h"
#include "traces/import/trace_builder.h"

namespace moeblaze {
namespace {

constexpr std::array<std::string_view, 7> kTables{"CUDA_GPU_MEMORY_USAGE_EVENTS",
                                                  "CUDA_GPU_MEMORY_POOL_EVENTS",
                                                  "CUPTI_ACTIVITY_KIND_KERNEL",
                                                  "CUPTI_ACTIVITY_KIND_MEMCPY",
                                                  "CUPTI_ACTIVITY_KIND_MEMSET",
                                                  "NVTX_EVENTS",
                                                  "TARGET_INFO_GPU"};

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

bool isTime(std::optional<int64_t> ns) { return ns && *ns >= -kMaxTimeNs && *ns <= kMaxTimeNs; }
bool isSize(std::optional<int64_t> bytes) { return bytes && *bytes >= 0 && *bytes <= kMaxAllocationBytes; }

class NsightImport {
 public:
  NsightImport(const std::string& path, const ReadProgress& progress) : file_(path, progress), builder_(path) {
    builder_.trace().meta = {{"source", "nsight"}, {"file", path}};
    const auto exists = [&](std::string_view table) { return !file_.columns(table).empty(); };
    if (std::ranges::none_of(kTables, exists)) {
      refuse(path, "holds none of Nsight Systems' tables; allowed: an export with {}", listNames(kTables));
    }
  }

  Trace run() {
    readDevices();
    readMemory();
    readPools();
    readWork("CUPTI_ACTIVITY_KIND_KERNEL", "kernels", {"demangledName", "shortName"});
    readWork("CUPTI_ACTIVITY_KIND_MEMCPY", "copies", {"copyKind", ""});
    readWork("CUPTI_ACTIVITY_KIND_MEMSET", "memsets", {"", ""});
    readRanges();
    return builder_.finish();
  }

 private:
  void countLacking(const NsightTable& table, std::string_view name) {
    if (!table.lacks().empty())
      builder_.lose(fmt::format("table {} lacks the column {}, not imported", name, table.lacks()));
  }

  void malformed(std::string_view table) { builder_.lose(fmt::format("malformed rows of {}", table)); }

  /// What a track's name adds for its process: ", process 7", or nothing for the first process of the file.
  std::string ofProcess(std::optional<int64_t> globalId) {
    if (!globalId) return {};
    const int64_t process = *globalId >> 24 & 0xffffff;
    if (!firstProcess_) {
      firstProcess_ = process;
      builder_.trace().meta.emplace_back("process", std::to_string(process));
    }
    return process == *firstProcess_ ? std::string() : fmt::format(", process {}", process);
  }

  void readDevices() {
    NsightTable table(file_, "TARGET_INFO_GPU", {{"id", false, true}, {"name", true}, {"totalMemory"}});
    countLacking(table, "TARGET_INFO_GPU");
    while (table.readable() && table.next()) {
      const auto id = table.integer(0);
      if (!TraceBuilder::isDevice(id)) {
        malformed("TARGET_INFO_GPU");
        continue;
      }
      const auto bytes = table.integer(2);
      builder_.device(static_cast<int32_t>(*id), table.text(1).value_or(""), isSize(bytes) ? *bytes : 0);
    }
  }

  /// Whether a memory operation is a free, told by its name where the file has names, because the numbers are not those
  /// of CUPTI. Empty for operations that are neither a free nor an allocation.
  static std::optional<bool> frees(const std::unordered_map<int64_t, std::string>& operations, int64_t operation) {
    if (operations.empty()) return operation == 0 || operation == 1 ? std::optional(operation == 1) : std::nullopt;
    const auto found = operations.find(operation);
    if (found == operations.end()) return {};
    const std::string name = lower(found->second);
    if (name.find("dealloc") != std::string::npos || name.find("free") != std::string::npos) return true;
    return name.find("alloc") != std::string::npos ? std::optional(false) : std::nullopt;
  }

  static std::string kindName(const std::unordered_map<int64_t, std::string>& kinds, std::optional<int64_t> kind) {
    constexpr std::array<std::string_view, 8> kKinds{"pageable", "pinned",        "device",         "array",
                                                     "managed",  "device static", "managed static", "unknown"};
    if (!kind) return "unknown";
    if (const auto found = kinds.find(*kind); found != kinds.end()) return lower(found->second);
    return kinds.empty() && *kind >= 0 && *kind < std::ssize(kKinds) ? std::string(kKinds[static_cast<size_t>(*kind)])
                                                                     : fmt::format("kind {}", *kind);
  }

  void readMemory() {
    constexpr std::string_view kTable = "CUDA_GPU_MEMORY_USAGE_EVENTS";
    enum { start, address, bytes, operation, kind, device, process, name, nameId, stream, pool, poolSize, poolUsed };
    NsightTable table(file_, kTable,
                      {{"start", false, true},
                       {"address", false, true},
                       {"bytes", false, true},
                       {"memoryOperationType", false, true},
                       {"memKind"},
                       {"deviceId"},
                       {"globalPid"},
                       {"name", true},
                       {"name"},
                       {"streamId"},
                       {"localMemoryPoolAddress"},
                       {"localMemoryPoolSize"},
                       {"localMemoryPoolUtilizedSize"}});
    countLacking(table, kTable);
    if (!table.readable()) return;
    const auto operations = file_.enumeration("ENUM_CUDA_DEV_MEM_EVENT_OPER");
    const auto kinds = file_.enumeration("ENUM_CUDA_MEM_KIND");
    for (int64_t row = 0; table.next(); ++row) {
      const std::optional<bool> isFree = frees(operations, table.integer(operation).value_or(-1));
      const std::string kindText = kindName(kinds, table.integer(kind));
      const bool onHost = kindText == "pinned" || kindText == "pageable";
      const auto id = onHost ? kHostDevice : table.has(device) ? table.integer(device) : 0;
      const auto size = table.integer(bytes), at = table.integer(address);
      if (!isFree || !isTime(table.integer(start)) || !isSize(size) || !at || !(onHost || TraceBuilder::isDevice(id))) {
        malformed(kTable);
        continue;
      }
      const std::string place = onHost ? "host" : fmt::format("device {}", *id);
      const TrackId track =
          builder_.track(fmt::format("{}, {}{}", kindText == "device" ? "memory" : kindText + " memory", place,
                                     ofProcess(table.integer(process))),
                         static_cast<int32_t>(*id));
      builder_.memory(track, {.timeNs = *table.integer(start),
                              .order = row,
                              .address = static_cast<uint64_t>(*at),
                              .bytes = *size,
                              .isFree = *isFree,
                              .name = variable(table.text(name), table.integer(nameId)),
                              .stream = table.integer(stream).value_or(0)});
      poolPoints(track, *table.integer(start), table.integer(pool), table.integer(poolSize), table.integer(poolUsed));
    }
  }

  StringId variable(std::optional<std::string_view> text, std::optional<int64_t> id) {
    if (!text && id) text = file_.string(*id);
    return builder_.text(text.value_or(""));
  }

  void poolPoints(TrackId track, int64_t ns, std::optional<int64_t> pool, std::optional<int64_t> size,
                  std::optional<int64_t> used) {
    if (pool.value_or(0) == 0) return;
    const auto add = [&](std::string_view what, std::optional<int64_t> value) {
      if (!value) return;
      const std::string name = fmt::format("pool {:#x} {}", static_cast<uint64_t>(*pool), what);
      builder_.counterPoint(track, name, "bytes", ns, static_cast<double>(*value));
    };
    add("size", size);
    add("used", used);
  }

  void readPools() {
    constexpr std::string_view kTable = "CUDA_GPU_MEMORY_POOL_EVENTS";
    enum { start, address, device, process, size, used };
    NsightTable table(file_, kTable,
                      {{"start", false, true},
                       {"address", false, true},
                       {"deviceId"},
                       {"globalPid"},
                       {"localMemoryPoolSize"},
                       {"localMemoryPoolUtilizedSize"}});
    countLacking(table, kTable);
    while (table.readable() && table.next()) {
      const auto id = table.has(device) ? table.integer(device) : 0;
      if (!isTime(table.integer(start)) || !table.integer(address) || !TraceBuilder::isDevice(id)) {
        malformed(kTable);
        continue;
      }
      const TrackId track = builder_.track(fmt::format("memory, device {}{}", *id, ofProcess(table.integer(process))),
                                           static_cast<int32_t>(*id));
      poolPoints(track, *table.integer(start), table.integer(address), table.integer(size), table.integer(used));
    }
  }

  /// Reads kernels, copies or memsets. `names` are the columns that may tell the name of a row, the better one first.
  void readWork(std::string_view tableName, std::string_view lane, std::array<std::string_view, 2> names) {
    enum { start, end, device, stream, process, first, second };
    NsightTable table(file_, tableName,
                      {{"start", false, true},
                       {"end", false, true},
                       {"deviceId"},
                       {"streamId"},
                       {"globalPid"},
                       {names[0]},
                       {names[1]}});
    countLacking(table, tableName);
    const auto copies = names[0] == "copyKind" ? file_.enumeration("ENUM_CUDA_MEMCPY_OPER")
                                               : std::unordered_map<int64_t, std::string>();
    while (table.readable() && table.next()) {
      const auto id = table.has(device) ? table.integer(device) : 0;
      const auto from = table.integer(start), to = table.integer(end);
      if (!isRange(from, to) || !TraceBuilder::isDevice(id)) {
        malformed(tableName);
        continue;
      }
      std::string_view name = lane.substr(0, lane.size() - 1);
      if (names[0] == "copyKind") {
        const auto found = copies.find(table.integer(first).value_or(-1));
        name = found == copies.end() ? "copy" : std::string_view(found->second);
      } else {
        for (size_t column : {second, first})
          if (const auto text = table.integer(column)) name = file_.string(*text).value_or(name);
      }
      const TrackId track =
          builder_.track(fmt::format("{}, device {}, stream {}{}", lane, *id, table.integer(stream).value_or(0),
                                     ofProcess(table.integer(process))),
                         static_cast<int32_t>(*id));
      builder_.span(track, name, *from, *to - *from);
    }
  }

  static bool isRange(std::optional<int64_t> from, std::optional<int64_t> to) {
    return isTime(from) && isTime(to) && *from <= *to && *to - *from <= kMaxTimeNs;
  }

  void readRanges() {
    constexpr std::string_view kTable = "NVTX_EVENTS";
    enum { start, end, text, textId, thread };
    NsightTable table(file_, kTable,
                      {{"start", false, true}, {"end", false, true}, {"text", true}, {"textId"}, {"globalTid"}});
    countLacking(table, kTable);
    while (table.readable() && table.next()) {
      const auto from = table.integer(start), to = table.integer(end);
      if (isTime(from) && !to) {
        builder_.lose("NVTX marks and ranges without an end");
        continue;
      }
      if (!isRange(from, to)) {
        malformed(kTable);
        continue;
      }
      const auto id = table.integer(thread);
      const TrackId track = builder_.track(
          fmt::format("annotations, thread {}{}", id.value_or(0) & 0xffffff, ofProcess(id)), kHostDevice);
      auto name = table.text(text);
      if (!name && table.integer(textId)) name = file_.string(*table.integer(textId));
      builder_.span(track, name.value_or(""), *from, *to - *from);
    }
  }

  NsightFile file_;
  TraceBuilder builder_;
  std::optional<int64_t> firstProcess_;
};

}  // namespace

Trace importNsight(const std::string& path, const ReadProgress& progress) { return NsightImport(path, progress).run(); }

FileKind nsightFile() {
  return {.name = "Nsight Systems database",
          .brief = "Nsight Systems SQLite",
          .allowed = "an Nsight Systems SQLite export",
          .recognises = [](const FileHead& head) { return sqlite::isDatabase(head.bytes); },
          .read = importNsight};
}

}  // namespace moeblaze
