#include "traces/open.h"

#include <vector>

#include "core/base/error.h"
#include "core/trace/trace_limits.h"
#include "traces/file_kinds.h"

namespace moeblaze {

const FileKind& kindOf(const std::string& path) {
  const FileHead head = headOf(path);
  for (const FileKind& kind : fileKinds())
    if (kind.recognises(head)) return kind;
  std::vector<std::string_view> allowed;
  for (const FileKind& kind : fileKinds()) allowed.push_back(kind.allowed);
  refuse(path, "is no trace; allowed: {}", listNames(allowed));
}

Trace openTrace(const std::string& path, const ReadProgress& progress) {
  Trace trace = kindOf(path).read(path, progress);
  checkTrace(path, trace);
  return trace;
}

}  // namespace moeblaze
