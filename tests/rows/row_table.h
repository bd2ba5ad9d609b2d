/* The functions of one instruction table's row tests: written by the writer of row tests, read by
 * the test. C, because it stands beside printed C. */
#ifndef TILEWRIGHT_TESTS_ROW_TABLE_H
#define TILEWRIGHT_TESTS_ROW_TABLE_H

#include "tilewright/registry.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tw_row_function {
  size_t group;         /* index into the file of cases */
  size_t row;           /* number of the row in its table */
  int is_assembly;      /* else C */
  int keeps;            /* stores the row's arguments, too */
  const char* operands; /* "apart, high registers" */
  tw_kernel_fn run;
} tw_row_function;

extern const char tw_row_isa[];
extern const char tw_row_summary[];
extern const tw_features tw_row_features;
extern const tw_row_function tw_row_functions[]; /* and an empty one */
extern const size_t tw_row_function_count;

#ifdef __cplusplus
}
#endif
#endif
