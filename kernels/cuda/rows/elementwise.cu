// Elementwise Steps: those that frameworks launch one by one for each node of their graph, and those that fuse the
// activation with the gate and with B.
#include <utility>

#include "kernels/cuda/base/activation.cuh"
#include "kernels/cuda/base/check.h"
#include "kernels/cuda/rows/row_address.cuh"
#include "kernels/cuda/run/ops.h"

namespace moeblaze::cuda {
namespace {

/// Vectors of each operand that a lane loads before it computes, in fused Steps.
constexpr int kFusedWide = 2;
/// Numbers that each thread casts.
constexpr int kCasts = 4;

template <typename T, int kCount>
struct Operands {
  Rows<T> rows[kCount];
};

// What each Step does to one element. `in` and `out` are in the Plan's order.

template <Activation kActivation>
struct Activate {
  static constexpr int kInputs = 1, kOutputs = 1;
  __device__ static void apply(const float (&in)[1], float (&out)[1]) { out[0] = activate<kActivation>(in[0]); }
};

template <Activation kActivation>
struct ActivateBackward {
  static constexpr int kInputs = 2, kOutputs = 1;
  __device__ static void apply(const float (&in)[2], float (&out)[1]) {
    out[0] = in[0] * activateBoth<kActivation>(in[1]).derivative;
  }
};

struct Multiply {
  static constexpr int kInputs = 2, kOutputs = 1;
  __device__ static void apply(const float (&in)[2], float (&out)[1]) { out[0] = in[0] * in[1]; }
};

struct MultiplyBackward {
  static constexpr int kInputs = 3, kOutputs = 2;
  __device__ static void apply(const float (&in)[3], float (&out)[2]) {
    out[0] = in[0] * in[1];
    out[1] = in[0] * in[2];
  }
};

struct Add {
  static constexpr int kInputs = 2, kOutputs = 1;
  __device__ static void apply(const float (&in)[2], float (&out)[1]) { out[0] = in[0] + in[1]; }
};

/// Vectors of each operand that a lane loads before it computes: about eight loads are in flight in all.
template <typename F>
constexpr int kWideOf = F::kInputs < 3 ? 4 : 2;

/// Each warp handles one part of one row. Writing in place is safe, because a lane has read all that it writes before
/// it writes.
template <typename T, typename F>
__global__ void __launch_bounds__(kRowThreads)
    mapKernel(RowParts parts, Operands<const T, F::kInputs> in, Operands<T, F::kOutputs> out) {
  constexpr int kWide = kWideOf<F>;
  const RowPart part = parts.mine(kWide);
  if (part.item >= parts.items) return;
  uint4 bits[F::kInputs][kWide];
#pragma unroll
  for (int w = 0; w < kWide; ++w) {
    const int64_t v = part.vector + w * kLanes;
    if (v >= parts.vectors) continue;
#pragma unroll
    for (int i = 0; i < F::kInputs; ++i)
      bits[i][w] = reinterpret_cast<const uint4*>(in.rows[i].data + part.item * in.rows[i].stride)[v];
  }
#pragma unroll
  for (int w = 0; w < kWide; ++w) {
    const int64_t v = part.vector + w * kLanes;
    if (v >= parts.vectors) continue;
    Vector<T> inputs[F::kInputs], outputs[F::kOutputs];
#pragma unroll
    for (int i = 0; i < F::kInputs; ++i) inputs[i] = fromBits<T>(bits[i][w]);
#pragma unroll
    for (int c = 0; c < kVector; ++c) {
      float from[F::kInputs], to[F::kOutputs];
#pragma unroll
      for (int i = 0; i < F::kInputs; ++i) from[i] = inputs[i].values[c];
      F::apply(from, to);
#pragma unroll
      for (int i = 0; i < F::kOutputs; ++i) outputs[i].values[c] = to[i];
    }
#pragma unroll
    for (int i = 0; i < F::kOutputs; ++i)
      reinterpret_cast<uint4*>(out.rows[i].data + part.item * out.rows[i].stride)[v] = toBits(outputs[i]);
  }
}

/// Runs F over the Step's first data operands. Matrices without gaps between their rows are treated as one long row.
template <typename T, typename F>
void launchMap(const BoundStep& step, cudaStream_t stream) {
  Operands<const T, F::kInputs> in;
  Operands<T, F::kOutputs> out;
  int64_t rows = step.out(0).rows(), columns = step.out(0).columns();
  bool dense = true;
  const auto take = [&](auto& to, const BoundOperand& operand) {
    assert(operand.rows() == rows && operand.columns() == columns && sizeOf(operand.buffer->dtype) == sizeof(T));
    to = {reinterpret_cast<decltype(to.data)>(operand.data), operand.rowStride};
    dense = dense && operand.rowStride == columns;
  };
  for (int i = 0; i < F::kInputs; ++i) take(in.rows[i], step.data(i));
  for (int i = 0; i < F::kOutputs; ++i) take(out.rows[i], step.out(i));
  if (rows == 0) return;
  if (dense) columns *= std::exchange(rows, 1);
  const RowParts parts(rows, columns, kWideOf<F>);
  mapKernel<T, F><<<parts.blocks, kRowThreads, 0, stream>>>(parts, in, out);
  MOEBLAZE_CUDA_CHECK(cudaGetLastError());
}

/// The same as isGated, as a constant: device code may not call a host function.
template <Activation kActivation>
constexpr bool kIsGated = isGated(kActivation);

/// The operands of a fused activation, forward or backward. T is the config's element type, P that of the projections.
template <typename T, typename P>
struct Fused {
  RowOperand<const P> a, b;
  RowOperand<const T> upstream;
  RowOperand<T> y, aGradient, bGradient;
  RowNumbers gates, parts;
};

__device__ void loadFloats(const uint4* row, int64_t vector, Bf16, float (&values)[kVector]) {
  const Vector<Bf16> loaded = fromBits<Bf16>(row[vector]);
#pragma unroll
  for (int c = 0; c < kVector; ++c) values[c] = loaded.values[c];
}
__device__ void loadFloats(const uint4* row, int64_t vector, Fp16, float (&values)[kVector]) {
  const Vector<Fp16> loaded = fromBits<Fp16>(row[vector]);
#pragma unroll
  for (int c = 0; c < kVector; ++c) values[c] = loaded.values[c];
}
__device__ void loadFloats(const uint4* row, int64_t vector, float, float (&values)[kVector]) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const float4 loaded = reinterpret_cast<const float4*>(row)[2 * vector + half];
    values[4 * half] = loaded.x, values[4 * half + 1] = loaded.y;
    values[4 * half + 2] = loaded.z, values[4 * half + 3] = loaded.w;
  }
}
/// Loads eight neighbouring numbers of a row: the vector-th group of eight.
template <typename T>
__device__ void loadFloats(const T* row, int64_t vector, float (&values)[kVector]) {
  loadFloats(reinterpret_cast<const uint4*>(row), vector, T{}, values);
}

/// Computes act(A)⊙B times the gate. Each warp handles one row.
template <typename T, typename P, Activation kActivation>
__global__ void __launch_bounds__(kRowThreads) activateKernel(int64_t vectors, RowAddress address, Fused<T, P> fused) {
  const int64_t item = static_cast<int64_t>(blockIdx.x) * kRowWarps + threadIdx.x / kLanes;
  if (item >= address.count) return;
  const RowPlace place = address[item];
  const P *a = fused.a.at(place), *b = kIsGated<kActivation> ? fused.b.at(place) : nullptr;
  T* y = fused.y.at(place);
  const float gate = fused.gates.load(place);
  for (int64_t base = threadIdx.x % kLanes; base < vectors; base += kLanes * kFusedWide) {
    float as[kFusedWide][kVector], bs[kFusedWide][kVector];
#pragma unroll
    for (int w = 0; w < kFusedWide; ++w) {
      const int64_t v = base + w * kLanes;
      if (v >= vectors) continue;
      loadFloats(a, v, as[w]);
      if constexpr (kIsGated<kActivation>) loadFloats(b, v, bs[w]);
    }
#pragma unroll
    for (int w = 0; w < kFusedWide; ++w) {
      const int64_t v = base + w * kLanes;
      if (v >= vectors) continue;
      Vector<T> out;
#pragma unroll
      for (int c = 0; c < kVector; ++c) {
        const float s = activate<kActivation>(as[w][c]);
        out.values[c] = (kIsGated<kActivation> ? s * bs[w][c] : s) * gate;
      }
      out.store(y + v * kVector);
    }
  }
}

/// Computes the gradients of A and B from Y's and, if the Step writes parts, the gate's gradient. Each warp handles one
/// row. Writing in place is safe, because a lane has read all that it writes before it writes.
template <typename T, typename P, Activation kActivation>
__global__ void __launch_bounds__(kRowThreads)
    activateBackwardKernel(int64_t vectors, RowAddress address, Fused<T, P> fused) {
  constexpr bool kGated = kIsGated<kActivation>;
  const int64_t item = static_cast<int64_t>(blockIdx.x) * kRowWarps + threadIdx.x / kLanes;
  if (item >= address.count) return;
  const RowPlace place = address[item];
  const P *a = fused.a.at(place), *b = kGated ? fused.b.at(place) : nullptr;
  const T* upstream = fused.upstream.at(place);
  T *aGradient = fused.aGradient.at(place), *bGradient = kGated ? fused.bGradient.at(place) : nullptr;
  const float gate = fused.gates.load(place);
  float sum = 0.0f;
  for (int64_t base = threadIdx.x % kLanes; base < vectors; base += kLanes * kFusedWide) {
    float as[kFusedWide][kVector], bs[kFusedWide][kVector], gradients[kFusedWide][kVector];
#pragma unroll
    for (int w = 0; w < kFusedWide; ++w) {
      const int64_t v = base + w * kLanes;
      if (v >= vectors) continue;
      loadFloats(upstream, v, gradients[w]);
      loadFloats(a, v, as[w]);
      if constexpr (kGated) loadFloats(b, v, bs[w]);
    }
#pragma unroll
    for (int w = 0; w < kFusedWide; ++w) {
      const int64_t v = base + w * kLanes;
      if (v >= vectors) continue;
      Vector<T> ofA, ofB;
#pragma unroll
      for (int c = 0; c < kVector; ++c) {
        const Activated s = activateBoth<kActivation>(as[w][c]);
        const float other = kGated ? bs[w][c] : 1.0f, gradient = gradients[w][c] * gate;
        sum += gradients[w][c] * (s.value * other);
        ofA.values[c] = gradient * other * s.derivative;
        ofB.values[c] = gradient * s.value;
      }
      ofA.store(aGradient + v * kVector);
      if constexpr (kGated) ofB.store(bGradient + v * kVector);
    }
  }
  if (!fused.parts.given()) return;
  sum = warpSum(sum);
  if (threadIdx.x % kLanes == 0) fused.parts.store(place, sum);
}

/// Binds A and, when gated, B, which are two operands or the left and right halves of one.
template <typename P>
void bindProjections(const BoundStep& step, const BoundOperand* a, const BoundOperand* b, RowOperand<P>& ofA,
                     RowOperand<P>& ofB) {
  ofA = RowOperand<P>(step, *a);
  if (!isGated(step.plan.config.activation)) return;
  ofB = b != nullptr ? RowOperand<P>(step, *b) : ofA;
  if (b == nullptr) ofB.data += a->columns() / 2;
}

template <typename T, typename P>
void launchFused(const BoundStep& step, cudaStream_t stream) {
  const bool backward = step.step.op == Op::fusedActivationBackward;
  const BoundOperand *a = step.read(Use::a), *b = step.read(Use::b);
  const Activation activation = step.plan.config.activation;
  const RowAddress address(step);
  Fused<T, P> fused;
  bindProjections(step, a, b, fused.a, fused.b);
  fused.gates = RowNumbers(step, step.read(Use::gates));
  if (backward) {
    fused.upstream = RowOperand<const T>(step, step.data(0));
    bindProjections(step, step.written(Use::a), step.written(Use::b), fused.aGradient, fused.bGradient);
    fused.parts = RowNumbers(step, step.written(Use::parts));
  } else {
    fused.y = RowOperand<T>(step, *step.written(Use::y));
  }
  if (address.count == 0) return;
  const int64_t width = isGated(activation) && b == nullptr ? a->columns() / 2 : a->columns();
  const auto blocks = static_cast<unsigned>((address.count + kRowWarps - 1) / kRowWarps);
  withActivation(activation, [&]<Activation kActivation>() {
    const auto kernel = backward ? activateBackwardKernel<T, P, kActivation> : activateKernel<T, P, kActivation>;
    kernel<<<blocks, kRowThreads, 0, stream>>>(width / kVector, address, fused);
    MOEBLAZE_CUDA_CHECK(cudaGetLastError());
  });
}

__global__ void __launch_bounds__(kRowThreads) castKernel(int64_t count, Numbers from, Numbers to) {
  const int64_t first = static_cast<int64_t>(blockIdx.x) * kRowThreads * kCasts + threadIdx.x;
  float values[kCasts];
#pragma unroll
  for (int i = 0; i < kCasts; ++i)
    if (const int64_t at = first + i * kRowThreads; at < count) values[i] = from.load(at);
#pragma unroll
  for (int i = 0; i < kCasts; ++i)
    if (const int64_t at = first + i * kRowThreads; at < count) to.store(at, values[i]);
}

void launchCast(const BoundStep& step, PlanRun& run) {
  const BoundOperand &from = step.data(0), &to = step.out(0);
  if (from.rowStride != from.columns() || to.rowStride != to.columns()) refuseStep(step, "casts part of a matrix");
  const int64_t count = to.buffer->shape.count(), perBlock = int64_t{kRowThreads} * kCasts;
  if (count == 0) return;
  castKernel<<<static_cast<unsigned>((count + perBlock - 1) / perBlock), kRowThreads, 0, run.context.stream()>>>(
      count, {from.data, from.buffer->dtype}, {to.data, to.buffer->dtype});
  MOEBLAZE_CUDA_CHECK(cudaGetLastError());
}

/// Fills with zeros.
void launchFill(const BoundStep& step, PlanRun& run) {
  const BoundOperand& out = step.out(0);
  const cudaStream_t stream = run.context.stream();
  const auto size = static_cast<size_t>(sizeOf(out.buffer->dtype));
  const auto rows = static_cast<size_t>(out.rows()), columns = static_cast<size_t>(out.columns());
  if (out.rowStride == out.columns()) {
    MOEBLAZE_CUDA_CHECK(cudaMemsetAsync(out.data, 0, rows * columns * size, stream));
  } else {
    MOEBLAZE_CUDA_CHECK(cudaMemset2DAsync(out.data, out.rowStride * size, 0, columns * size, rows, stream));
  }
}

/// Launches F for the config's element type.
template <typename F>
void mapElements(const BoundStep& step, PlanRun& run) {
  withElement(step.plan.config.dtype,
              [&](auto element) { launchMap<decltype(element), F>(step, run.context.stream()); });
}

/// Launches F for the config's activation and element type.
template <template <Activation> class F>
void mapActivation(const BoundStep& step, PlanRun& run) {
  withActivation(step.plan.config.activation, [&]<Activation kAct>() { mapElements<F<kAct>>(step, run); });
}

void launchFusedActivation(const BoundStep& step, PlanRun& run) {
  withElement(step.plan.config.dtype, [&](auto element) {
    using T = decltype(element);
    if (step.read(Use::a)->buffer->dtype == DType::fp32) return launchFused<T, float>(step, run.context.stream());
    launchFused<T, T>(step, run.context.stream());
  });
}

const char* whyNotFusedActivation(const BoundStep& step, bool) {
  return isGated(step.plan.config.activation) && step.read(Use::b) == nullptr ? "W1 and W2 are one tensor" : nullptr;
}

}  // namespace

namespace ops {
const CudaOp activation{mapActivation<Activate>};
const CudaOp activationBackward{mapActivation<ActivateBackward>};
const CudaOp multiply{mapElements<Multiply>};
const CudaOp multiplyBackward{mapElements<MultiplyBackward>};
const CudaOp add{mapElements<Add>};
const CudaOp fusedActivation{launchFusedActivation, whyNotFusedActivation};
const CudaOp fusedActivationBackward{launchFusedActivation, whyNotFusedActivation};
const CudaOp cast{launchCast};
const CudaOp fill{launchFill};
}  // namespace ops

}  // namespace moeblaze::cuda
