/* C interface of the MoE layer on NVIDIA GPUs. It allocates no device memory and waits for no GPU. The caller owns the
 * tensors, what forward leaves for backward, and scratch; every call enqueues kernels on a stream of the caller's.
 *
 *     moeblaze_sizes sizes;
 *     moeblaze_query(&config, &sizes);              device blocks: saved, and scratch for forward and for backward
 *     moeblaze_create(&config, &layer);             on the current device
 *     moeblaze_forward(layer, &inputs, output, saved, workspace, stream);
 *     moeblaze_backward(layer, &inputs, &gradients, saved, workspace, stream);
 *     moeblaze_destroy(layer);
 *
 * The header is C99, and easy to bind by hand: structs hold 64-bit integers, 32-bit integers and pointers only. */
#pragma once

#include <stdint.h>

#define MOEBLAZE_API __attribute__((visibility("default")))

#ifdef __cplusplus
extern "C" {
#endif

/* What every call returns; the numbers are the programs' exit statuses. After any status but MOEBLAZE_OK,
 * moeblaze_last_error says what is wrong. Nothing was enqueued then, except that part of the work may have been with
 * MOEBLAZE_DEVICE. */
typedef enum moeblaze_status {
  MOEBLAZE_OK = 0,
  MOEBLAZE_INTERNAL = 1,    /* a fault of the library */
  MOEBLAZE_WRONG_INPUT = 2, /* the text names the field and what is allowed */
  MOEBLAZE_DEVICE = 3       /* no usable GPU, or CUDA failed */
} moeblaze_status;

/* Element types. Tensors are bf16 or fp16; gates and their gradient may be fp32. */
typedef enum moeblaze_dtype { MOEBLAZE_BF16 = 0, MOEBLAZE_FP16 = 1, MOEBLAZE_FP32 = 2 } moeblaze_dtype;

/* Expert activation. The gated ones (swiglu, geglu) have two first projections and compute act(x W1) * (x W2). */
typedef enum moeblaze_activation {
  MOEBLAZE_RELU = 0,
  MOEBLAZE_SILU = 1,
  MOEBLAZE_GELU = 2, /* by erf, not by tanh */
  MOEBLAZE_SWIGLU = 3,
  MOEBLAZE_GEGLU = 4
} moeblaze_activation;

/* One layer, and the number of tokens that every call brings. Every field must be set. */
typedef struct moeblaze_config {
  int64_t d_model;    /* d: a multiple of 8 */
  int64_t d_ff;       /* h, the hidden width of an expert: a multiple of 8 */
  int64_t experts;    /* E: up to 1024 */
  int64_t top_k;      /* k, experts of each token: 1 to the smaller of E and 64 */
  int64_t tokens;     /* L: at most (2^31 - 1) / top_k */
  int32_t activation; /* a moeblaze_activation */
  int32_t dtype;      /* a moeblaze_dtype: of x, weights, output and their gradients */
  int32_t gate_dtype; /* a moeblaze_dtype: of gates and their gradient */
  const char* system; /* what forward saves: "moeblaze" (or NULL) saves x, A and B; "moeblaze-paper" saves Y as well;
                         "moeblaze-min" saves x alone, and backward computes A and B again */
} moeblaze_config;

/* Bytes of the device blocks that a layer is called with. They depend on the config alone and hold for any routing: the
 * systems allowed here neither pad rows nor drop slots, so that every buffer is as large whichever experts the tokens
 * go to. A layer is planned without knowing topk_ids, and refuses to be made if its plan depended on them. */
typedef struct moeblaze_sizes {
  int64_t saved;              /* what forward leaves for backward, beside x, topk_ids and gates */
  int64_t forward_workspace;  /* scratch during forward */
  int64_t backward_workspace; /* scratch during backward */
} moeblaze_sizes;

/* What a layer reads: device pointers, contiguous and row-major, 16-byte aligned. Backward is given the same values
 * again; it does not read topk_ids, which may be NULL there. */
typedef struct moeblaze_inputs {
  const void* x;           /* [L, d] */
  const int32_t* topk_ids; /* [L, k]; each in [0, E), distinct within a token. Not checked: they are on the device */
  const void* gates;       /* [L, k] of gate_dtype */
  const void* w1;          /* [E, d, h] */
  const void* w2;          /* [E, d, h]; NULL unless the activation is gated */
  const void* w3;          /* [E, h, d] */
} moeblaze_inputs;

/* What backward reads and where it writes: device pointers as above. Gradients are overwritten, not added to. */
typedef struct moeblaze_gradients {
  const void* output_gradient; /* [L, d] */
  void* dx;                    /* [L, d]; the experts' part, without the gradient that reaches x through the gates */
  void* dgates;                /* [L, k] of gate_dtype */
  void* dw1;                   /* [E, d, h]; zeros for experts without tokens, as for dw2 and dw3 */
  void* dw2;                   /* [E, d, h]; NULL unless the activation is gated */
  void* dw3;                   /* [E, h, d] */
} moeblaze_gradients;

/* A layer on one device, where it holds no memory. Calls on one layer from several threads take turns. */
typedef struct moeblaze_layer moeblaze_layer;

/* Writes the sizes of a config's blocks; needs no GPU. */
MOEBLAZE_API moeblaze_status moeblaze_query(const moeblaze_config* config, moeblaze_sizes* sizes);

/* Makes a layer on the current device; `*layer` is NULL after a failure. `config` is not needed afterwards. */
MOEBLAZE_API moeblaze_status moeblaze_create(const moeblaze_config* config, moeblaze_layer** layer);

/* Frees a layer; does nothing when it is NULL. Kernels that it enqueued run on. */
MOEBLAZE_API void moeblaze_destroy(moeblaze_layer* layer);

/* Enqueues output [L, d] = sum over a token's experts of gate * expert(x). `saved` and `workspace` are device blocks of
 * at least the sizes queried, 256-byte aligned. `workspace` may be used again once the stream has passed the call;
 * `saved` must stay until backward. `stream` is a cudaStream_t of the layer's device, which must be the current one. */
MOEBLAZE_API moeblaze_status moeblaze_forward(moeblaze_layer* layer, const moeblaze_inputs* inputs, void* output,
                                              void* saved, void* workspace, void* stream);

/* Enqueues the gradients of that output. `saved` must be as forward left it; it is overwritten, so that each
 * forward allows one backward. */
MOEBLAZE_API moeblaze_status moeblaze_backward(moeblaze_layer* layer, const moeblaze_inputs* inputs,
                                               const moeblaze_gradients* gradients, void* saved, void* workspace,
                                               void* stream);

/* One line about this thread's last call that failed; empty before the first failure. The text is valid until the
 * thread's next failure. */
MOEBLAZE_API const char* moeblaze_last_error(void);

#ifdef __cplusplus
}
#endif
