// SPDX-License-Identifier: Apache-2.0
// compare THEIRS OURS: the largest difference of two files of f32, and the largest value; fails if
// it is more than rounding explains.
#include <math.h>
#include <stdio.h>

int main(int argument_count, char** arguments) {
  if (argument_count != 3) return 2;
  FILE* const a = fopen(arguments[1], "rb");
  FILE* const b = fopen(arguments[2], "rb");
  if (a == NULL || b == NULL) {
    fprintf(stderr, "cannot read %s or %s\n", arguments[1], arguments[2]);
    return 1;
  }
  float x, y, difference = 0, largest = 0;
  size_t count = 0;
  while (fread(&x, sizeof x, 1, a) == 1 && fread(&y, sizeof y, 1, b) == 1) {
    difference = fmaxf(difference, fabsf(x - y));
    largest = fmaxf(largest, fabsf(x));
    ++count;
  }
  printf("%.2g of %.3g\n", (double)difference, (double)largest);
  // Sums of products of the same codes: what rounding floats in another order may change.
  return count == 0 || !(difference <= 1e-5F * largest);
}
