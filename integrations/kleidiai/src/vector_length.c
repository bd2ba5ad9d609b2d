// SPDX-License-Identifier: Apache-2.0
// The lengths of vectors, streaming ones and others, which panels of names for SME and SVE are
// multiples of.
#include "kai/kai_common.h"

#if defined(__aarch64__)
// Where KleidiAI is linked as well either answers alike.
__attribute__((weak)) uint64_t kai_get_sme_vector_length_u8(void) {
  register uint64_t bytes __asm__("x0");
  __asm__(".inst 0x04bf5820" : "=r"(bytes));  // rdsvl x0, #1, which compilers may not know
  return bytes;
}

__attribute__((weak)) uint64_t kai_get_sve_vector_length_u8(void) {
  register uint64_t bytes __asm__("x0");
  __asm__(".inst 0x04bf5020" : "=r"(bytes));  // rdvl x0, #1
  return bytes;
}
#endif
