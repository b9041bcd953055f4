// The C interface: what it refuses and how large its blocks are, which needs no GPU, and whole layers on a GPU.
#include <cuda_runtime.h>

#include <set>

#include "core/plan/arena.h"
#include "core/plan/buffer_names.h"
#include "kernels/api/moeblaze.h"
#include "kernels/host/binding.h"
#include "tests/support/layer_case.h"

extern "C" int moeblazeFromC99(void);

namespace moeblaze {
namespace {

using namespace buffer_names;
using testing::HasSubstr;

const std::vector<const char*> kNames{"moeblaze", "moeblaze-paper", "moeblaze-min"};

moeblaze_config configFor(const MoeConfig& c, const char* system) {
  return {c.dModel,
          c.dFf,
          c.experts,
          c.topK,
          c.tokens,
          static_cast<int32_t>(c.activation),
          c.dtype == DType::bf16 ? MOEBLAZE_BF16 : MOEBLAZE_FP16,
          c.gateDtype == DType::fp32 ? MOEBLAZE_FP32 : (c.gateDtype == DType::bf16 ? MOEBLAZE_BF16 : MOEBLAZE_FP16),
          system};
}

MoeConfig fine() { return {.dModel = 136, .dFf = 264, .experts = 6, .topK = 2, .tokens = 333}; }

bool hasGpu() {
  int count = 0;
  return cudaGetDeviceCount(&count) == cudaSuccess && count > 0;
}

/// The error text of a call that must fail with `status`.
std::string refused(moeblaze_status status, moeblaze_status expected = MOEBLAZE_WRONG_INPUT) {
  EXPECT_EQ(status, expected) << moeblaze_last_error();
  EXPECT_EQ(std::string(moeblaze_last_error()).find('\n'), std::string::npos) << moeblaze_last_error();
  return status == MOEBLAZE_OK ? "" : moeblaze_last_error();
}

/// The error text about a config with one field changed. Both calls that take a config must refuse it with the same
/// text.
template <typename Value>
std::string refusedConfig(Value moeblaze_config::*field, Value value) {
  moeblaze_config config = configFor(fine(), nullptr);
  config.*field = value;
  moeblaze_sizes sizes{};
  const std::string text = refused(moeblaze_query(&config, &sizes));
  moeblaze_layer* layer = nullptr;
  EXPECT_EQ(refused(moeblaze_create(&config, &layer)), text);
  EXPECT_EQ(layer, nullptr);
  return text;
}

TEST(CApi, HeaderIsC99) { EXPECT_EQ(moeblazeFromC99(), 0) << moeblaze_last_error(); }

TEST(CApi, RefusesWrongConfigsNamingTheField) {
  EXPECT_THAT(refusedConfig<int64_t>(&moeblaze_config::d_model, 0), HasSubstr("d_model 0 is out of range; allowed 1"));
  EXPECT_THAT(refusedConfig<int64_t>(&moeblaze_config::d_model, 60), HasSubstr("d_model 60"));
  EXPECT_THAT(refusedConfig<int64_t>(&moeblaze_config::d_ff, -8), HasSubstr("d_ff -8 is out of range"));
  EXPECT_THAT(refusedConfig<int64_t>(&moeblaze_config::d_ff, 20), HasSubstr("must be a multiple of 8"));
  EXPECT_THAT(refusedConfig<int64_t>(&moeblaze_config::experts, 0), HasSubstr("experts 0 is out of range"));
  EXPECT_THAT(refusedConfig<int64_t>(&moeblaze_config::experts, 2000), HasSubstr("2000 experts"));
  EXPECT_THAT(refusedConfig<int64_t>(&moeblaze_config::top_k, 7), HasSubstr("top_k 7 exceeds experts 6"));
  EXPECT_THAT(refusedConfig<int64_t>(&moeblaze_config::tokens, 0), HasSubstr("tokens 0 is out of range"));
  EXPECT_THAT(refusedConfig<int64_t>(&moeblaze_config::tokens, int64_t{1} << 31), HasSubstr("tokens 2147483648"));
  EXPECT_THAT(refusedConfig<int32_t>(&moeblaze_config::activation, 5), HasSubstr("activation 5 is unknown; allowed: "));
  EXPECT_THAT(refusedConfig<int32_t>(&moeblaze_config::activation, -1), HasSubstr("4 (geglu)"));
  EXPECT_THAT(refusedConfig<int32_t>(&moeblaze_config::dtype, MOEBLAZE_FP32), HasSubstr("allowed: 0 (bf16), 1 (fp16)"));
  EXPECT_THAT(refusedConfig<int32_t>(&moeblaze_config::gate_dtype, 3), HasSubstr("gate_dtype 3 is unknown"));
}

TEST(CApi, RefusesSystemsOtherThanItsThree) {
  for (const char* system : {"megablocks", "torch", "custom", "gshard", "", "moeblaze-min:chunk=2",
                             "moeblaze-paper:preactivation=fp32", "moeblaze\n"})
    EXPECT_THAT(refusedConfig<const char*>(&moeblaze_config::system, system),
                testing::AllOf(HasSubstr("moeblaze_config: system '"),
                               HasSubstr("allowed: moeblaze, moeblaze-paper, moeblaze-min, without parameters")));
  EXPECT_THAT(refusedConfig<const char*>(&moeblaze_config::system, "moeblaze-mni"), HasSubstr("'moeblaze-min'?"));
}

TEST(CApi, RefusesNullArguments) {
  const moeblaze_config config = configFor(fine(), nullptr);
  moeblaze_sizes sizes{};
  moeblaze_layer* layer = nullptr;
  const moeblaze_inputs inputs{};
  const moeblaze_gradients gradients{};
  EXPECT_THAT(refused(moeblaze_query(nullptr, &sizes)), HasSubstr("config is NULL"));
  EXPECT_THAT(refused(moeblaze_query(&config, nullptr)), HasSubstr("sizes is NULL"));
  EXPECT_THAT(refused(moeblaze_create(nullptr, &layer)), HasSubstr("config is NULL"));
  EXPECT_THAT(refused(moeblaze_create(&config, nullptr)), HasSubstr("layer is NULL"));
  EXPECT_THAT(refused(moeblaze_forward(nullptr, &inputs, nullptr, nullptr, nullptr, nullptr)),
              HasSubstr("layer is NULL"));
  EXPECT_THAT(refused(moeblaze_backward(nullptr, &inputs, &gradients, nullptr, nullptr, nullptr)),
              HasSubstr("layer is NULL"));
  moeblaze_destroy(nullptr);
}

TEST(CApi, WithoutGpuSaysWhatToDo) {
  if (hasGpu()) GTEST_SKIP() << "there is a GPU";
  const moeblaze_config config = configFor(fine(), "moeblaze");
  moeblaze_layer* layer = nullptr;
  EXPECT_THAT(refused(moeblaze_create(&config, &layer), MOEBLAZE_DEVICE), HasSubstr("no NVIDIA GPU can be used: "));
  EXPECT_EQ(layer, nullptr);
}

/// Every buffer begins on a multiple of 256 bytes, and all saved buffers are alive at once. So the block has the size
/// of what the Plan saves, with each buffer rounded up, but without x and gates, which are the caller's. Expert ids are
/// the caller's too, but they are not among what the Plan saves, because backward reads a copy of them or none.
TEST(CApi, SavedBlockIsWhatThePlanSaves) {
  for (const char* system : kNames)
    for (Activation activation : kActivations)
      for (int64_t tokens : {1, 333, 5000}) {
        MoeConfig c = fine();
        c.activation = activation, c.tokens = tokens;
        const Plan plan = buildPlan(c, Routing::balanced(c), System::parse(system));
        int64_t callers = 0, padding = 0;
        std::set<std::string> names;
        for (const Buffer& buffer : plan.buffers) {
          if (!plan.isHeldForBackward(buffer)) continue;
          if (buffer.role == Role::input) {
            callers += buffer.bytes;
            names.insert(buffer.name);
          } else {
            padding += (kArenaAlignment - buffer.bytes % kArenaAlignment) % kArenaAlignment;
          }
        }
        EXPECT_EQ(names, (std::set<std::string>{std::string(kGates), std::string(kInput)})) << system;
        const moeblaze_config config = configFor(c, system);
        moeblaze_sizes sizes{};
        ASSERT_EQ(moeblaze_query(&config, &sizes), MOEBLAZE_OK) << moeblaze_last_error();
        EXPECT_EQ(sizes.saved + callers - padding, memoryFigures(plan).saved) << system;
        EXPECT_GT(sizes.forward_workspace, 0);
        EXPECT_GT(sizes.backward_workspace, 0);
        for (int64_t bytes : {sizes.saved, sizes.forward_workspace, sizes.backward_workspace})
          EXPECT_EQ(bytes % kArenaAlignment, 0);
      }
}

TEST(CApi, SizesDoNotDependOnTheRouting) {
  const MoeConfig c = fine();
  for (const char* system : kNames)
    for (const char* text : {"balanced", "zipf:1.5", "zipf:16"}) {
      const Plan plan = buildPlan(c, parseRouting(text, c), System::parse(system));
      const Plan balanced = buildPlan(c, Routing::balanced(c), System::parse(system));
      ASSERT_EQ(plan.buffers.size(), balanced.buffers.size());
      for (size_t i = 0; i < plan.buffers.size(); ++i)
        EXPECT_EQ(plan.buffers[i].bytes, balanced.buffers[i].bytes) << system << " " << plan.buffers[i].name;
    }
}

/// Poisoned device memory with canaries behind it.
class DeviceBlock {
 public:
  explicit DeviceBlock(int64_t bytes) : bytes_(bytes) {
    if (cudaMalloc(&data_, bytes_ + kGuard) != cudaSuccess) throw std::runtime_error("cudaMalloc failed");
    poison();
  }
  ~DeviceBlock() { cudaFree(data_); }
  DeviceBlock(const DeviceBlock&) = delete;
  DeviceBlock& operator=(const DeviceBlock&) = delete;

  void poison() {
    EXPECT_EQ(cudaMemset(data_, 0xff, bytes_), cudaSuccess);
    EXPECT_EQ(cudaMemset(data_ + bytes_, 0xa5, kGuard), cudaSuccess);
  }
  void write(const std::vector<std::byte>& bytes) {
    EXPECT_EQ(cudaMemcpy(data_, bytes.data(), bytes.size(), cudaMemcpyHostToDevice), cudaSuccess);
  }
  std::vector<std::byte> read() const { return copy(data_, bytes_); }
  bool isIntact() const {
    return std::ranges::all_of(copy(data_ + bytes_, kGuard), [](std::byte byte) { return byte == std::byte{0xa5}; });
  }
  std::byte* data() const { return data_; }

 private:
  static constexpr int64_t kGuard = 4096;
  static std::vector<std::byte> copy(const std::byte* from, int64_t bytes) {
    std::vector<std::byte> host(bytes);
    EXPECT_EQ(cudaMemcpy(host.data(), from, bytes, cudaMemcpyDeviceToHost), cudaSuccess);
    return host;
  }

  std::byte* data_ = nullptr;
  int64_t bytes_;
};

/// A layer of the C interface with tensors and blocks of its own.
class GpuLayer {
 public:
  GpuLayer(const MoeConfig& config, const char* system, const LayerInputs& inputs)
      : plan_(buildPlan(config, Routing::balanced(config), System::parse(system))), inputs_(inputs) {
    const moeblaze_config given = configFor(config, system);
    moeblaze_sizes sizes{};
    EXPECT_EQ(moeblaze_query(&given, &sizes), MOEBLAZE_OK) << moeblaze_last_error();
    EXPECT_EQ(moeblaze_create(&given, &layer_), MOEBLAZE_OK) << moeblaze_last_error();
    for (const auto& [name, bytes] : {std::pair{"saved", sizes.saved},
                                      {"forward", sizes.forward_workspace},
                                      {"backward", sizes.backward_workspace}})
      blocks_.try_emplace(name, bytes);
    for (size_t i = 0; i < plan_.buffers.size(); ++i) {
      const Buffer& buffer = plan_.buffers[i];
      std::vector<std::byte> bytes(buffer.bytes);
      const bool read = writeInput(plan_, static_cast<BufferId>(i), inputs, bytes.data());
      if (!read && !buffer.isResult()) continue;
      blocks_.try_emplace(buffer.name, buffer.bytes);
      if (read) at(buffer.name).write(bytes);
      if (!read) written_.push_back(&at(buffer.name));
    }
    for (const char* name : {"saved", "forward", "backward"}) written_.push_back(&at(name));
  }
  ~GpuLayer() { moeblaze_destroy(layer_); }
  GpuLayer(const GpuLayer&) = delete;
  GpuLayer& operator=(const GpuLayer&) = delete;

  moeblaze_inputs inputs() {
    return {data(kInput), reinterpret_cast<const int32_t*>(data(kTopkIds)), data(kGates), data(kW1), data(kW2),
            data(kW3)};
  }
  moeblaze_gradients gradients() {
    return {data(kOutputGradient), data(kInputGradient),  data(kGateGradient),
            data(gradientOf(kW1)), data(gradientOf(kW2)), data(gradientOf(kW3))};
  }
  moeblaze_layer* layer() const { return layer_; }
  /// The buffer's address; null when the layer has no such buffer.
  std::byte* data(std::string_view name) {
    const auto found = blocks_.find(std::string(name));
    return found == blocks_.end() ? nullptr : found->second.data();
  }

  /// Runs forward and backward. Everything that the layer writes is poisoned before, and the guards are checked after.
  LayerResults run(cudaStream_t stream) {
    for (DeviceBlock* block : written_) block->poison();
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    moeblaze_inputs in = inputs();
    const moeblaze_gradients out = gradients();
    EXPECT_EQ(moeblaze_forward(layer_, &in, data(kOutput), data("saved"), data("forward"), stream), MOEBLAZE_OK)
        << moeblaze_last_error();
    in.topk_ids = nullptr;  // as the header allows
    EXPECT_EQ(moeblaze_backward(layer_, &in, &out, data("saved"), data("backward"), stream), MOEBLAZE_OK)
        << moeblaze_last_error();
    EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    for (const auto& [name, block] : blocks_) EXPECT_TRUE(block.isIntact()) << "behind " << name;
    std::vector<std::byte> bytes;
    return readResults(plan_, inputs_, [&](BufferId id) {
      bytes = at(plan_.buffer(id).name).read();
      return bytes.data();
    });
  }

 private:
  DeviceBlock& at(const std::string& name) { return blocks_.at(name); }

  Plan plan_;
  const LayerInputs& inputs_;
  moeblaze_layer* layer_ = nullptr;
  std::map<std::string, DeviceBlock> blocks_;  ///< by the Plan's names and the names of the three blocks
  std::vector<DeviceBlock*> written_;
};

class CApiOnGpu : public testing::Test {
 protected:
  void SetUp() override {
    if (!hasGpu()) GTEST_SKIP() << "no GPU";
    for (cudaStream_t& stream : streams_)
      ASSERT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
  }
  void TearDown() override {
    for (cudaStream_t stream : streams_)
      if (stream != nullptr) cudaStreamDestroy(stream);
  }
  cudaStream_t streams_[2] = {};
};

TEST_F(CApiOnGpu, EqualsTheReferenceOnAnyStream) {
  for (Activation activation : kActivations)
    for (DType dtype : {DType::bf16, DType::fp16}) {
      MoeConfig c = fine();
      c.activation = activation, c.dtype = dtype;
      if (activation == Activation::relu) c.gateDtype = dtype;
      const LayerInputs inputs = makeInputs(c, parseRouting("zipf:1", c), 7);
      const LayerResults reference = referenceLayer(inputs);
      for (const char* system : kNames) {
        GpuLayer layer(c, system, inputs);
        for (cudaStream_t stream : {streams_[0], streams_[1], cudaStream_t{nullptr}})
          expectSame(c, layer.run(stream), reference, {.all = 5e-3, .gates = 5e-3, .row = 2e-2},
                     std::string(system) + " " + std::string(name(activation)) + " " + std::string(name(dtype)));
      }
    }
}

TEST_F(CApiOnGpu, RefusesWrongPointersNamingThem) {
  MoeConfig c = fine();
  const LayerInputs inputs = makeInputs(c, Routing::balanced(c), 7);
  GpuLayer layer(c, "moeblaze", inputs);
  const auto forward = [&](const moeblaze_inputs& in, std::byte* output, std::byte* saved, std::byte* workspace) {
    return refused(moeblaze_forward(layer.layer(), &in, output, saved, workspace, streams_[0]));
  };
  std::byte *const output = layer.data(kOutput), *const saved = layer.data("saved"),
                   *const work = layer.data("forward");
  moeblaze_inputs in = layer.inputs();
  EXPECT_THAT(forward(in, nullptr, saved, work), HasSubstr("output is NULL"));
  EXPECT_THAT(forward(in, output + 8, saved, work), HasSubstr("allowed: multiples of 16 bytes"));
  EXPECT_THAT(forward(in, output, nullptr, work), HasSubstr("saved is NULL"));
  EXPECT_THAT(forward(in, output, saved + 128, work), HasSubstr("allowed: multiples of 256 bytes"));
  EXPECT_THAT(forward(in, output, saved, nullptr), HasSubstr("workspace is NULL"));
  in.topk_ids = nullptr;
  EXPECT_THAT(forward(in, output, saved, work), HasSubstr("inputs.topk_ids is NULL"));
  in = layer.inputs();
  in.w2 = nullptr;
  EXPECT_THAT(forward(in, output, saved, work), HasSubstr("inputs.w2 is NULL"));
  EXPECT_THAT(refused(moeblaze_forward(layer.layer(), nullptr, output, saved, work, nullptr)),
              HasSubstr("inputs is NULL"));
  in = layer.inputs();
  EXPECT_THAT(refused(moeblaze_backward(layer.layer(), &in, nullptr, saved, work, nullptr)),
              HasSubstr("gradients is NULL"));
  moeblaze_gradients out = layer.gradients();
  out.dgates = nullptr;
  EXPECT_THAT(refused(moeblaze_backward(layer.layer(), &in, &out, saved, layer.data("backward"), nullptr)),
              HasSubstr("gradients.dgates is NULL"));

  c.activation = Activation::silu;
  const LayerInputs single = makeInputs(c, Routing::balanced(c), 7);
  GpuLayer ungated(c, "moeblaze", single);
  in = ungated.inputs();
  in.w2 = in.w1;
  EXPECT_THAT(refused(moeblaze_forward(ungated.layer(), &in, ungated.data(kOutput), ungated.data("saved"),
                                       ungated.data("forward"), nullptr)),
              HasSubstr("inputs.w2 is given, but silu has no second projection; allowed: NULL"));
}

TEST_F(CApiOnGpu, RefusesAnotherDevice) {
  int count = 0;
  ASSERT_EQ(cudaGetDeviceCount(&count), cudaSuccess);
  if (count < 2) GTEST_SKIP() << "one GPU only";
  const MoeConfig c = fine();
  const LayerInputs inputs = makeInputs(c, Routing::balanced(c), 7);
  ASSERT_EQ(cudaSetDevice(0), cudaSuccess);
  GpuLayer layer(c, "moeblaze", inputs);
  ASSERT_EQ(cudaSetDevice(1), cudaSuccess);
  const moeblaze_inputs in = layer.inputs();
  EXPECT_THAT(refused(moeblaze_forward(layer.layer(), &in, layer.data(kOutput), layer.data("saved"),
                                       layer.data("forward"), nullptr)),
              HasSubstr("device 1 is current; allowed: 0"));
  ASSERT_EQ(cudaSetDevice(0), cudaSuccess);
}

}  // namespace
}  // namespace moeblaze
