#include "traces/export/csv.h"

#include <fmt/format.h>

#include <ostream>
#include <string_view>

namespace moeblaze {
namespace {

std::string quoted(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string escaped = "\"";
  for (char c : text) escaped += c == '"' ? std::string("\"\"") : std::string(1, c);
  return escaped + "\"";
}

std::string time(int64_t ns) { return ns == kNever ? std::string() : fmt::format("{}", ns); }

std::string step(StepId id) { return id == StepId::none ? std::string() : fmt::format("{}", index(id)); }

std::string stackText(const Trace& trace, StackId id) {
  std::string lines;
  for (const Frame& frame : trace.stacks[id]) {
    lines += fmt::format("{}{} ({}:{})", lines.empty() ? "" : "; ", trace.strings[frame.function],
                         trace.strings[frame.file], frame.line);
  }
  return lines;
}

}  // namespace

void exportCsv(const Trace& trace, std::ostream& out) {
  out << "track,kind,device,name,role,older,bytes,requested_bytes,alloc_ns,free_ns,free_requested_ns,step,address,"
         "stream,stack\n";
  for (const Allocation& a : trace.allocations) {
    const Track& track = trace.tracks[index(a.track)];
    out << fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{:#x},{},{}\n", quoted(track.name), name(track.kind),
                       track.device, quoted(trace.strings[a.name]), name(a.role), a.older, a.bytes, a.requestedBytes,
                       a.allocNs, time(a.freeNs), time(a.freeRequestedNs), step(a.step), a.address, a.stream,
                       quoted(stackText(trace, a.stack)));
  }
}

}  // namespace moeblaze
