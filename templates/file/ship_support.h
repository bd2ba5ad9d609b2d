// What the tests of all kinds of kernels need.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tilewright/registry.h"
#include "tilewright/tilewright.h"

static inline void check(tw_status status) {
  if (status == TW_OK) return;
  fprintf(stderr, "tilewright_test: %s\n", tw_error_message());
  exit(1);
}

static inline void *allocate(size_t bytes) {
  void *memory = malloc(bytes > 0 ? bytes : 1);
  if (memory == NULL) exit(1);
  return memory;
}

static inline unsigned random_bits(void) {
  static uint64_t state = 88172645463325252u;
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (unsigned)(state >> 33);
}

static inline size_t type_bytes(tw_type type) {
  return type == TW_F32 || type == TW_S32 ? 4 : type == TW_S8 ? 1 : 2;
}

/* Of an array of values of that type. */
static inline double value_at(tw_type type, const unsigned char *values, size_t index) {
  float value;
  int32_t whole;
  if (type == TW_S8) return (double)(int8_t)values[index];
  if (type == TW_F16) return (double)tw_f32_of_f16(tw_load_u16(values + 2 * index));
  if (type == TW_BF16) return (double)tw_f32_of_bf16(tw_load_u16(values + 2 * index));
  memcpy(&value, values + sizeof value * index, sizeof value);
  memcpy(&whole, values + sizeof whole * index, sizeof whole);
  return type == TW_S32 ? (double)whole : (double)value;
}

/* Of a row that does not run here. */
static inline const char *why_not(const tw_kernel *row) {
  return row->run == NULL ? "not built:" : "not on this CPU:";
}
