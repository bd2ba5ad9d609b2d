// SPDX-License-Identifier: Apache-2.0
// Compiles only with the headers of KleidiAI that this library was tested with, those of a client:
//
//   cc -O1 -c check_headers.c -I CLIENT'S/INCLUDE -I generated/kleidiai
#include "names.h"

#if !defined(__OPTIMIZE__)
#error "compile with optimization: the version of KleidiAI's headers is compared while compiling"
#endif

__attribute__((error("KleidiAI's headers are not of version " TW_KAI_VERSION
                     ", which this library was tested with"))) void
tw_kai_other_version(void);

void tw_kai_check_headers(void);
void tw_kai_check_headers(void) {
  if (__builtin_strcmp(kai_get_version(), TW_KAI_VERSION) != 0) tw_kai_other_version();
}
