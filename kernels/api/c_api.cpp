// The C interface over Plans. The caller's tensors are the Plan's inputs, parameters and results by name; the Plan's
// other buffers lie in the blocks that the caller brings.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <memory>
#include <mutex>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/plan/arena.h"
#include "core/plan/buffer_names.h"
#include "core/systems/system.h"
#include "kernels/api/moeblaze.h"
#include "kernels/cuda/base/check.h"
#include "kernels/cuda/exec/run_step.h"
#include "kernels/cuda/exec/support.h"

namespace moeblaze {
namespace {

using namespace buffer_names;

static_assert(MOEBLAZE_INTERNAL == kExitInternal && MOEBLAZE_WRONG_INPUT == kExitWrongInput &&
              MOEBLAZE_DEVICE == kExitMissingDevice);

constexpr std::string_view kConfig = "moeblaze_config";
constexpr uintptr_t kTensorAlignment = 16;
/// The systems whose Plans hold for any routing.
constexpr std::array<std::string_view, 3> kAllowedSystems{"moeblaze", "moeblaze-paper", "moeblaze-min"};
// The dtypes in the order of moeblaze_dtype's numbers.
constexpr std::array kDTypes{DType::bf16, DType::fp16};
constexpr std::array kGateDTypes{DType::bf16, DType::fp16, DType::fp32};
static_assert(kGateDTypes[MOEBLAZE_BF16] == DType::bf16 && kGateDTypes[MOEBLAZE_FP16] == DType::fp16 &&
              kGateDTypes[MOEBLAZE_FP32] == DType::fp32);
static_assert(kActivations[MOEBLAZE_RELU] == Activation::relu && kActivations[MOEBLAZE_SILU] == Activation::silu &&
              kActivations[MOEBLAZE_GELU] == Activation::gelu && kActivations[MOEBLAZE_SWIGLU] == Activation::swiglu &&
              kActivations[MOEBLAZE_GEGLU] == Activation::geglu);

/// A fixed array, so that reporting a failure cannot fail.
thread_local std::array<char, 1024> lastError{};

moeblaze_status fail(moeblaze_status status, const char* text) noexcept {
  std::snprintf(lastError.data(), lastError.size(), "%s", text);
  return status;
}

/// Runs `call`. What it throws becomes the returned status and the thread's last error.
template <typename Call>
moeblaze_status guarded(Call&& call) noexcept {
  try {
    call();
    return MOEBLAZE_OK;
  } catch (const InputError& error) {
    return fail(MOEBLAZE_WRONG_INPUT, error.what());
  } catch (const DeviceError& error) {
    return fail(MOEBLAZE_DEVICE, error.what());
  } catch (const std::exception& error) {
    return fail(MOEBLAZE_INTERNAL, error.what());
  } catch (...) {
    return fail(MOEBLAZE_INTERNAL, "unknown failure");
  }
}

template <typename T>
T& present(T* argument, const char* name, const char* what) {
  if (argument == nullptr) throw InputError(fmt::format("{} is NULL; allowed: {}", name, what));
  return *argument;
}

template <typename Enum, size_t N>
Enum chosen(int32_t number, const char* field, const std::array<Enum, N>& values) {
  if (number >= 0 && number < std::ssize(values)) return values[static_cast<size_t>(number)];
  std::string allowed;
  for (size_t i = 0; i < N; ++i) allowed += fmt::format("{}{} ({})", i == 0 ? "" : ", ", i, name(values[i]));
  refuse(kConfig, "{} {} is unknown; allowed: {}", field, number, allowed);
}

System systemOf(const char* text) {
  const std::string_view name = text == nullptr ? kAllowedSystems[0] : text;
  if (std::ranges::find(kAllowedSystems, name) == kAllowedSystems.end())
    refuse(kConfig, "system {} does not run here; allowed: {}, without parameters{}", quote(name),
           listNames(kAllowedSystems), didYouMean(name, kAllowedSystems));
  return System::parse(name);
}

MoeConfig configOf(const moeblaze_config& given) {
  MoeConfig config{.name = "layer",
                   .dModel = given.d_model,
                   .dFf = given.d_ff,
                   .experts = given.experts,
                   .topK = given.top_k,
                   .tokens = given.tokens};
  config.activation = chosen(given.activation, "activation", kActivations);
  config.dtype = chosen(given.dtype, "dtype", kDTypes);
  config.gateDtype = chosen(given.gate_dtype, "gate_dtype", kGateDTypes);
  validate(config, kConfig);
  return config;
}

/// True when the Plan would be the same for any routing, but for its counts: all rows belong to all Steps' experts and
/// are as many as the slots. Padding, dropped slots, and chunks of experts make sizes depend on the counts.
bool holdsForAnyRouting(const Plan& plan) {
  const auto coversAll = [&](const Step& step) {
    return step.gemm.experts == 0 || (step.gemm.firstExpert == 0 && step.gemm.experts == plan.config.experts);
  };
  const auto hasAllRows = [&](const Buffer& buffer) {
    return buffer.layout != Layout::rows || buffer.shape.extents()[0] == plan.config.rows();
  };
  return plan.rowBlock == 1 && plan.expertCapacity == 0 && std::ranges::all_of(plan.steps, coversAll) &&
         std::ranges::all_of(plan.buffers, hasAllRows);
}

/// The Plan of a layer that does not know who goes where, because the expert ids lie on the device. A Plan is made for
/// one routing; this one keeps what is the same for all of them and has no counts that a reader could take for true.
Plan planForAnyRouting(const MoeConfig& config, const System& system) {
  Plan plan = buildPlan(config, Routing::balanced(config), system);
  if (!holdsForAnyRouting(plan)) throw std::logic_error("the plan of " + plan.system + " depends on the routing");
  plan.routing = "any";
  plan.tokensPerExpert.clear();
  plan.rowsPerExpert.clear();
  return plan;
}

bool isCallers(const Buffer& buffer) { return buffer.external || buffer.isResult() || buffer.role == Role::input; }

/// A Plan, and where the buffers that are not the caller's tensors lie in the caller's blocks.
struct PlannedLayer {
  explicit PlannedLayer(const moeblaze_config& given);
  const Arena& workspace(Phase phase) const { return phase == Phase::forward ? forward : backward; }
  /// True when a Step of `phase` reads or writes the storage of `id`.
  bool uses(Phase phase, BufferId id) const;

  Plan plan;
  Arena saved, forward, backward;
};

PlannedLayer::PlannedLayer(const moeblaze_config& given) {
  plan = planForAnyRouting(configOf(given), systemOf(given.system));
  cuda::runnable(plan);
  const auto pack = [this](auto&& included) {
    return packArena(plan, [&](const Buffer& buffer) { return !isCallers(buffer) && included(buffer); });
  };
  saved = pack([this](const Buffer& buffer) { return plan.isHeldForBackward(buffer); });
  forward = pack([this](const Buffer& buffer) { return buffer.lifetime.last < plan.forwardSteps; });
  backward = pack([this](const Buffer& buffer) { return buffer.lifetime.first >= plan.forwardSteps; });
}

bool PlannedLayer::uses(Phase phase, BufferId id) const {
  return std::ranges::any_of(plan.steps, [&](const Step& step) {
    const auto isIt = [&](const Operand& operand) { return plan.storageOf(operand.id) == id; };
    return step.phase == phase &&
           (std::ranges::any_of(plan.reads(step), isIt) || std::ranges::any_of(plan.writes(step), isIt));
  });
}

/// The default stream. Throws DeviceError when there is no GPU that could have one.
cudaStream_t defaultStream() {
  int device = 0;
  if (cudaGetDevice(&device) != cudaSuccess) device = 0;  // then useDevice says why, and what to do
  cuda::useDevice(device);
  return nullptr;
}

/// One of the caller's tensors: the field that gives it, the name of its buffer in the Plan, and its address.
struct CallerTensor {
  const char* field;
  std::string buffer;
  const void* data;
};

std::vector<CallerTensor> tensorsOf(const moeblaze_inputs& in) {
  return {{"inputs.x", std::string(kInput), in.x},         {"inputs.topk_ids", std::string(kTopkIds), in.topk_ids},
          {"inputs.gates", std::string(kGates), in.gates}, {"inputs.w1", std::string(kW1), in.w1},
          {"inputs.w2", std::string(kW2), in.w2},          {"inputs.w3", std::string(kW3), in.w3}};
}

std::byte* deviceAddress(const void* data, const char* field, uintptr_t alignment) {
  if (data == nullptr) throw InputError(fmt::format("{} is NULL; allowed: a device pointer", field));
  if (const auto address = reinterpret_cast<uintptr_t>(data); address % alignment != 0)
    throw InputError(fmt::format("{} {:#x} is not aligned; allowed: multiples of {} bytes", field, address, alignment));
  return static_cast<std::byte*>(const_cast<void*>(data));
}

/// The first byte of every buffer that a phase uses, by buffer; null for all others.
std::vector<std::byte*> addressesOf(const PlannedLayer& layer, Phase phase, std::span<const CallerTensor> tensors,
                                    const void* saved, const void* workspace) {
  const std::vector<Buffer>& buffers = layer.plan.buffers;
  std::vector<std::byte*> addresses(buffers.size(), nullptr);
  for (const CallerTensor& tensor : tensors) {
    const auto found = std::ranges::find(buffers, tensor.buffer, &Buffer::name);
    if (found == buffers.end() && tensor.data != nullptr)
      throw InputError(fmt::format("{} is given, but {} has no second projection; allowed: NULL", tensor.field,
                                   name(layer.plan.config.activation)));
    const size_t i = static_cast<size_t>(found - buffers.begin());
    if (found != buffers.end() && layer.uses(phase, static_cast<BufferId>(i)))
      addresses[i] = deviceAddress(tensor.data, tensor.field, kTensorAlignment);
  }
  const auto place = [&](const Arena& arena, const void* block, const char* field) {
    if (arena.bytes == 0) return;
    std::byte* const begin = deviceAddress(block, field, kArenaAlignment);
    for (size_t i = 0; i < buffers.size(); ++i)
      if (arena.offsets[i] >= 0) addresses[i] = begin + arena.offsets[i];
  };
  place(layer.saved, saved, "saved");
  place(layer.workspace(phase), workspace, "workspace");
  return addresses;
}

}  // namespace
}  // namespace moeblaze

using namespace moeblaze;

struct moeblaze_layer {
  explicit moeblaze_layer(const moeblaze_config& config) : planned(config), context(defaultStream()) {}
  void enqueue(Phase phase, std::span<const CallerTensor> tensors, void* saved, void* workspace, void* stream);

  const PlannedLayer planned;
  cuda::Context context;
  cuda::PlanRun run{context};
  std::mutex turn;  ///< held by one call at a time, because frameworks run backward on a thread of its own
};

void moeblaze_layer::enqueue(Phase phase, std::span<const CallerTensor> tensors, void* saved, void* workspace,
                             void* stream) {
  const Plan& plan = planned.plan;
  const std::vector<std::byte*> addresses = addressesOf(planned, phase, tensors, saved, workspace);
  const auto storageOf = [&](BufferId id) {
    if (addresses[index(id)] == nullptr) throw std::logic_error("buffer " + plan.buffer(id).name + " lies nowhere");
    return addresses[index(id)];
  };
  int current = 0;
  MOEBLAZE_CUDA_CHECK(cudaGetDevice(&current));
  if (current != context.device())
    throw InputError(
        fmt::format("device {} is current; allowed: {}, on which the layer was created", current, context.device()));
  const std::lock_guard lock(turn);
  context.setStream(static_cast<cudaStream_t>(stream));
  for (const Step& step : plan.steps)
    if (step.phase == phase) cuda::runStep(bindStep(plan, step, storageOf), run);
}

moeblaze_status moeblaze_query(const moeblaze_config* config, moeblaze_sizes* sizes) {
  return guarded([&] {
    moeblaze_sizes& out = present(sizes, "sizes", "where to write them");
    const PlannedLayer planned(present(config, "config", "a moeblaze_config"));
    out = {planned.saved.bytes, planned.forward.bytes, planned.backward.bytes};
  });
}

moeblaze_status moeblaze_create(const moeblaze_config* config, moeblaze_layer** layer) {
  return guarded([&] {
    moeblaze_layer*& out = present(layer, "layer", "where to write the layer");
    out = nullptr;
    out = std::make_unique<moeblaze_layer>(present(config, "config", "a moeblaze_config")).release();
  });
}

void moeblaze_destroy(moeblaze_layer* layer) { delete layer; }

moeblaze_status moeblaze_forward(moeblaze_layer* layer, const moeblaze_inputs* inputs, void* output, void* saved,
                                 void* workspace, void* stream) {
  return guarded([&] {
    moeblaze_layer& self = present(layer, "layer", "what moeblaze_create made");
    const moeblaze_inputs& in = present(inputs, "inputs", "a moeblaze_inputs");
    std::vector<CallerTensor> tensors = tensorsOf(in);
    tensors.push_back({"output", std::string(kOutput), output});
    self.enqueue(Phase::forward, tensors, saved, workspace, stream);
  });
}

moeblaze_status moeblaze_backward(moeblaze_layer* layer, const moeblaze_inputs* inputs,
                                  const moeblaze_gradients* gradients, void* saved, void* workspace, void* stream) {
  return guarded([&] {
    moeblaze_layer& self = present(layer, "layer", "what moeblaze_create made");
    const moeblaze_inputs& in = present(inputs, "inputs", "a moeblaze_inputs");
    const moeblaze_gradients& out = present(gradients, "gradients", "a moeblaze_gradients");
    std::vector<CallerTensor> tensors = tensorsOf(in);
    tensors.insert(tensors.end(), {{"gradients.output_gradient", std::string(kOutputGradient), out.output_gradient},
                                   {"gradients.dx", std::string(kInputGradient), out.dx},
                                   {"gradients.dgates", std::string(kGateGradient), out.dgates},
                                   {"gradients.dw1", gradientOf(kW1), out.dw1},
                                   {"gradients.dw2", gradientOf(kW2), out.dw2},
                                   {"gradients.dw3", gradientOf(kW3), out.dw3}});
    self.enqueue(Phase::backward, tensors, saved, workspace, stream);
  });
}

const char* moeblaze_last_error(void) { return lastError.data(); }
