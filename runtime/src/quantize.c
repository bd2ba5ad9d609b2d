/* Many values with one scale and one zero point, step by step as packers of activations quantize a
 * row: one rounding each, of which compilers may not make fewer. */
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#elif defined(__GNUC__)
#pragma GCC optimize("fp-contract=off")
#endif

#include <float.h>
#include <math.h>

#include "internal.h"

enum { CHUNK = 256 }; /* values that are read together */

/* Values [at, at + count) as f32. */
static void read_values(tw_type type, const void* values, size_t at, size_t count, float* to) {
  const char* from = (const char*)values + at * tw_type_bytes(type);
  if (type == TW_F32) {
    memcpy(to, from, count * sizeof *to);
    return;
  }
  for (size_t i = 0; i < count; ++i) {
    const uint16_t bits = tw_load_u16(from + 2 * i);
    to[i] = type == TW_F16 ? tw_f32_of_f16(bits) : tw_f32_of_bf16(bits);
  }
}

static size_t chunk_at(size_t at, size_t count) {
  return count - at < CHUNK ? count - at : CHUNK;
}

static tw_status check_values(const char* who, tw_type type, const void* values, size_t count) {
  if (type != TW_F32 && type != TW_F16 && type != TW_BF16) {
    return tw_fail(TW_INVALID, "%s: type is %d; f32, f16 and bf16 are legal", who, (int)type);
  }
  if (values == NULL && count != 0) return tw_fail(TW_INVALID, "%s: values is null", who);
  return TW_OK;
}

/* Integers in the order of the floats, infinities and NaNs outermost: compilers make vectors of a
 * loop that compares those. */
static int32_t in_order(int32_t bits) {
  return bits < 0 ? bits ^ INT32_MAX : bits;
}

tw_status tw_find_range(tw_type type, const void* values, size_t count, float* lowest,
                        float* highest) {
  const tw_status status = check_values("tw_find_range", type, values, count);
  if (status != TW_OK) return status;
  if (lowest == NULL || highest == NULL) {
    return tw_fail(TW_INVALID, "tw_find_range: %s is null", lowest == NULL ? "lowest" : "highest");
  }
  int32_t least = 0, most = 0;
  float chunk[CHUNK];
  for (size_t at = 0; at < count; at += CHUNK) {
    const size_t some = chunk_at(at, count);
    read_values(type, values, at, some, chunk);
    for (size_t i = 0; i < some; ++i) {
      const int32_t x = in_order(tw_bits_of_f32(chunk[i]));
      least = x < least ? x : least;
      most = x > most ? x : most;
    }
  }
  const int32_t infinite = 0x7f800000;
  const bool finite = most < infinite && least > in_order((int32_t)(INT32_MIN | infinite));
  *lowest = finite ? tw_f32_of_bits(in_order(least)) : -INFINITY;
  *highest = finite ? tw_f32_of_bits(most) : INFINITY;
  return TW_OK;
}

/* Codes a value. Ranges that a float cannot hold are taken by halves; where the inverse is more
 * than a float can hold, the largest one is near enough to make codes of denormals. */
static float factor_of(float lowest, float highest) {
  const float range = highest - lowest;
  if (range == 0) return 1;
  const float factor = range <= FLT_MAX ? 255 / range : 127.5F / (0.5F * highest - 0.5F * lowest);
  return factor <= FLT_MAX ? factor : FLT_MAX;
}

/* The end of the range that is further from 0 is a code. */
static float zero_point_of(float low, float high) {
  const float zero_point = (-128 + low) + (127 + high) > 0 ? -128 - low : 127 - high;
  return zero_point < -128 ? -128 : zero_point > 127 ? 127 : zero_point;
}

static const float integers = 12582912; /* 1.5 * 2^23: a sum's low bits are an integer */

static int32_t rounded(float x) {
  return tw_bits_of_f32(x + integers) - tw_bits_of_f32(integers);
}

static void write_codes(const float* values, size_t count, float factor, int32_t zero_point,
                        int8_t* codes) {
  const float low = (float)(-128 - zero_point), high = (float)(127 - zero_point);
  for (size_t i = 0; i < count; ++i) {
    const float x = values[i] * factor;
    const float raised = x > low ? x : low;
    codes[i] = (int8_t)(rounded(raised < high ? raised : high) + zero_point);
  }
}

tw_status tw_quantize(tw_type type, const void* values, size_t count, float lowest, float highest,
                      int8_t* codes, float* scale, int32_t* zero_point) {
  const tw_status status = check_values("tw_quantize", type, values, count);
  if (status != TW_OK) return status;
  if (scale == NULL || zero_point == NULL || (codes == NULL && count != 0)) {
    return tw_fail(TW_INVALID, "tw_quantize: %s is null",
                   scale == NULL        ? "scale"
                   : zero_point == NULL ? "zero_point"
                                        : "codes");
  }
  if (!(lowest <= 0 && highest >= 0)) {
    return tw_fail(TW_INVALID,
                   "tw_quantize: lowest is %g, highest is %g; ranges that include 0 are legal",
                   (double)lowest, (double)highest);
  }
  if (isinf(lowest) || isinf(highest)) {
    if (count != 0) memset(codes, 0, count);
    *zero_point = 0;
    *scale = NAN;
    return TW_OK;
  }
  const float factor = factor_of(lowest, highest);
  *zero_point = rounded(zero_point_of(lowest * factor, highest * factor));
  *scale = 1 / factor;
  float chunk[CHUNK];
  for (size_t at = 0; at < count; at += CHUNK) {
    const size_t some = chunk_at(at, count);
    read_values(type, values, at, some, chunk);
    write_codes(chunk, some, factor, *zero_point, codes + at);
  }
  return TW_OK;
}
