// The router: which experts a token goes to, and by what gate; a warp a token. Sums run in one order, so that repeats
// give the same bits.
#include <cfloat>

#include "kernels/cuda/base/check.h"
#include "kernels/cuda/rows/row_address.cuh"
#include "kernels/cuda/run/ops.h"

namespace moeblaze::cuda {
namespace {

constexpr unsigned kAll = 0xffffffffu;
constexpr int64_t kMostExperts = 1024;

__device__ float warpMax(float value) {
#pragma unroll
  for (int step = kLanes / 2; step > 0; step /= 2) value = fmaxf(value, __shfl_xor_sync(kAll, value, step));
  return value;
}

/// What a router is asked for.
struct Routing {
  int64_t tokens;
  int32_t experts, topK;
  Router router;
  bool renormalize;
};

Routing routingOf(const BoundStep& step) {
  const MoeConfig& c = step.plan.config;
  if (c.experts > kMostExperts || c.topK > kLanes) refuseStep(step, "has more experts or choices than routers here");
  return {c.tokens, static_cast<int32_t>(c.experts), static_cast<int32_t>(c.topK), c.router,
          c.renormalize && c.router != Router::topkSoftmax};
}

/// An expert that may be chosen: by `rank`, and of ties the lower id.
struct Candidate {
  float rank, score;
  int32_t expert = -1;
  __device__ bool beats(const Candidate& other) const {
    if (expert < 0 || other.expert < 0) return expert >= 0;
    return rank > other.rank || (rank == other.rank && expert < other.expert);
  }
};

/// The warp's best candidate, the same in every lane whatever the numbers are.
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

/// Logits to scores, kPerLane experts a lane: expert i·32 + lane is its i-th. Those past the last are left alone.
template <int kPerLane>
__device__ void scoreExperts(const Routing& routing, int lane, float (&values)[kPerLane]) {
  if (routing.router == Router::topkSoftmax) return;
  if (routing.router == Router::sigmoid) {
#pragma unroll
    for (float& value : values) value = 1.0f / (1.0f + expf(-value));
    return;
  }
  float most = -FLT_MAX;
#pragma unroll
  for (int i = 0; i < kPerLane; ++i)
    if (i * kLanes + lane < routing.experts) most = fmaxf(most, values[i]);
  most = warpMax(most);
  float sum = 0.0f;
#pragma unroll
  for (int i = 0; i < kPerLane; ++i) {
    values[i] = i * kLanes + lane < routing.experts ? expf(values[i] - most) : 0.0f;
    sum += values[i];
  }
  sum = warpSum(sum);
#pragma unroll
  for (float& value : values) value /= sum;
}

/// What routing writes.
struct Routed {
  float* scores;
  int64_t scoreStride;
  int32_t* ids;
  Numbers gates;
};

/// Writes what `chosen`, the lane's own choice of rank `lane`, comes to.
__device__ void writeChoice(const Routing& routing, int64_t token, int lane, const Candidate& chosen, float sum,
                            const Routed& out) {
  float score = chosen.score;
  if (routing.router == Router::topkSoftmax) {
    const bool valid = lane < routing.topK;
    const float most = warpMax(valid ? score : -FLT_MAX);
    const float power = valid ? expf(score - most) : 0.0f;
    score = power / warpSum(power);
    __syncwarp();  // the row's zeros come first
    if (valid) out.scores[token * out.scoreStride + chosen.expert] = score;
  }
  if (lane >= routing.topK) return;
  const int64_t slot = token * routing.topK + lane;
  out.ids[slot] = chosen.expert;
  out.gates.store(slot, routing.renormalize ? score * (1.0f / sum) : score);
}

template <int kPerLane>
__global__ void __launch_bounds__(kRowThreads)
    routeKernel(Routing routing, const float* logits, int64_t stride, const float* bias, Routed out) {
  const int lane = threadIdx.x % kLanes;
  const int64_t token = static_cast<int64_t>(blockIdx.x) * kRowWarps + threadIdx.x / kLanes;
  if (token >= routing.tokens) return;
  float scores[kPerLane], shifts[kPerLane];
#pragma unroll
  for (int i = 0; i < kPerLane; ++i) {
    const int32_t expert = i * kLanes + lane;
    scores[i] = expert < routing.experts ? logits[token * stride + expert] : 0.0f;
    shifts[i] = bias != nullptr && expert < routing.experts ? bias[expert] : 0.0f;
  }
  scoreExperts(routing, lane, scores);
#pragma unroll
  for (int i = 0; i < kPerLane; ++i)
    if (const int32_t expert = i * kLanes + lane; expert < routing.experts)
      out.scores[token * out.scoreStride + expert] = routing.router == Router::topkSoftmax ? 0.0f : scores[i];

  unsigned taken = 0;  // of the lane's experts
  Candidate mine{0.0f, 0.0f, -1};
  float sum = 0.0f;
  for (int j = 0; j < routing.topK; ++j) {
    Candidate best{0.0f, 0.0f, -1};
#pragma unroll
    for (int i = 0; i < kPerLane; ++i) {
      const int32_t expert = i * kLanes + lane;
      const Candidate candidate{scores[i] + shifts[i], scores[i], expert};
      if (expert < routing.experts && (taken >> i & 1) == 0 && candidate.beats(best)) best = candidate;
    }
    best = bestOfWarp(best);
    if (best.expert % kLanes == lane) taken |= 1u << best.expert / kLanes;
    if (j == lane) mine = best;
    sum += best.score;
  }
  writeChoice(routing, token, lane, mine, sum, out);
}

/// Gate gradients to logits' gradients, a warp a token and a choice a lane.
__global__ void __launch_bounds__(kRowThreads)
    routeBackwardKernel(Routing routing, Numbers gateGradients, const int32_t* ids, const float* scores,
                        int64_t scoreStride, float* gradients, int64_t gradientStride) {
  const int lane = threadIdx.x % kLanes;
  const int64_t token = static_cast<int64_t>(blockIdx.x) * kRowWarps + threadIdx.x / kLanes;
  if (token >= routing.tokens) return;
  const float* row = scores + token * scoreStride;
  float* gradient = gradients + token * gradientStride;
  const bool valid = lane < routing.topK;
  const int64_t slot = token * routing.topK + lane;
  const int32_t expert = valid ? ids[slot] : 0;
  const float score = valid ? row[expert] : 0.0f;
  float upstream = valid ? gateGradients.load(slot) : 0.0f;
  if (routing.renormalize) {
    const float sum = warpSum(score), along = warpSum(upstream * score);
    upstream = (upstream - along / sum) / sum;
  }
  // Lanes without a choice have a score of 0, and add nothing.
  const float along = warpSum(upstream * score);
  const bool softmax = routing.router == Router::softmaxTopk;  // every logit moves the sum the chosen are divided by
  for (int32_t e = lane; e < routing.experts; e += kLanes) gradient[e] = softmax ? -along * row[e] : 0.0f;
  __syncwarp();  // the chosen are written over
  if (!valid) return;
  if (routing.router == Router::sigmoid) {
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

/// Refuses numbers that are not fp32.
float* floats(const BoundStep& step, const BoundOperand& operand) {
  if (operand.buffer->dtype != DType::fp32) refuseStep(step, "has router numbers that are not fp32");
  return reinterpret_cast<float*>(operand.data);
}

unsigned blocksFor(const Routing& routing) {
  return static_cast<unsigned>((routing.tokens + kRowWarps - 1) / kRowWarps);
}

}  // namespace

void route(const BoundStep& step, Context& context) {
  const Routing routing = routingOf(step);
  const BoundOperand &logits = step.data(0), &scores = step.out(0), &gates = step.out(1);
  if (gates.buffer->layout != Layout::slots) refuseStep(step, "writes gates that are not of slots");
  const float* bias = step.dataCount() > 1 ? floats(step, step.data(1)) : nullptr;
  const Routed out{floats(step, scores),
                   scores.rowStride,
                   reinterpret_cast<int32_t*>(idsOf(step, step.writes).data),
                   {gates.data, gates.buffer->dtype}};
  const auto launch = [&](auto kernel) {
    kernel<<<blocksFor(routing), kRowThreads, 0, context.stream()>>>(routing, floats(step, logits), logits.rowStride,
                                                                     bias, out);
    MOEBLAZE_CUDA_CHECK(cudaGetLastError());
  };
  if (routing.experts <= kLanes) return launch(routeKernel<1>);
  if (routing.experts <= 2 * kLanes) return launch(routeKernel<2>);
  if (routing.experts <= 4 * kLanes) return launch(routeKernel<4>);
  if (routing.experts <= 8 * kLanes) return launch(routeKernel<8>);
  if (routing.experts <= 16 * kLanes) return launch(routeKernel<16>);
  launch(routeKernel<32>);
}

void routeBackward(const BoundStep& step, Context& context) {
  const Routing routing = routingOf(step);
  const BoundOperand &gateGradients = step.data(0), &scores = step.data(2), &out = step.out(0);
  if (gateGradients.buffer->layout != Layout::slots) refuseStep(step, "reads gate gradients that are not of slots");
  routeBackwardKernel<<<blocksFor(routing), kRowThreads, 0, context.stream()>>>(
      routing, {gateGradients.data, gateGradients.buffer->dtype},
      reinterpret_cast<const int32_t*>(idsOf(step, step.reads).data), floats(step, scores), scores.rowStride,
      floats(step, out), out.rowStride);
  MOEBLAZE_CUDA_CHECK(cudaGetLastError());
}

}  // namespace moeblaze::cuda
