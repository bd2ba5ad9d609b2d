// SPDX-License-Identifier: Apache-2.0
// compare THEIRS OURS COLUMNS STEP: the largest difference of two files of f32, rows of COLUMNS
// values, and the largest value. Fails if it is more than rounding explains, but for a row in
// twenty, which may differ by STEP: by as much as one of its activations changes outputs, if that
// is halfway between two codes.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argument_count, char** arguments) {
  if (argument_count != 5) return 2;
  FILE* const theirs = fopen(arguments[1], "rb");
  FILE* const ours = fopen(arguments[2], "rb");
  if (theirs == NULL || ours == NULL) {
    fprintf(stderr, "cannot read %s or %s\n", arguments[1], arguments[2]);
    return 1;
  }
  const size_t columns = strtoul(arguments[3], NULL, 10);
  float* const rows = malloc(2 * columns * sizeof *rows);
  float difference = 0, largest = 0;
  size_t count = 0, halfway = 0;
  while (fread(rows, sizeof *rows, columns, theirs) == columns &&
         fread(rows + columns, sizeof *rows, columns, ours) == columns) {
    float of_row = 0;
    for (size_t i = 0; i < columns; ++i) {
      of_row = fmaxf(of_row, fabsf(rows[i] - rows[columns + i]));
      largest = fmaxf(largest, fabsf(rows[i]));
    }
    // Sums of products of the same codes: what rounding floats in another order may change.
    if (of_row > 1e-5F * largest) ++halfway;
    difference = fmaxf(difference, of_row);
    ++count;
  }
  printf("%.2g of %.3g", (double)difference, (double)largest);
  if (halfway != 0) printf(" (%zu of %zu rows)", halfway, count);
  printf("\n");
  return count == 0 || !isfinite(largest) ||
         (halfway != 0 && (halfway > (count + 19) / 20 || difference > strtof(arguments[4], NULL)));
}
