/* Random weights as a model file would have them, and what they mean. In an engine, a file that is
 * mapped into memory takes this place. */
#ifndef WEIGHTS_H
#define WEIGHTS_H

#include <tilewright/tilewright.h>

/* How weights lie in memory: so many values in so many bytes. */
typedef struct format {
  tw_rhs_order order;
  size_t values, bytes;
  void (*make)(unsigned char *block, size_t bytes);           /* writes random ones */
  void (*decode)(const unsigned char *block, float *decoded); /* codes, where scales are beside */
  int has_scales;      /* beside the weights: of each block of the layer, else of each output */
  int has_zero_points; /* likewise */
} format;

typedef struct layer {
  const char *name;
  const char *family; /* of kernels: what is multiplied with what */
  size_t n, k;        /* outputs, inputs */
  size_t block;       /* values of k that share a scale; 0: the format says it all */
  tw_scales scales;   /* their type */
  const format *as;
} layer;

typedef struct weights {
  const layer *of;
  unsigned char *rows, *scales, *zero_points;
} weights;

/* Exits where memory ends. */
void *allocate(size_t bytes);

weights make_weights(const layer *of);
void free_weights(weights *made);
/* What tw_pack_rhs reads. */
tw_rhs_source source_of(const weights *made);
/* The k weights of one output, as numbers; room for a block's more is needed. */
void decode_row(const weights *made, size_t row, float *decoded);

/* For the formats. */
unsigned random_bits(void); /* 32 of them */
void random_bytes(unsigned char *bytes, size_t count);
void random_f16(unsigned char *at); /* 1/128 to 1/64 */
/* Blocks of bytes behind a scale; behind a scale and a minimum. */
void random_scaled(unsigned char *block, size_t bytes);
void random_raised(unsigned char *block, size_t bytes);
float load_f16(const unsigned char *at);

@FORMATS@

#endif
