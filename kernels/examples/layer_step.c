/* One training step of a MoE layer on a GPU through the C interface: forward, backward, and its time. Needs the CUDA
 * runtime and libmoeblaze.so, and nothing else. Exit status 3 says why the step cannot run on this machine. */
#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>

#include "kernels/api/moeblaze.h"

enum { kModel = 1024, kFf = 2048, kExperts = 16, kTopK = 2, kTokens = 8192 };

static void cuda(cudaError_t error) {
  if (error == cudaSuccess) return;
  printf("no step: CUDA says: %s\n", cudaGetErrorString(error));
  exit(MOEBLAZE_DEVICE);
}

static void moeblaze(moeblaze_status status) {
  if (status == MOEBLAZE_OK) return;
  printf("no step: %s\n", moeblaze_last_error());
  exit(status);
}

/* A zeroed device block. A program of your own passes its tensors here instead. */
static void* block(size_t bytes) {
  void* data = NULL;
  cuda(cudaMalloc(&data, bytes));
  cuda(cudaMemset(data, 0, bytes));
  return data;
}

/* A device block of bf16 numbers between -1/8 and 1/8. */
static void* numbers(size_t count) {
  unsigned short* host = malloc(count * sizeof *host);
  void* data = block(count * sizeof *host);
  if (host == NULL) exit(MOEBLAZE_INTERNAL);
  for (size_t i = 0; i < count; ++i) {
    const float value = (float)(rand() % 2001 - 1000) / 8000.0f;
    union {
      float number;
      unsigned int bits;
    } both = {value};
    host[i] = (unsigned short)(both.bits >> 16); /* the upper half of an fp32 number is a bf16 number */
  }
  cuda(cudaMemcpy(data, host, count * sizeof *host, cudaMemcpyHostToDevice));
  free(host);
  return data;
}

int main(void) {
  const moeblaze_config config = {.d_model = kModel,
                                  .d_ff = kFf,
                                  .experts = kExperts,
                                  .top_k = kTopK,
                                  .tokens = kTokens,
                                  .activation = MOEBLAZE_SWIGLU,
                                  .dtype = MOEBLAZE_BF16,
                                  .gate_dtype = MOEBLAZE_FP32,
                                  .system = "moeblaze"};
  moeblaze_sizes sizes;
  moeblaze_layer* layer = NULL;
  moeblaze(moeblaze_query(&config, &sizes));
  moeblaze(moeblaze_create(&config, &layer));

  /* Token t goes to experts t and t + 1, with a gate of 1/2 each. */
  static int32_t ids[kTokens * kTopK];
  static float gates[kTokens * kTopK];
  for (int slot = 0; slot < kTokens * kTopK; ++slot) {
    ids[slot] = (slot / kTopK + slot % kTopK) % kExperts;
    gates[slot] = 0.5f;
  }
  int32_t* device_ids = block(sizeof ids);
  float* device_gates = block(sizeof gates);
  cuda(cudaMemcpy(device_ids, ids, sizeof ids, cudaMemcpyHostToDevice));
  cuda(cudaMemcpy(device_gates, gates, sizeof gates, cudaMemcpyHostToDevice));

  const size_t tokens = (size_t)kTokens * kModel, weights = (size_t)kExperts * kModel * kFf, bf16 = 2;
  const moeblaze_inputs inputs = {numbers(tokens),  device_ids,       device_gates,
                                  numbers(weights), numbers(weights), numbers(weights)};
  const moeblaze_gradients gradients = {numbers(tokens),       block(bf16 * tokens),  block(sizeof gates),
                                        block(bf16 * weights), block(bf16 * weights), block(bf16 * weights)};
  void* output = block(bf16 * tokens);
  void* saved = block((size_t)sizes.saved);
  const int64_t scratch =
      sizes.forward_workspace > sizes.backward_workspace ? sizes.forward_workspace : sizes.backward_workspace;
  void* workspace = block((size_t)scratch);

  cudaEvent_t start, stop;
  cuda(cudaEventCreate(&start));
  cuda(cudaEventCreate(&stop));
  float ms = 0;
  for (int run = 0; run < 2; ++run) { /* the first run also loads the kernels */
    cuda(cudaEventRecord(start, NULL));
    moeblaze(moeblaze_forward(layer, &inputs, output, saved, workspace, NULL));
    moeblaze(moeblaze_backward(layer, &inputs, &gradients, saved, workspace, NULL));
    cuda(cudaEventRecord(stop, NULL));
    cuda(cudaEventSynchronize(stop));
    cuda(cudaEventElapsedTime(&ms, start, stop));
  }
  printf("forward and backward of %d tokens: %.3f ms, %.1f MiB saved in between\n", kTokens, ms,
         (double)sizes.saved / (1 << 20));
  moeblaze_destroy(layer);
  return 0; /* the process's end frees the device's memory */
}
