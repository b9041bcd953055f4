#include "profiler/cupti/cupti.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <limits.h>
#include <stdlib.h>

#include <array>

#include "core/base/error.h"

namespace moeblaze::profiler {
namespace {

constexpr const char* kLibrary = "libcupti.so.13";
constexpr uint32_t kOldestVersion = 130000, kNextMajor = 140000;

void* open(const std::string& hint) {
  // A framework may have loaded its own copy. That one must be used: the driver accepts one subscriber, so two copies
  // in one process exclude each other.
  if (void* loaded = dlopen(kLibrary, RTLD_NOW | RTLD_NOLOAD)) return loaded;
  for (const std::string& path : {hint, std::string(kLibrary), std::string(MOEBLAZE_CUPTI_LIBRARY)})
    if (!path.empty())
      if (void* found = dlopen(path.c_str(), RTLD_NOW)) return found;
  throw DeviceError(fmt::format(
      "CUPTI ({}) is not here; install NVIDIA's cuda-cupti package of CUDA 13, or put its folder on LD_LIBRARY_PATH",
      kLibrary));
}

template <typename Function>
void resolve(void* library, const char* symbol, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, symbol));
  if (function == nullptr) throw DeviceError(fmt::format("{} has no {}; install CUDA 13's CUPTI", kLibrary, symbol));
}

std::string pathOf(const void* symbol) {
  Dl_info info{};
  if (dladdr(symbol, &info) == 0 || info.dli_fname == nullptr) return kLibrary;
  std::array<char, PATH_MAX> real{};
  return realpath(info.dli_fname, real.data()) != nullptr ? real.data() : info.dli_fname;
}

const char* remedyOf(CUptiResult result) {
  switch (result) {
    case CUPTI_ERROR_NOT_INITIALIZED:
      return "; is there a GPU, and is its driver of release 580 or newer?";
    case CUPTI_ERROR_INSUFFICIENT_PRIVILEGES:
      return "; load the driver with NVreg_RestrictProfilingToAdminUsers=0, or give the container --cap-add SYS_ADMIN";
    case CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED:
      return "; another profiler holds this process: end it, or record with that one and import its file";
    case CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED:
    case CUPTI_ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED:
      return "; this kind of virtual GPU cannot be profiled";
    default:
      return "";
  }
}

}  // namespace

std::string Cupti::text(CUptiResult result) const {
  const char* known = nullptr;
  return getResultString(result, &known) == CUPTI_SUCCESS && known != nullptr
             ? known
             : fmt::format("error {}", static_cast<int>(result));
}

Cupti loadCupti(const std::string& hint) {
  void* library = open(hint);
  Cupti cupti{};
  cupti.library = library;
  resolve(library, "cuptiGetVersion", cupti.getVersion);
  resolve(library, "cuptiGetResultString", cupti.getResultString);
  resolve(library, "cuptiGetTimestamp", cupti.getTimestamp);
  resolve(library, "cuptiSubscribe_v2", cupti.subscribe);
  resolve(library, "cuptiUnsubscribe", cupti.unsubscribe);
  resolve(library, "cuptiEnableCallback", cupti.enableCallback);
  resolve(library, "cuptiSetThreadIdType", cupti.setThreadIdType);
  resolve(library, "cuptiActivityRegisterCallbacks", cupti.registerCallbacks);
  resolve(library, "cuptiActivitySetAttribute", cupti.setAttribute);
  resolve(library, "cuptiActivityEnable", cupti.enable);
  resolve(library, "cuptiActivityEnableAndDump", cupti.enableAndDump);
  resolve(library, "cuptiActivityDisable", cupti.disable);
  resolve(library, "cuptiActivityEnableAllocationSource", cupti.enableAllocationSource);
  resolve(library, "cuptiActivityEnableRuntimeApi", cupti.enableRuntimeApi);
  resolve(library, "cuptiActivityFlushAll", cupti.flushAll);
  resolve(library, "cuptiActivityGetNextRecord", cupti.getNextRecord);
  resolve(library, "cuptiActivityGetNumDroppedRecords", cupti.getDropped);
  resolve(library, "cuptiActivityPushExternalCorrelationId", cupti.pushExternalId);
  resolve(library, "cuptiActivityPopExternalCorrelationId", cupti.popExternalId);
  cupti.path = pathOf(reinterpret_cast<const void*>(cupti.getVersion));
  if (cupti.getVersion(&cupti.version) != CUPTI_SUCCESS || cupti.version < kOldestVersion ||
      cupti.version >= kNextMajor)
    throw DeviceError(fmt::format("{} is CUPTI {}; CUDA 13's is needed", cupti.path, cupti.version));
  return cupti;
}

void checkCupti(const Cupti& cupti, CUptiResult result, const char* call) {
  if (result == CUPTI_SUCCESS) return;
  throw DeviceError(fmt::format("CUPTI: {} in {}{}", cupti.text(result), call, remedyOf(result)));
}

}  // namespace moeblaze::profiler
