// SPDX-License-Identifier: Apache-2.0
// What the clients share: numbers that are the same in every run, and files of results.
#pragma once

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static inline uint32_t next_random(void) {
  static uint32_t state = 1;
  state = state * 1664525U + 1013904223U;
  return state >> 8;
}

static inline float real(float low, float high) {
  return low + (high - low) * (float)next_random() / 16777216.0F;
}

static inline uint16_t cut_to_bf16(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return (uint16_t)(bits >> 16);
}

// The caller owns it.
static inline void* random_bytes(size_t count) {
  uint8_t* const result = (uint8_t*)malloc(count);
  for (size_t i = 0; i < count; ++i) result[i] = (uint8_t)next_random();
  return result;
}

// Returns what a program does: 0, or 1 after a message.
static inline int write_floats(const char* path, const float* values, size_t count) {
  FILE* const file = fopen(path, "wb");
  if (file != NULL && fwrite(values, sizeof *values, count, file) == count && fclose(file) == 0)
    return 0;
  perror(path);
  return 1;
}
