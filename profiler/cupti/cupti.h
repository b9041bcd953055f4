#pragma once

#include <cupti.h>

#include <cstdint>
#include <string>

namespace moeblaze::profiler {

/// The functions of CUPTI, NVIDIA's profiling library. It is loaded when first needed, so that programs start without
/// it and can say that it is missing.
struct Cupti {
  decltype(&cuptiGetVersion) getVersion;
  decltype(&cuptiGetResultString) getResultString;
  decltype(&cuptiGetTimestamp) getTimestamp;
  decltype(&cuptiSubscribe_v2) subscribe;
  decltype(&cuptiUnsubscribe) unsubscribe;
  decltype(&cuptiEnableCallback) enableCallback;
  decltype(&cuptiSetThreadIdType) setThreadIdType;
  decltype(&cuptiActivityRegisterCallbacks) registerCallbacks;
  decltype(&cuptiActivitySetAttribute) setAttribute;
  decltype(&cuptiActivityEnable) enable;
  decltype(&cuptiActivityEnableAndDump) enableAndDump;
  decltype(&cuptiActivityDisable) disable;
  decltype(&cuptiActivityEnableAllocationSource) enableAllocationSource;
  decltype(&cuptiActivityEnableRuntimeApi) enableRuntimeApi;
  decltype(&cuptiActivityFlushAll) flushAll;
  decltype(&cuptiActivityGetNextRecord) getNextRecord;
  decltype(&cuptiActivityGetNumDroppedRecords) getDropped;
  decltype(&cuptiActivityPushExternalCorrelationId) pushExternalId;
  decltype(&cuptiActivityPopExternalCorrelationId) popExternalId;

  void* library = nullptr;  ///< handle from dlopen
  std::string path;
  uint32_t version = 0;  ///< CUPTI_API_VERSION of the library

  /// CUPTI's name for a result.
  std::string text(CUptiResult result) const;
};

/// Loads CUPTI: the copy that the process has loaded already, else the file `hint`, else what the dynamic linker finds,
/// else the copy of the toolkit that this program was built with. Throws DeviceError when there is none, or when its
/// version is not one whose records this program can read.
Cupti loadCupti(const std::string& hint = {});

/// Throws DeviceError unless `result` is success. The text names the call, CUPTI's reason and, for common reasons, the
/// remedy.
void checkCupti(const Cupti& cupti, CUptiResult result, const char* call);

}  // namespace moeblaze::profiler
