#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "gui/document/document.h"
#include "gui/timeline/frame/byte_scale.h"
#include "tests/gui/timeline_traces.h"
#include "traces/figures/figures.h"
#include "traces/open.h"

namespace moeblaze::gui {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::shared_ptr<const Document> documentOf(std::shared_ptr<const Trace> trace) {
  return std::make_shared<const Document>(std::move(trace), "", "test");
}

std::shared_ptr<const Document> sample(const char* file) {
  return documentOf(std::make_shared<const Trace>(openTrace(std::string(MOEBLAZE_SAMPLES "/") + file)));
}

std::shared_ptr<Trace> plannedAndObserved() {
  auto trace = std::make_shared<Trace>();
  trace->tracks = {{"parameters", TrackKind::observed},
                   {"plan", TrackKind::planned},
                   {"gpu", TrackKind::observed},
                   {"reserved", TrackKind::segments},
                   {"nothing", TrackKind::observed}};
  const auto add = [&](int track, Role role, int64_t bytes, int64_t from, int64_t to) {
    trace->allocations.push_back(
        {.track = static_cast<TrackId>(track), .role = role, .bytes = bytes, .allocNs = from, .freeNs = to});
  };
  add(0, Role::weight, 1000, 0, kNever);
  add(1, Role::saved, 90, 100, 400);
  add(2, Role::saved, 80, 150, 500);
  add(3, Role::unknown, 200, 50, kNever);
  trace->spans = {{TrackId{1}, trace->strings.add("up"), 100, 300, StepId{3}}};
  return trace;
}

TEST(Document, LanesGoFromWhatIsMeantToWhatRecordingCosts) {
  const auto trace = std::make_shared<Trace>();
  trace->tracks = {{"profiler and driver", TrackKind::observed},    {"GPU 0 stream 7 copies", TrackKind::observed},
                   {"GPU 0 stream 7 kernels", TrackKind::observed}, {"operators, thread 1", TrackKind::observed},
                   {"NVTX thread 2", TrackKind::observed},          {"NVTX thread 1", TrackKind::observed},
                   {"moeblaze planned", TrackKind::planned}};
  for (int track = 0; track < 7; ++track)
    trace->spans.push_back({.track = static_cast<TrackId>(track), .durationNs = 10});
  EXPECT_THAT(documentOf(trace)->spanTracks(),
              ElementsAre(TrackId{6}, TrackId{4}, TrackId{5}, TrackId{3}, TrackId{2}, TrackId{1}, TrackId{0}));
}

TEST(Document, FindsItsTracks) {
  const auto document = documentOf(plannedAndObserved());
  EXPECT_THAT(document->memoryTracks(), ElementsAre(TrackId{0}, TrackId{1}, TrackId{2}));
  EXPECT_THAT(document->spanTracks(), ElementsAre(TrackId{1}));
  EXPECT_EQ(document->mainTrack(), TrackId{2});
  EXPECT_EQ(document->mainTrack(), mainTrack(document->trace()));
  EXPECT_EQ(document->overlayOf(TrackId{2}), TrackId{1});
  EXPECT_EQ(document->overlayOf(TrackId{1}), TrackId{0});
  EXPECT_EQ(document->segmentsOf(TrackId{2}), TrackId{3});
  EXPECT_EQ(document->segmentsOf(TrackId{1}), TrackId::none);
  EXPECT_EQ(document->events(TrackId{3})->peak().bytes, 200);
  EXPECT_EQ(document->events(TrackId{4}), nullptr);
  EXPECT_EQ(document->spans(TrackId{0}), nullptr);
  EXPECT_EQ(document->stepName(StepId{3}), "up");
  EXPECT_EQ(document->stepName(StepId{2}), "");
  EXPECT_EQ(document->stepName(StepId::none), "");
  EXPECT_LT(document->bounds().startNs, 0);
  EXPECT_GT(document->bounds().endNs, 500);
}

TEST(Document, MakesIndicesOnce) {
  const auto document = documentOf(plannedAndObserved());
  const TrackId track = document->mainTrack();
  EXPECT_NE(document->readyMemory(track, Attribute::role), nullptr);
  EXPECT_EQ(document->readyMemory(track, Attribute::name), nullptr);
  EXPECT_EQ(document->readyLifetimes(track), nullptr);
  std::vector<std::shared_ptr<const LifetimeIndex>> made(4);
  {
    std::vector<std::jthread> threads;
    for (auto& one : made) threads.emplace_back([&] { one = document->lifetimes(track); });
  }
  for (const auto& one : made) EXPECT_EQ(one, document->readyLifetimes(track));
  const auto byName = document->memory(track, Attribute::name);
  EXPECT_EQ(byName, document->readyMemory(track, Attribute::name));
  EXPECT_TRUE(document->addresses(track)->empty());
}

TEST(Document, StopsWhenAsked) {
  std::stop_source stop;
  const Progress progress{[&](double fraction) {
                            if (fraction > 0.3) stop.request_stop();
                          },
                          stop.get_token()};
  EXPECT_THROW(Document(randomTrace(1, 1000, 5, false), "", "stopped", progress), Interrupted);
}

TEST(Document, ProgressAscendsToOne) {
  std::vector<double> told;
  const Document document(randomTrace(1, 1000, 5, false), "", "told", {[&](double done) { told.push_back(done); }, {}});
  EXPECT_TRUE(std::ranges::is_sorted(told));
  EXPECT_DOUBLE_EQ(told.back(), 1);
}

TEST(Document, EmptyTraces) {
  const auto document = documentOf(std::make_shared<Trace>());
  EXPECT_EQ(document->mainTrack(), TrackId::none);
  EXPECT_THAT(document->memoryTracks(), IsEmpty());
  EXPECT_GT(document->bounds().spanNs(), 0);
}

TEST(Document, SamplesShowWhatTellsMost) {
  const auto planned = sample("conf3_moeblaze_simulated.mbtrace");
  EXPECT_EQ(planned->mainCategories(), Attribute::role);
  EXPECT_EQ(bytesText(planned->events(planned->mainTrack())->peak().bytes), "6.504 GiB");
  const auto snapshot = sample("torch_snapshot_qwen3moe_2layer.pickle");
  EXPECT_EQ(snapshot->mainCategories(), Attribute::stack);
  const auto bands = snapshot->memory(snapshot->mainTrack(), Attribute::stack);
  ASSERT_EQ(bands->categories().size(), kMaxCategories);
  EXPECT_TRUE(bands->categories().back().isOther);
  std::vector<std::string> names;
  for (const Category& category : bands->categories()) names.push_back(category.name);
  std::ranges::sort(names);
  EXPECT_EQ(std::ranges::adjacent_find(names), names.end());
  for (const char* file :
       {"conf3_moeblaze_simulated.mbtrace", "torch_snapshot_qwen3moe_2layer.pickle", "kineto_qwen3moe_2layer.json.gz"})
    EXPECT_EQ(sample(file)->mainTrack(), mainTrack(sample(file)->trace())) << file;
}

}  // namespace
}  // namespace moeblaze::gui
