/* What the files of attention share: a plan, and how its work is divided. */
#ifndef TILEWRIGHT_ATTENTION_INTERNAL_H
#define TILEWRIGHT_ATTENTION_INTERNAL_H

#include "internal.h"
#include "tilewright/attention.h"

enum {
  TW_ATTENTION_BLOCK = 64, /* positions: of K and V so many rows stay in the first cache */
  TW_ATTENTION_STAGES = 3,
  TW_POSITION_FLOATS = 4 /* scales and zero points of K and V */
};

struct tw_attention_plan {
  tw_attention shape;
  const tw_attention_kernel* stages[TW_ATTENTION_STAGES + 1]; /* by tw_attention_stage */
  size_t lanes;                                               /* of the kernels' vectors */
};

/* How a call is cut: slices are (group of heads of K and V, group of queries, part of the
 * positions), the last one fastest. */
typedef struct tw_attention_cut {
  size_t heads, head_groups;    /* of K and V: in a group, and groups */
  size_t queries, query_groups; /* likewise */
  size_t positions, parts;      /* in a part, whole blocks; and parts */
  size_t rows;                  /* of queries that share a head, in a group of queries */
} tw_attention_cut;

tw_attention_cut tw_cut_attention(const tw_attention_plan* plan, const tw_attention_args* args);
/* Of a slice; false on overflow. */
bool tw_attention_scratch(const tw_attention_plan* plan, const tw_attention_cut* cut,
                          size_t* bytes);
/* Of so many values in a row of K or V, as the kernel reads it: whole blocks of codes. */
size_t tw_position_bytes(const tw_kernel* kernel, size_t values);
/* K or V of TW_S8, whose scales and zero points a call brings. */
bool tw_has_position_scales(const tw_attention* shape);
/* Those of a block of positions of a head, as TW_ATTENTION_WEIGHTS has them; `to`:
 * TW_POSITION_FLOATS for each position of whole blocks. */
void tw_put_position_scales(const tw_attention_plan* plan, const tw_attention_args* args,
                            size_t head, size_t first, size_t count, float* to);
/* A mask's values from a position on, for a query of a head. */
const char* tw_mask_row(const tw_attention_args* args, size_t head, size_t query, size_t position);
size_t tw_mask_bytes(const tw_attention_args* args); /* of a value */
/* Whether all of so many values are -infinity. */
bool tw_is_masked(tw_type type, const char* values, size_t count);
/* What a head multiplies its masks by. */
float tw_slope_of(const tw_attention_plan* plan, const tw_attention_args* args, size_t head);
/* Floats of a row's part: outputs times the sum of weights, the largest score, that sum. */
size_t tw_partial_floats(const tw_attention_plan* plan);

/* One slice; arguments are checked. */
void tw_attend(const tw_attention_plan* plan, const tw_attention_args* args,
               const tw_attention_cut* cut, size_t slice);
/* All parts of the rows of one group of heads and of queries. */
void tw_merge_parts(const tw_attention_plan* plan, const tw_attention_args* args,
                    const tw_attention_cut* cut, size_t merge);

#endif
