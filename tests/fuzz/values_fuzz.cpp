#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/base/error.h"
#include "traces/formats/gzip.h"
#include "traces/formats/json_tree.h"
#include "traces/formats/pickle.h"

namespace {

template <typename F>
void refusesOrReads(F&& read) {
  try {
    read();
  } catch (const moeblaze::InputError&) {
  }
}

}  // namespace

/// Reads the bytes as what stands below the importers: a pickle, JSON and gzip. This is fast, because it builds no
/// trace. Only InputError may be thrown.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  refusesOrReads([&] { moeblaze::readPickle(bytes, "fuzz"); });
  refusesOrReads([&] { moeblaze::readJsonTree(bytes, "fuzz"); });
  std::string storage;
  refusesOrReads([&] { moeblaze::gunzip(bytes, storage, "fuzz", {.bytes = 1 << 20, .freeBytes = 1 << 16}); });
  return 0;
}
