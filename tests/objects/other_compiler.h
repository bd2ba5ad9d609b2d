/* Before other files: what they include of the system, then a compiler that knows no word of GNU's
 * beside C11 (as Microsoft's). */
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#undef __clang__
#undef __GNUC__
#undef __x86_64__
#undef __aarch64__
#undef __linux__
#define __asm__ unknown_word_asm
#define __attribute__(what) unknown_word_attribute
