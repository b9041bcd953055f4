// The router: which experts a token goes to, and with what gate. Each warp handles one token, with the experts spread
// over its lanes. Sums are taken in one order, so that repeated runs give the same bits.
#include <cfloat>

#include "kernels/cuda/base/check.h"
#include "kernels/cuda/rows/row_address.cuh"
#include "kernels/cuda/run/ops.h"

namespace moeblaze::cuda {
namespace {

constexpr unsigned kAll = 0xffffffffu;
static_assert(kMaxRouterChoices <= kLanes, "each choice of a token has a lane of its own");

__device__ float warpMax(float value) {
#pragma unroll
  for (int step = kLanes / 2; step > 0; step /= 2) value = fmaxf(value, __shfl_xor_sync(kAll, value, step));
  return value;
}

/// What a router computes: the config's part in it.
struct RouterTask {
  int64_t tokens;
  int32_t experts, topK;
  Router router;
  bool renormalize;
};

RouterTask taskOf(const BoundStep& step) {
  const MoeConfig& c = step.plan.config;
  if (c.experts > kMaxDispatchExperts || c.topK > kMaxRouterChoices)
    refuseStep(step, "has more experts or choices than routers here");
  return {c.tokens, static_cast<int32_t>(c.experts), static_cast<int32_t>(c.topK), c.router,
          c.renormalize && c.router != Router::topkSoftmax};
}

/// An expert that may be chosen. The higher rank wins, and the lower id among equal ranks.
struct Candidate {
  float rank, score;
  int32_t expert = -1;
  __device__ bool beats(const Candidate& other) const {
    if (expert < 0 || other.expert < 0) return expert >= 0;
    return rank > other.rank || (rank == other.rank && expert < other.expert);
  }
};

/// The best candidate of the warp. It is the same in every lane even when ranks are NaN.
__device__ Candidate bestOfWarp(Candidate best) {
#pragma unroll
  for (int step = kLanes / 2; step > 0; step /= 2) {
    Candidate other;
    other.rank = __shfl_xor_sync(kAll, best.rank, step);
    other.score = __shfl_xor_sync(kAll, best.score, step);
    other.expert = __shfl_xor_sync(kAll, best.expert, step);
    if (other.beats(best)) best = other;
  }
  best.rank = __shfl_sync(kAll, best.rank, 0);
  best.score = __shfl_sync(kAll, best.score, 0);
  best.expert = __shfl_sync(kAll, best.expert, 0);
  return best;
}

/// Turns logits into scores. Each lane holds kPerLane experts: its i-th is expert i·32 + lane. Values past the last
/// expert are not used.
template <int kPerLane>
__device__ void scoreExperts(const RouterTask& task, int lane, float (&values)[kPerLane]) {
  if (task.router == Router::topkSoftmax) return;
  if (task.router == Router::sigmoid) {
#pragma unroll
    for (float& value : values) value = 1.0f / (1.0f + expf(-value));
    return;
  }
  float most = -FLT_MAX;
#pragma unroll
  for (int i = 0; i < kPerLane; ++i)
    if (i * kLanes + lane < task.experts) most = fmaxf(most, values[i]);
  most = warpMax(most);
  float sum = 0.0f;
#pragma unroll
  for (int i = 0; i < kPerLane; ++i) {
    values[i] = i * kLanes + lane < task.experts ? expf(values[i] - most) : 0.0f;
    sum += values[i];
  }
  sum = warpSum(sum);
#pragma unroll
  for (float& value : values) value /= sum;
}

/// What the router writes.
struct Routed {
  float* scores;
  int64_t scoreStride;
  int32_t* ids;
  Numbers gates;
};

/// Writes the ids and gates of a token. `chosen` is this lane's own choice, the lane-th best; `sum` is over the scores
/// of all choices.
__device__ void writeChoice(const RouterTask& task, int64_t token, int lane, const Candidate& chosen, float sum,
                            const Routed& out) {
  float score = chosen.score;
  if (task.router == Router::topkSoftmax) {
    const bool valid = lane < task.topK;
    const float most = warpMax(valid ? score : -FLT_MAX);
    const float power = valid ? expf(score - most) : 0.0f;
    score = power / warpSum(power);
    __syncwarp();  // the zeros of the row must be written before its chosen scores
    if (valid) out.scores[token * out.scoreStride + chosen.expert] = score;
  }
  if (lane >= task.topK) return;
  const int64_t slot = token * task.topK + lane;
  out.ids[slot] = chosen.expert;
  out.gates.store(slot, task.renormalize ? score * (1.0f / sum) : score);
}

template <int kPerLane>
__global__ void __launch_bounds__(kRowThreads)
    routeKernel(RouterTask task, const float* logits, int64_t stride, const float* bias, Routed out) {
  const int lane = threadIdx.x % kLanes;
  const int64_t token = static_cast<int64_t>(blockIdx.x) * kRowWarps + threadIdx.x / kLanes;
  if (token >= task.tokens) return;
  float scores[kPerLane], shifts[kPerLane];
#pragma unroll
  for (int i = 0; i < kPerLane; ++i) {
    const int32_t expert = i * kLanes + lane;
    scores[i] = expert < task.experts ? logits[token * stride + expert] : 0.0f;
    shifts[i] = bias != nullptr && expert < task.experts ? bias[expert] : 0.0f;
  }
  scoreExperts(task, lane, scores);
#pragma unroll
  for (int i = 0; i < kPerLane; ++i)
    if (const int32_t expert = i * kLanes + lane; expert < task.experts)
      out.scores[token * out.scoreStride + expert] = task.router == Router::topkSoftmax ? 0.0f : scores[i];

  unsigned taken = 0;  // bit i is set once this lane's i-th expert is chosen
  Candidate mine{0.0f, 0.0f, -1};
  float sum = 0.0f;
  for (int j = 0; j < task.topK; ++j) {
    Candidate best{0.0f, 0.0f, -1};
#pragma unroll
    for (int i = 0; i < kPerLane; ++i) {
      const int32_t expert = i * kLanes + lane;
      const Candidate candidate{scores[i] + shifts[i], scores[i], expert};
      if (expert < task.experts && (taken >> i & 1) == 0 && candidate.beats(best)) best = candidate;
    }
    best = bestOfWarp(best);
    if (best.expert % kLanes == lane) taken |= 1u << best.expert / kLanes;
    if (j == lane) mine = best;
    sum += best.score;
  }
  writeChoice(task, token, lane, mine, sum, out);
}

/// Turns gate gradients into logits' gradients. Each warp handles one token, and each of its first top_k lanes one
/// choice.
__global__ void __launch_bounds__(kRowThreads)
    routeBackwardKernel(RouterTask task, Numbers gateGradients, const int32_t* ids, const float* scores,
                        int64_t scoreStride, float* gradients, int64_t gradientStride) {
  const int lane = threadIdx.x % kLanes;
  const int64_t token = static_cast<int64_t>(blockIdx.x) * kRowWarps + threadIdx.x / kLanes;
  if (token >= task.tokens) return;
  const float* row = scores + token * scoreStride;
  float* gradient = gradients + token * gradientStride;
  const bool valid = lane < task.topK;
  const int64_t slot = token * task.topK + lane;
  const int32_t expert = valid ? ids[slot] : 0;
  const float score = valid ? row[expert] : 0.0f;
  float upstream = valid ? gateGradients.load(slot) : 0.0f;
  if (task.renormalize) {
    const float sum = warpSum(score), along = warpSum(upstream * score);
    upstream = (upstream - along / sum) / sum;
  }
  // Lanes without a choice have a score of 0 and add nothing.
  const float along = warpSum(upstream * score);
  // In softmaxTopk every logit is part of the sum by which the chosen scores are divided.
  const bool softmax = task.router == Router::softmaxTopk;
  for (int32_t e = lane; e < task.experts; e += kLanes) gradient[e] = softmax ? -along * row[e] : 0.0f;
  __syncwarp();  // the chosen experts' gradients are written over the ones above
  if (!valid) return;
  if (task.router == Router::sigmoid) {
    gradient[expert] = upstream * score * (1.0f - score);
  } else {
    gradient[expert] = softmax ? -along * score + upstream * score : score * (upstream - along);
  }
}

const BoundOperand& idsOf(const BoundStep& step, const std::vector<BoundOperand>& operands) {
  const BoundOperand* ids = indexOf(operands, Meaning::expertOfSlot);
  if (ids == nullptr || ids->buffer->dtype != DType::int32) refuseStep(step, "has no int32 expert ids");
  return *ids;
}

/// The operand's numbers; refuses any dtype but fp32.
float* floats(const BoundStep& step, const BoundOperand& operand) {
  if (operand.buffer->dtype != DType::fp32) refuseStep(step, "has router numbers that are not fp32");
  return reinterpret_cast<float*>(operand.data);
}

unsigned blocksFor(const RouterTask& task) { return static_cast<unsigned>((task.tokens + kRowWarps - 1) / kRowWarps); }

void launchRoute(const BoundStep& step, PlanRun& run) {
  const RouterTask task = taskOf(step);
  const BoundOperand &logits = step.data(0), &scores = step.out(0), &gates = step.out(1);
  if (gates.buffer->layout != Layout::slots) refuseStep(step, "writes gates that are not of slots");
  const float* bias = step.dataCount() > 1 ? floats(step, step.data(1)) : nullptr;
  const Routed out{floats(step, scores),
                   scores.rowStride,
                   reinterpret_cast<int32_t*>(idsOf(step, step.writes).data),
                   {gates.data, gates.buffer->dtype}};
  const auto launch = [&](auto kernel) {
    kernel<<<blocksFor(task), kRowThreads, 0, run.context.stream()>>>(task, floats(step, logits), logits.rowStride,
                                                                      bias, out);
    MOEBLAZE_CUDA_CHECK(cudaGetLastError());
  };
  if (task.experts <= kLanes) return launch(routeKernel<1>);
  if (task.experts <= 2 * kLanes) return launch(routeKernel<2>);
  if (task.experts <= 4 * kLanes) return launch(routeKernel<4>);
  if (task.experts <= 8 * kLanes) return launch(routeKernel<8>);
  if (task.experts <= 16 * kLanes) return launch(routeKernel<16>);
  launch(routeKernel<32>);
}

void launchRouteBackward(const BoundStep& step, PlanRun& run) {
  const RouterTask task = taskOf(step);
  const BoundOperand &gateGradients = step.data(0), &scores = step.data(2), &out = step.out(0);
  if (gateGradients.buffer->layout != Layout::slots) refuseStep(step, "reads gate gradients that are not of slots");
  routeBackwardKernel<<<blocksFor(task), kRowThreads, 0, run.context.stream()>>>(
      task, {gateGradients.data, gateGradients.buffer->dtype},
      reinterpret_cast<const int32_t*>(idsOf(step, step.reads).data), floats(step, scores), scores.rowStride,
      floats(step, out), out.rowStride);
  MOEBLAZE_CUDA_CHECK(cudaGetLastError());
}

}  // namespace

namespace ops {
const CudaOp route{launchRoute};
const CudaOp routeBackward{launchRouteBackward};
}  // namespace ops

}  // namespace moeblaze::cuda
