// `moeblaze-prof record` on recorded_program, which does known things. Needs a GPU.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "core/base/error.h"
#include "profiler/commands/commands.h"
#include "profiler/injection/injection_library.h"
#include "traces/store/store.h"

namespace moeblaze::profiler {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// Empty when this machine and this build can record.
std::string whyNoRecording() {
  using Count = int (*)(int*);
  using Init = int (*)(unsigned);
  void* const driver = dlopen("libcuda.so.1", RTLD_NOW);
  if (driver == nullptr) return "no NVIDIA driver here";
  int devices = 0;
  const auto init = reinterpret_cast<Init>(dlsym(driver, "cuInit"));
  const auto count = reinterpret_cast<Count>(dlsym(driver, "cuDeviceGetCount"));
  if (init == nullptr || init(0) != 0 || count == nullptr || count(&devices) != 0 || devices == 0)
    return "no NVIDIA GPU here";
  try {
    injectionLibrary();
  } catch (const DeviceError& error) {
    return error.what();
  }
  return {};
}

class RecordTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = whyNoRecording(); !why.empty()) GTEST_SKIP() << why;
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  static std::string recordedProgram() {
    return (std::filesystem::read_symlink("/proc/self/exe").parent_path() / "recorded_program").string();
  }
  std::string file() const { return (folder_ / "run.mbtrace").string(); }

  int record(const std::string& what, std::vector<std::string> options = {}) {
    std::vector<std::string> words{"moeblaze-prof", "record", "-o", file()};
    words.insert(words.end(), options.begin(), options.end());
    for (const std::string& word : {std::string("--"), recordedProgram(), what}) words.push_back(word);
    std::vector<const char*> argv;
    for (const std::string& word : words) argv.push_back(word.c_str());
    std::ostringstream out, err;
    return runProfiler(static_cast<int>(argv.size()), argv.data(), out, err);
  }

  static std::vector<Allocation> ofBytes(const Trace& trace, int64_t bytes) {
    std::vector<Allocation> found;
    for (const Allocation& allocation : trace.allocations)
      if (allocation.bytes == bytes) found.push_back(allocation);
    return found;
  }
  static std::vector<Span> onTrack(const Trace& trace, const std::string& part) {
    std::vector<Span> found;
    for (const Span& span : trace.spans)
      if (trace.tracks[index(span.track)].name.find(part) != std::string::npos) found.push_back(span);
    return found;
  }

  const std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / ("record_test." + std::to_string(getpid()));
};

TEST_F(RecordTest, TwoThreadsAtOnce) {
  ASSERT_EQ(record("threads"), 0);
  const Trace trace = readTrace(file());
  EXPECT_THAT(trace.losses, IsEmpty());
  for (int64_t mib : {1, 3}) {
    const auto blocks = ofBytes(trace, mib << 20);
    EXPECT_EQ(blocks.size(), 500u) << mib;
    EXPECT_TRUE(std::ranges::all_of(
        blocks, [](const Allocation& it) { return it.freeNs != kNever && it.freeNs >= it.allocNs; }));
  }
  const MemoryCurve curve(trace, ofBytes(trace, 1 << 20).front().track);
  EXPECT_LE(curve.peak().bytes, (4 << 20) + 256);
  EXPECT_EQ(curve.points().back().bytes, 256);
}

TEST_F(RecordTest, AFreeToldLongBeforeItsAllocationIsMatched) {
  ASSERT_EQ(record("handed-over"), 0);
  const Trace trace = readTrace(file());
  EXPECT_THAT(trace.losses, IsEmpty());
  const auto blocks = ofBytes(trace, 2 << 20);
  ASSERT_EQ(blocks.size(), 1u);
  EXPECT_FALSE(blocks.front().older);
  EXPECT_NE(blocks.front().freeNs, kNever);
}

TEST_F(RecordTest, AForkIsLeftAloneAndAChildProgramHasAFileOfItsOwn) {
  ASSERT_EQ(record("forks"), 0);
  const Trace trace = readTrace(file());
  EXPECT_EQ(ofBytes(trace, 5 << 20).size(), 1u);
  const auto freed = ofBytes(trace, 7 << 20);
  ASSERT_EQ(freed.size(), 1u);
  EXPECT_NE(freed.front().freeNs, kNever);
  EXPECT_THAT(ofBytes(trace, 3 << 20), IsEmpty());
  std::vector<std::string> others;
  for (const auto& entry : std::filesystem::directory_iterator(folder_))
    if (entry.path() != file()) others.push_back(entry.path().string());
  ASSERT_EQ(others.size(), 1u);
  EXPECT_EQ(ofBytes(readTrace(others.front()), 3 << 20).size(), 1u);
}

TEST_F(RecordTest, AKilledProgramLosesAtMostHalfASecond) {
  int pipeEnds[2];
  ASSERT_EQ(pipe(pipeEnds), 0);
  const pid_t recorder = fork();
  if (recorder == 0) {
    dup2(pipeEnds[1], STDOUT_FILENO);
    close(pipeEnds[0]), close(pipeEnds[1]);
    _exit(record("forever"));
  }
  close(pipeEnds[1]);
  FILE* const output = fdopen(pipeEnds[0], "r");
  const auto start = std::chrono::steady_clock::now();
  int before = 0, told = 0;  // allocations half a second before the program is killed, and at that time
  pid_t program = 0;
  for (int i = 0; std::fscanf(output, "%d %d", &i, &program) == 2;) {
    const auto passed = std::chrono::steady_clock::now() - start;
    told = i;
    if (passed < std::chrono::milliseconds(3000)) before = i;
    if (passed > std::chrono::milliseconds(3500)) break;
  }
  ASSERT_GT(told, 100);
  ASSERT_EQ(kill(program, SIGKILL), 0);
  int status = 0;
  waitpid(recorder, &status, 0);
  fclose(output);
  EXPECT_EQ(WEXITSTATUS(status), 128 + SIGKILL);
  EXPECT_FALSE(std::filesystem::exists(file() + "-wal"));
  EXPECT_GE(ofBytes(readTrace(file()), 1 << 20).size(), static_cast<size_t>(before));
  EXPECT_FALSE(summarize(file()).finished);
}

TEST_F(RecordTest, MappedMemoryLivesUntilTheLastMappingGoes) {
  ASSERT_EQ(record("mapped"), 0);
  const Trace trace = readTrace(file());
  const auto blocks = ofBytes(trace, 4 << 20);
  ASSERT_EQ(blocks.size(), 1u);
  EXPECT_EQ(trace.strings[blocks.front().name], "cuMemCreate");
  EXPECT_NE(blocks.front().address, 0u);
  ASSERT_NE(blocks.front().freeNs, kNever);
  EXPECT_GE(blocks.front().freeNs - blocks.front().allocNs, 50'000'000);
}

TEST_F(RecordTest, AFreeBehindAKernelIsDoneWhenTheKernelEnds) {
  ASSERT_EQ(record("streams"), 0);
  const Trace trace = readTrace(file());
  const auto kernels = onTrack(trace, " kernels");
  ASSERT_EQ(kernels.size(), 1u);
  EXPECT_THAT(trace.strings[kernels.front().name], HasSubstr("spin(long long)"));
  const auto blocks = ofBytes(trace, 6 << 20);
  ASSERT_EQ(blocks.size(), 1u);
  const int64_t kernelEnd = kernels.front().startNs + kernels.front().durationNs;
  EXPECT_EQ(blocks.front().freeNs, kernelEnd);
  EXPECT_LT(blocks.front().freeRequestedNs, kernelEnd - 10'000'000);
  EXPECT_EQ(onTrack(trace, " copies").size(), 2u);
  std::vector<std::string> ranges;
  for (const Span& span : onTrack(trace, "NVTX")) ranges.push_back(trace.strings[span.name]);
  EXPECT_THAT(ranges, Contains("behind a kernel"));
}

TEST_F(RecordTest, MemoryOnlyHasNoKernelsButRanges) {
  ASSERT_EQ(record("streams", {"--memory-only"}), 0);
  const Trace trace = readTrace(file());
  EXPECT_THAT(onTrack(trace, " kernels"), IsEmpty());
  EXPECT_EQ(onTrack(trace, "NVTX").size(), 1u);
  const auto blocks = ofBytes(trace, 6 << 20);
  ASSERT_EQ(blocks.size(), 1u);
  EXPECT_NE(blocks.front().freeNs, kNever);
}

}  // namespace
}  // namespace moeblaze::profiler
