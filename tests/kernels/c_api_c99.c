/* The header as C99 sees it. */
#include <stddef.h>

#include "kernels/api/moeblaze.h"

/* Calls everything that needs no GPU; 0 when all went as it should, else the number of the call that did not. */
int moeblazeFromC99(void) {
  moeblaze_config config = {.d_model = 64,
                            .d_ff = 128,
                            .experts = 8,
                            .top_k = 2,
                            .tokens = 100,
                            .activation = MOEBLAZE_SWIGLU,
                            .dtype = MOEBLAZE_BF16,
                            .gate_dtype = MOEBLAZE_FP32,
                            .system = "moeblaze"};
  moeblaze_sizes sizes = {0, 0, 0};
  moeblaze_layer* layer = NULL;
  moeblaze_inputs inputs = {NULL, NULL, NULL, NULL, NULL, NULL};
  moeblaze_gradients gradients = {NULL, NULL, NULL, NULL, NULL, NULL};
  if (moeblaze_query(&config, &sizes) != MOEBLAZE_OK) return 1;
  if (sizes.saved <= 0 || sizes.forward_workspace <= 0 || sizes.backward_workspace <= 0) return 2;
  config.top_k = 9;
  if (moeblaze_create(&config, &layer) != MOEBLAZE_WRONG_INPUT || layer != NULL) return 3;
  if (moeblaze_last_error()[0] == '\0') return 4;
  if (moeblaze_forward(layer, &inputs, NULL, NULL, NULL, NULL) != MOEBLAZE_WRONG_INPUT) return 5;
  if (moeblaze_backward(layer, &inputs, &gradients, NULL, NULL, NULL) != MOEBLAZE_WRONG_INPUT) return 6;
  moeblaze_destroy(layer);
  return 0;
}
