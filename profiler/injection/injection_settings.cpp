#include "profiler/injection/injection_settings.h"

#include <charconv>
#include <cstring>
#include <filesystem>

namespace moeblaze::profiler {
namespace {

constexpr const char* kFile = "MOEBLAZE_RECORD_FILE";
constexpr const char* kPid = "MOEBLAZE_RECORD_PID";
constexpr const char* kStatus = "MOEBLAZE_RECORD_STATUS";
constexpr const char* kCupti = "MOEBLAZE_RECORD_CUPTI";
constexpr const char* kMemoryOnly = "MOEBLAZE_RECORD_MEMORY_ONLY";

}  // namespace

std::vector<std::string> InjectionSettings::toEnvironment(const std::string& library) const {
  const auto entry = [](const char* name, const std::string& value) { return std::string(name) + "=" + value; };
  return {entry("CUDA_INJECTION64_PATH", library),
          entry("NVTX_INJECTION64_PATH", library),
          entry(kFile, file),
          entry(kPid, std::to_string(pid)),
          entry(kStatus, statusFile),
          entry(kCupti, cupti),
          entry(kMemoryOnly, memoryOnly ? "1" : "0")};
}

bool InjectionSettings::fromEnvironment(const std::function<const char*(const char*)>& get,
                                        InjectionSettings& settings) {
  const auto value = [&](const char* name) {
    const char* text = get(name);
    return text == nullptr ? std::string{} : std::string(text);
  };
  settings.file = value(kFile);
  settings.statusFile = value(kStatus);
  settings.cupti = value(kCupti);
  settings.memoryOnly = value(kMemoryOnly) == "1";
  const std::string pid = value(kPid);
  std::from_chars(pid.data(), pid.data() + pid.size(), settings.pid);
  return !settings.file.empty();
}

std::string numberedFile(const std::string& file, int32_t number) {
  const std::filesystem::path path(file);
  return (path.parent_path() / (path.stem().string() + "." + std::to_string(number) + path.extension().string()))
      .string();
}

std::string InjectionSettings::fileOf(int32_t of) const { return of == pid ? file : numberedFile(file, of); }

}  // namespace moeblaze::profiler
