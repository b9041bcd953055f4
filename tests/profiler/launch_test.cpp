// The parts around a recording: CUPTI's buffers, the status page, the injection's settings and the start of programs.
#include "profiler/commands/launch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <thread>

#include "core/base/error.h"
#include "profiler/cupti/activity_buffers.h"
#include "profiler/injection/injection_settings.h"
#include "profiler/injection/status_page.h"

namespace moeblaze::profiler {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(ActivityBuffersTest, AreZeroedAgainAndKeepTheirOrder) {
  ActivityBuffers buffers;
  uint8_t* const first = buffers.request();
  uint8_t* const second = buffers.request();
  ASSERT_NE(first, nullptr);
  ASSERT_NE(first, second);
  first[10] = 1;
  second[0] = 2;
  buffers.complete(second, 8);
  buffers.complete(first, 16);
  std::vector<std::pair<uint8_t*, size_t>> seen;
  buffers.drain([&](uint8_t* buffer, size_t bytes) { seen.emplace_back(buffer, bytes); });
  EXPECT_THAT(seen, ElementsAre(std::pair(second, size_t{8}), std::pair(first, size_t{16})));
  for (int i = 0; i < 2; ++i) {
    uint8_t* const again = buffers.request();
    EXPECT_TRUE(again == first || again == second);
    EXPECT_EQ(again[0] + again[10], 0);
    buffers.complete(again, 0);
  }
  buffers.drain([](uint8_t*, size_t) { ADD_FAILURE() << "empty buffers are not read"; });
}

TEST(ActivityBuffersTest, KnowSinceWhenOneIsOut) {
  ActivityBuffers buffers;
  EXPECT_EQ(buffers.oldestOutNs(), INT64_MAX);
  uint8_t* const first = buffers.request();
  const int64_t since = buffers.oldestOutNs();
  EXPECT_LT(since, INT64_MAX);
  uint8_t* const second = buffers.request();
  EXPECT_EQ(buffers.oldestOutNs(), since);
  buffers.complete(first, 0);
  EXPECT_GE(buffers.oldestOutNs(), since);
  EXPECT_LT(buffers.oldestOutNs(), INT64_MAX);
  buffers.complete(second, 0);
  EXPECT_EQ(buffers.oldestOutNs(), INT64_MAX);
  buffers.drain([](uint8_t*, size_t) {});
}

TEST(ActivityBuffersTest, RunOutAndSaySo) {
  ActivityBuffers buffers;
  std::set<uint8_t*> out;
  for (size_t i = 0; i < ActivityBuffers::kMaxBuffers; ++i) out.insert(buffers.request());
  EXPECT_EQ(out.size(), ActivityBuffers::kMaxBuffers);
  EXPECT_EQ(buffers.refused(), 0);
  EXPECT_EQ(buffers.request(), nullptr);
  EXPECT_EQ(buffers.refused(), 1);
  for (uint8_t* buffer : out) buffers.complete(buffer, 0);
  buffers.drain([](uint8_t*, size_t) {});
  uint8_t* const again = buffers.request();
  EXPECT_NE(again, nullptr);
  buffers.complete(again, 0);
}

TEST(StatusPageTest, WhatAProcessWritesIsSeenByTheOther) {
  const StatusPage watched = StatusPage::create();
  EXPECT_EQ(watched.size(), 0u);
  {
    StatusPage joined = StatusPage::open(watched.file());
    ProcessStatus* const status = joined.join(77);
    ASSERT_NE(status, nullptr);
    status->liveBytes = 5;
    status->peakBytes = 9;
    status->fail(std::string(1000, 'x'));
  }
  ASSERT_EQ(watched.size(), 1u);
  EXPECT_EQ(watched[0].pid, 77);
  EXPECT_EQ(watched[0].liveBytes, 5);
  EXPECT_EQ(watched[0].peakBytes, 9);
  EXPECT_TRUE(watched[0].hasFailed);
  EXPECT_EQ(std::string(watched[0].failure.data()).size(), watched[0].failure.size() - 1);
}

TEST(StatusPageTest, IsFullAtSomeTimeAndGoesWithItsOwner) {
  std::string file;
  {
    StatusPage page = StatusPage::create();
    file = page.file();
    for (size_t i = 0; i < StatusPage::kMaxProcesses; ++i) ASSERT_NE(page.join(1), nullptr);
    EXPECT_EQ(page.turnedAway(), 0u);
    EXPECT_EQ(page.join(1), nullptr);
    EXPECT_EQ(page.size(), StatusPage::kMaxProcesses);
    EXPECT_EQ(page.turnedAway(), 1u);
  }
  EXPECT_FALSE(std::filesystem::exists(file));
  EXPECT_THROW(StatusPage::open(file), InputError);
}

TEST(InjectionSettingsTest, GoThroughTheEnvironment) {
  const InjectionSettings sent{
      .file = "/a/run.mbtrace", .pid = 12, .statusFile = "/s", .cupti = "/c", .memoryOnly = true};
  std::map<std::string, std::string> environment;
  for (const std::string& entry : sent.toEnvironment("/lib.so"))
    environment[entry.substr(0, entry.find('='))] = entry.substr(entry.find('=') + 1);
  EXPECT_EQ(environment.at("CUDA_INJECTION64_PATH"), "/lib.so");
  EXPECT_EQ(environment.at("NVTX_INJECTION64_PATH"), "/lib.so");
  const auto get = [&](const char* name) {
    const auto found = environment.find(name);
    return found == environment.end() ? nullptr : found->second.c_str();
  };
  InjectionSettings read;
  ASSERT_TRUE(InjectionSettings::fromEnvironment(get, read));
  EXPECT_EQ(read.file, sent.file);
  EXPECT_EQ(read.pid, 12);
  EXPECT_EQ(read.statusFile, "/s");
  EXPECT_EQ(read.cupti, "/c");
  EXPECT_TRUE(read.memoryOnly);
  EXPECT_EQ(read.fileOf(12), "/a/run.mbtrace");
  EXPECT_EQ(read.fileOf(13), "/a/run.13.mbtrace");
  environment.clear();
  EXPECT_FALSE(InjectionSettings::fromEnvironment(get, read));
}

TEST(LaunchTest, TellsHowAProgramEnded) {
  const auto none = [](int32_t) { return std::vector<std::string>{}; };
  const auto nothing = [] {};
  EXPECT_EQ(launch({"sh", "-c", "exit 7"}, none, nothing).status, 7);
  const Ended killed = launch({"sh", "-c", "kill -9 $$"}, none, nothing);
  EXPECT_EQ(killed.signal, SIGKILL);
  EXPECT_EQ(killed.status, 128 + SIGKILL);
}

TEST(LaunchTest, TheProgramHasItsEnvironmentAndNumber) {
  const std::string file =
      (std::filesystem::temp_directory_path() / ("launch_test." + std::to_string(getpid()))).string();
  int ticks = 0;
  const Ended ended = launch(
      {"sh", "-c", "printf '%s %s' $MOEBLAZE_TEST_PID $$ > " + file + "; sleep 0.6"},
      [](int32_t pid) { return std::vector<std::string>{"MOEBLAZE_TEST_PID=" + std::to_string(pid)}; },
      [&] { ++ticks; });
  std::string announced, own;
  std::ifstream(file) >> announced >> own;
  std::filesystem::remove(file);
  EXPECT_EQ(announced, own);
  EXPECT_EQ(own, std::to_string(ended.pid));
  EXPECT_GE(ticks, 2);
}

TEST(LaunchTest, AProgramThatDoesNotExistIsNamed) {
  try {
    launch(
        {"/no/such/program"}, [](int32_t) { return std::vector<std::string>{}; }, [] {});
    FAIL();
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("/no/such/program: cannot be started: No such file"));
  }
}

TEST(LaunchTest, EndsWhereChildrenWereToBeForgotten) {
  const auto before = signal(SIGCHLD, SIG_IGN);
  const Ended ended = launch(
      {"sh", "-c", "exit 3"}, [](int32_t) { return std::vector<std::string>{}; }, [] {});
  EXPECT_EQ(signal(SIGCHLD, before), SIG_IGN);
  EXPECT_EQ(ended.status, 3);
}

TEST(LaunchTest, ARequestToTerminateIsPassedOn) {
  std::thread other([] {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    kill(getpid(), SIGTERM);
  });
  const Ended ended = launch(
      {"sleep", "20"}, [](int32_t) { return std::vector<std::string>{}; }, [] {});
  other.join();
  EXPECT_EQ(ended.signal, SIGTERM);
}

}  // namespace
}  // namespace moeblaze::profiler
