// Whole layers on a GPU: every system that runs there, with its own buffers alone, against the fp64 definition. Skipped
// where there is no GPU.
#include <bit>
#include <optional>

#include "core/base/error.h"
#include "core/plan/buffer_names.h"
#include "kernels/cuda/exec/executor.h"
#include "kernels/cuda/exec/support.h"
#include "tests/support/layer_case.h"

namespace moeblaze::cuda {
namespace {

const std::vector<std::string> kSystems{"moeblaze",
                                        "moeblaze-paper",
                                        "moeblaze-min",
                                        "moeblaze-min:chunk=3",
                                        "megablocks",
                                        "megablocks-memopt",
                                        "torch",
                                        "custom:dispatch=indexed:save=all",
                                        "custom:dispatch=indexed:save=projections:fused=0",
                                        "custom:dispatch=permuted:save=projections",
                                        "custom:dispatch=permuted:save=input:chunk=1"};

bool isFramework(const std::string& system) { return system == "torch" || system.starts_with("megablocks"); }
/// True for systems whose products cuBLAS computes, if only for shared experts.
bool runsTheLibrary(const std::string& system) {
  return isFramework(system) || system.find("fused=0") != std::string::npos ||
         system.find("save=all") != std::string::npos;
}

/// Each test runs with the best kernels for this GPU and with the portable ones.
class CudaLayer : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    try {
      context_.emplace(0);
      context_->setPortable(GetParam());
    } catch (const DeviceError& error) {
      GTEST_SKIP() << error.what();
    }
  }

  /// Runs `c` under every system, in the two memory modes by turns.
  void runEverySystem(LayerCase c, bool withRouter = false) {
    const Routing routing = routingOf(c);
    const LayerInputs inputs = makeInputs(c.config, routing, 7, withRouter);
    const Routing routed = Routing::fromTable(c.config, inputs.topkIds, "as routed");
    std::map<std::vector<double>, LayerResults> references;  // by the gates, because systems round them differently
    for (const std::string& system : kSystems) {
      if (system == "moeblaze-min:chunk=3" && c.config.experts < 3) continue;
      if (!checked_ && runsTheLibrary(system)) continue;
      const Plan plan = buildPlan(c.config, routed, System::parse(system), {.withRouter = withRouter});
      LayerInputs rounded = inputs;
      roundGates(plan, rounded);
      if (!references.contains(rounded.gates)) references[rounded.gates] = referenceLayer(rounded);
      const std::string what = system + " " + c.name + " " + std::string(name(c.config.activation)) + " " +
                               std::string(name(c.config.dtype));
      // Frameworks round gates and their gradients to bf16, and torch rounds the gradients nine times. Behind a router
      // these roundings reach every gradient of x.
      const bool rough = isFramework(system) && c.config.dtype == DType::bf16;
      const Tolerances limits{.all = rough && withRouter ? 6e-3 : 5e-3, .gates = rough ? 6e-3 : 5e-3, .row = 2e-2};
      mode_ = mode_ == MemoryMode::arena ? MemoryMode::perBuffer : MemoryMode::arena;
      try {
        const Execution execution = executeOnCuda(plan, rounded, *context_, {.mode = mode_, .checked = checked_});
        EXPECT_EQ(execution.observedPerStep, bytesPerStep(plan)) << what;
        expectSame(c.config, execution.results, references[rounded.gates], limits, what);
      } catch (const std::exception& failure) {
        FAIL() << what << ": " << failure.what();
      }
    }
  }

  std::optional<Context> context_;
  MemoryMode mode_ = MemoryMode::arena;
  bool checked_ = true;
};

INSTANTIATE_TEST_SUITE_P(Kernels, CudaLayer, testing::Bool(),
                         [](const auto& test) { return test.param ? "portable" : "best"; });

MoeConfig shape(int64_t d, int64_t h, int64_t experts, int64_t topK, int64_t tokens) {
  return {.dModel = d, .dFf = h, .experts = experts, .topK = topK, .tokens = tokens};
}

/// A routing table with one choice for each token, in which counts[e] tokens go to expert e.
std::vector<int32_t> tableOf(const std::vector<int64_t>& counts) {
  std::vector<int32_t> table;
  for (size_t e = 0; e < counts.size(); ++e) table.insert(table.end(), counts[e], static_cast<int32_t>(e));
  // The tokens are spread, so that gathering is not the identity: a stride that shares no factor with the length visits
  // every place.
  std::vector<int32_t> spread(table.size());
  size_t at = 0;
  for (int32_t expert : table) spread[at = (at + 1009) % table.size()] = expert;
  return spread;
}

LayerCase counted(const std::string& name, int64_t d, int64_t h, const std::vector<int64_t>& counts) {
  std::vector<int32_t> table = tableOf(counts);
  return {name, shape(d, h, std::ssize(counts), 1, std::ssize(table)), "", std::move(table)};
}

TEST_P(CudaLayer, PaperShapesScaledDown) {
  for (const ConfigSource& source : namedConfigs()) {
    if (!source.layer.name.starts_with("conf")) continue;
    LayerCase c{source.layer.name, source.layer};
    c.config.dModel /= 8, c.config.dFf /= 8, c.config.tokens = 300;
    runEverySystem(c);
  }
}

TEST_P(CudaLayer, WidthsOfNoTile) {
  runEverySystem({"72x136", shape(72, 136, 6, 3, 190)});
  runEverySystem({"200x328", shape(200, 328, 5, 2, 333), "zipf:1"});
  runEverySystem({"520x264", shape(520, 264, 4, 2, 150)});
}

TEST_P(CudaLayer, ManyExpertsAndChoices) {
  runEverySystem({"256 experts", shape(64, 72, 256, 8, 400), "zipf:0.8"});
  runEverySystem({"64 experts", shape(136, 64, 64, 6, 300)});
  runEverySystem({"one expert", shape(64, 64, 1, 1, 200)});
}

TEST_P(CudaLayer, CountsAroundTiles) {
  runEverySystem(counted("counts", 136, 264, {0, 1, 63, 64, 65, 127, 128, 129, 255, 256, 257}));
  runEverySystem(counted("counts down", 72, 520, {257, 129, 65, 0, 1, 0}));
}

TEST_P(CudaLayer, AllToOneAndEmptyExperts) {
  runEverySystem(counted("all to one", 72, 136, {0, 0, 211, 0}));
  runEverySystem(counted("empty first, middle, last", 136, 72, {0, 100, 0, 0, 130, 0}));
}

TEST_P(CudaLayer, TrainedRouting) {
  runEverySystem(
      {"trained", shape(136, 200, 16, 2, 500), "shares:" MOEBLAZE_SAMPLES "/routing_mixtral_tiny_ids.npy:3"});
}

TEST_P(CudaLayer, EveryActivationAndDtype) {
  for (DType dtype : {DType::bf16, DType::fp16})
    for (Activation activation : kActivations) {
      LayerCase c{"activations", shape(136, 264, 4, 2, 150)};
      c.config.activation = activation, c.config.dtype = dtype;
      c.config.gateDtype = activation == Activation::gelu ? dtype : DType::fp32;
      runEverySystem(c);
    }
}

TEST_P(CudaLayer, SharedExperts) {
  for (Activation activation : {Activation::relu, Activation::swiglu}) {
    LayerCase c{"shared", shape(136, 72, 4, 2, 200)};
    c.config.activation = activation;
    c.config.sharedExperts = 2, c.config.sharedDFf = 136;
    runEverySystem(c);
  }
}

TEST_P(CudaLayer, EveryRouter) {
  for (Router router : kRouters)
    for (bool renormalize : {false, true}) {
      LayerCase c{"router " + std::string(name(router)), shape(136, 72, 13, 3, 500)};
      c.config.router = router, c.config.renormalize = renormalize;
      runEverySystem(c, true);
    }
  runEverySystem({"router, 256 experts", shape(72, 64, 256, 8, 300)}, true);
}

/// Small cases without poison, for runs under compute-sanitizer. Its initcheck does not see what cuBLAS writes through
/// tensor maps, so only the project's own kernels run.
TEST_P(CudaLayer, UncheckedMemory) {
  checked_ = false;
  LayerCase c{"unchecked", shape(72, 136, 5, 2, 150), "zipf:1"};
  c.config.sharedExperts = 1, c.config.sharedDFf = 72;
  runEverySystem(c);
  c.config.sharedExperts = 0;
  runEverySystem(c, true);
}

/// The bytes of all results of one run.
std::vector<std::byte> bytesOf(const Plan& plan, const Runner& runner, const Context& context) {
  context.synchronize();
  std::vector<std::byte> all;
  for (const Buffer& buffer : plan.buffers) {
    const std::byte* data = runner.result(buffer.name);
    if (data == nullptr) continue;
    const size_t at = all.size();
    all.resize(at + buffer.bytes);
    EXPECT_EQ(cudaMemcpy(all.data() + at, data, buffer.bytes, cudaMemcpyDeviceToHost), cudaSuccess);
  }
  return all;
}

TEST_P(CudaLayer, RepeatsBitForBit) {
  const MoeConfig config = shape(264, 520, 16, 4, 3000);
  const Routing routing = parseRouting("zipf:1", config);
  for (const std::string& system : kSystems) {
    // A chunk's buffers are as large as the routing says, and a router would not keep to it.
    const bool chunked = system.find("chunk") != std::string::npos;
    const Plan plan = buildPlan(config, routing, System::parse(system), {.withRouter = !chunked});
    Runner runner(plan, *context_);
    runner.giveRandom(routing, 3);
    std::vector<std::byte> first;
    for (int i = 0; i < 20; ++i) {
      runner.forward();
      runner.backward();
      const std::vector<std::byte> got = bytesOf(plan, runner, *context_);
      if (i == 0) first = got;
      ASSERT_TRUE(got == first) << system << " run " << i;
    }
    ASSERT_FALSE(first.empty());
  }
}

/// The first and the last 4 Mi numbers of a result.
std::vector<double> endsOf(const Plan& plan, const Runner& runner, const std::string& name) {
  const auto buffer = std::ranges::find(plan.buffers, name, &Buffer::name);
  const std::byte* data = runner.result(name);
  if (data == nullptr) return {};
  const int64_t count = std::min<int64_t>(buffer->shape.count(), 4 << 20), size = sizeOf(buffer->dtype);
  std::vector<uint16_t> bits(2 * count * size / 2);
  const size_t bytes = count * size;
  EXPECT_EQ(cudaMemcpy(bits.data(), data, bytes, cudaMemcpyDeviceToHost), cudaSuccess);
  EXPECT_EQ(cudaMemcpy(bits.data() + bytes / 2, data + buffer->bytes - bytes, bytes, cudaMemcpyDeviceToHost),
            cudaSuccess);
  std::vector<double> values;
  for (size_t i = 0; i < bits.size(); i += size / 2) {
    const uint32_t word = size == 4 ? bits[i] | uint32_t{bits[i + 1]} << 16 : uint32_t{bits[i]} << 16;
    values.push_back(std::bit_cast<float>(word));
  }
  return values;
}

/// These layers are too large for the fp64 definition, but not for the library's products, which are used to tensors of
/// more than 2³¹ bytes and elements. The framework's gates are bf16.
TEST_P(CudaLayer, FullSizeAgreesWithTheLibrary) {
  for (const char* config : {"conf3", "conf4"}) {
    const MoeConfig layer = loadConfig(config).layer;
    const Routing routing = parseRouting("zipf:0.5", layer);
    std::vector<std::vector<double>> results;
    using namespace buffer_names;
    const std::vector<std::string> names{
        std::string(kOutput), std::string(kInputGradient), std::string(kGateGradient), gradientOf(kW1), gradientOf(kW2),
        gradientOf(kW3)};
    for (const char* system : {"torch", "moeblaze"}) {
      const Plan plan = buildPlan(layer, routing, System::parse(system));
      Runner runner(plan, *context_);
      runner.giveRandom(routing, 5);
      runner.forward();
      runner.backward();
      context_->synchronize();
      for (const std::string& name : names) results.push_back(endsOf(plan, runner, name));
    }
    for (size_t i = 0; i < names.size(); ++i) {
      ASSERT_FALSE(results[i].empty()) << config << " " << names[i];
      EXPECT_LE(normRatio(results[names.size() + i], results[i]), 8e-3) << config << " " << names[i];
    }
  }
}

TEST_P(CudaLayer, TraceHoldsThePlannedAndTheObserved) {
  const MoeConfig config = shape(64, 64, 4, 2, 100);
  const Routing routing = parseRouting("balanced", config);
  const Plan plan = buildPlan(config, routing, System::parse("moeblaze"));
  const Execution execution = executeOnCuda(plan, makeInputs(config, routing, 7), *context_, {});
  ASSERT_EQ(execution.trace.tracks.size(), 2u);
  for (const TrackId track : {TrackId{0}, TrackId{1}})
    EXPECT_EQ(MemoryCurve(execution.trace, track).peak().bytes, memoryFigures(plan).peak);
  EXPECT_EQ(execution.trace.spans.size(), 2 * plan.steps.size());
}

TEST_P(CudaLayer, TooLittleMemorySaysWhatIsNeededAndFreesEverything) {
  size_t before = 0, after = 0, total = 0;
  ASSERT_EQ(cudaMemGetInfo(&before, &total), cudaSuccess);
  MoeConfig config = shape(8192, 32768, 128, 1, 1000);
  const Routing routing = parseRouting("balanced", config);
  const Plan plan = buildPlan(config, routing, System::parse("moeblaze"));
  for (MemoryMode mode : {MemoryMode::perBuffer, MemoryMode::arena}) {
    try {
      Runner runner(plan, *context_, {.mode = mode});
      runner.giveRandom(routing, 1);
      runner.forward();
      FAIL() << "192 GiB of weights fit";
    } catch (const DeviceError& error) {
      EXPECT_THAT(error.what(), testing::HasSubstr("GPU out of memory: "));
      EXPECT_THAT(error.what(), testing::HasSubstr(" are free"));
    }
    ASSERT_EQ(cudaMemGetInfo(&after, &total), cudaSuccess);
    EXPECT_LE(before - std::min(before, after), size_t{64} << 20);
  }
}

}  // namespace

/// Tests that need no GPU.
namespace {

TEST(CudaBackend, RefusesWhatItCannotRun) {
  const auto reason = [](const std::string& system, MoeConfig config) {
    return whyNot(buildPlan(config, Routing::balanced(config), System::parse(system)));
  };
  const MoeConfig fine = shape(64, 64, 4, 2, 10);
  for (const std::string& system : kSystems) EXPECT_EQ(reason(system, fine), "") << system;
  EXPECT_THAT(reason("gshard", fine), testing::HasSubstr("pads or drops rows"));
  EXPECT_THAT(reason("scattermoe", fine), testing::HasSubstr("does not run on CUDA"));
  EXPECT_THAT(reason("moeblaze", shape(60, 64, 4, 2, 10)), testing::HasSubstr("d_model 60"));
  EXPECT_THAT(reason("moeblaze", shape(64, 20, 4, 2, 10)), testing::HasSubstr("d_ff 20"));
  EXPECT_THAT(reason("moeblaze", shape(64, 64, 2000, 2, 10)), testing::HasSubstr("2000 experts"));
  MoeConfig wide = fine;
  wide.dtype = DType::fp32;
  EXPECT_THAT(reason("moeblaze", wide), testing::HasSubstr("allowed: bf16, fp16"));
}

}  // namespace
}  // namespace moeblaze::cuda
