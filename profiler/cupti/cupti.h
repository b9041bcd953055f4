#pragma once

#include <cupti.h>

#include <cstdint>
#include <string>

namespace moeblaze::profiler {

/// NVIDIA's profiling library, found when first needed: programs start, and say what is missing, without it.
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

  void* library = nullptr;  ///< as dlopen gave it
  std::string path;
  uint32_t version = 0;  ///< CUPTI_API_VERSION of the library

  /// What CUPTI calls a result.
  std::string text(CUptiResult result) const;
};

/// The library that is loaded already, or `hint`, or the one the linker finds, or the toolkit's this was built with.
/// Throws DeviceError when there is none of a version whose records are known.
Cupti loadCupti(const std::string& hint = {});

/// Throws DeviceError naming the call, CUPTI's reason and, for the common ones, how to mend it.
void checkCupti(const Cupti& cupti, CUptiResult result, const char* call);

}  // namespace moeblaze::profiler
