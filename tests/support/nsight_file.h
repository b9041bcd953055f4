#pragma once

#include <string>

#include "traces/formats/sqlite.h"

namespace moeblaze {

/// The tables of an Nsight Systems export that the importer reads, as version 2025.3 declares them.
inline constexpr const char* kNsightSchema = R"(
CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT);
CREATE TABLE ENUM_CUDA_MEM_KIND (id INTEGER NOT NULL PRIMARY KEY, name TEXT, label TEXT);
CREATE TABLE ENUM_CUDA_DEV_MEM_EVENT_OPER (id INTEGER NOT NULL PRIMARY KEY, name TEXT, label TEXT);
CREATE TABLE ENUM_CUDA_MEMCPY_OPER (id INTEGER NOT NULL PRIMARY KEY, name TEXT, label TEXT);
CREATE TABLE TARGET_INFO_GPU (vmId INTEGER NOT NULL, id INTEGER NOT NULL, name TEXT, totalMemory INTEGER);
CREATE TABLE CUDA_GPU_MEMORY_USAGE_EVENTS (start INTEGER NOT NULL, globalPid INTEGER NOT NULL,
  deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, address INTEGER NOT NULL, pc INTEGER NOT NULL,
  bytes INTEGER NOT NULL, memKind INTEGER NOT NULL, memoryOperationType INTEGER NOT NULL, name TEXT,
  correlationId INTEGER, streamId INTEGER, localMemoryPoolAddress INTEGER, localMemoryPoolReleaseThreshold INTEGER,
  localMemoryPoolSize INTEGER, localMemoryPoolUtilizedSize INTEGER, importedMemoryPoolAddress INTEGER,
  importedMemoryPoolProcessId INTEGER);
CREATE TABLE CUDA_GPU_MEMORY_POOL_EVENTS (start INTEGER NOT NULL, globalPid INTEGER NOT NULL,
  deviceId INTEGER NOT NULL, address INTEGER NOT NULL, operationType INTEGER NOT NULL, poolType INTEGER NOT NULL,
  correlationId INTEGER, minBytesToKeep INTEGER, localMemoryPoolReleaseThreshold INTEGER, localMemoryPoolSize INTEGER,
  localMemoryPoolUtilizedSize INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL,
  contextId INTEGER NOT NULL, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER,
  demangledName INTEGER NOT NULL, shortName INTEGER NOT NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL,
  contextId INTEGER NOT NULL, streamId INTEGER NOT NULL, globalPid INTEGER, bytes INTEGER NOT NULL,
  copyKind INTEGER NOT NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL,
  contextId INTEGER NOT NULL, streamId INTEGER NOT NULL, globalPid INTEGER, value INTEGER, bytes INTEGER NOT NULL);
CREATE TABLE NVTX_EVENTS (start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL, rangeId INTEGER,
  text TEXT, globalTid INTEGER, textId INTEGER);
)";

/// The rows of a small recording on one GPU: most are of process 77, the last allocation is of process 78.
inline constexpr const char* kNsightRows = R"(
INSERT INTO StringIds VALUES (1, 'void gemm<float>(float*)'), (2, 'gemm'), (3, 'step'), (4, 'table');
INSERT INTO ENUM_CUDA_MEM_KIND VALUES (0, 'CUDA_MEMOPR_MEMORY_KIND_PAGEABLE', 'Pageable'),
  (1, 'CUDA_MEMOPR_MEMORY_KIND_PINNED', 'Pinned'), (2, 'CUDA_MEMOPR_MEMORY_KIND_DEVICE', 'Device'),
  (4, 'CUDA_MEMOPR_MEMORY_KIND_MANAGED', 'Managed');
INSERT INTO ENUM_CUDA_DEV_MEM_EVENT_OPER VALUES (0, 'CUDA_DEV_MEM_EVENT_OPR_ALLOCATION', 'Allocation'),
  (1, 'CUDA_DEV_MEM_EVENT_OPR_DEALLOCATION', 'Deallocation');
INSERT INTO ENUM_CUDA_MEMCPY_OPER VALUES (1, 'CUDA_MEMCPY_KIND_HTOD', 'Host-to-Device');
INSERT INTO TARGET_INFO_GPU VALUES (0, 0, 'GPU zero', 85899345920);
INSERT INTO CUDA_GPU_MEMORY_USAGE_EVENTS
  (start, globalPid, deviceId, contextId, address, pc, bytes, memKind, memoryOperationType, name, streamId,
   localMemoryPoolAddress, localMemoryPoolSize, localMemoryPoolUtilizedSize) VALUES
  (1000, 77 << 24, 0, 1, 4096, 0, 512, 2, 0, NULL, 7, NULL, NULL, NULL),
  (1500, 77 << 24, 0, 1, 8192, 0, 300, 2, 1, NULL, NULL, NULL, NULL, NULL),
  (2000, 77 << 24, 0, 1, 4096, 0, 512, 2, 1, NULL, NULL, NULL, NULL, NULL),
  (2000, 77 << 24, 0, 1, 4096, 0, 256, 2, 0, 'weights', 7, 36864, 33554432, 256),
  (2500, 77 << 24, 0, 1, 12288, 0, 64, 1, 0, NULL, NULL, NULL, NULL, NULL),
  (2600, 77 << 24, 0, 1, 16384, 0, 128, 4, 0, NULL, NULL, NULL, NULL, NULL),
  (2700, 78 << 24, 0, 1, 4096, 0, 1024, 2, 0, NULL, NULL, NULL, NULL, NULL);
INSERT INTO CUDA_GPU_MEMORY_POOL_EVENTS (start, globalPid, deviceId, address, operationType, poolType,
  localMemoryPoolSize, localMemoryPoolUtilizedSize) VALUES (1900, 77 << 24, 0, 36864, 0, 1, 0, 0);
INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (1100, 1200, 0, 1, 7, 5, 77 << 24, 1, 2),
  (1300, 1350, 0, 1, 13, 6, 77 << 24, 99, 2), (1400, 1450, 0, 1, 13, 6, 77 << 24, 99, 98);
INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (900, 950, 0, 1, 7, 77 << 24, 4096, 1);
INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET VALUES (960, 970, 0, 1, 7, 77 << 24, 0, 4096);
INSERT INTO NVTX_EVENTS VALUES (1000, 2000, 59, NULL, NULL, (77 << 24) + 11, 3),
  (1010, 1020, 59, NULL, 'inner', (77 << 24) + 11, NULL), (1030, NULL, 34, NULL, 'mark', (77 << 24) + 11, NULL);
)";

/// Makes a SQLite database at `path` by running `sql`. Small pages keep the file small.
inline void makeDatabase(const std::string& path, const std::string& sql) {
  sqlite::Database::create(path).execute("PRAGMA page_size = 512; " + sql);
}

}  // namespace moeblaze
