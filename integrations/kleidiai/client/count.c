// SPDX-License-Identifier: Apache-2.0
// Preloaded before the library that is looked at: counts calls of KleidiAI's micro-kernels under
// the names that ours serves, passes them on, and says at the end to whose they went.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "names.h"

// A call leaves all registers of arguments as they are.
struct slot {
  uint64_t calls;
  void* target;
};
#define STUB(name)                                               \
  __attribute__((visibility("hidden"))) struct slot slot_##name; \
  __asm__(                                                       \
      ".text\n"                                                  \
      ".global kai_run_" #name                                   \
      "\n"                                                       \
      ".type kai_run_" #name                                     \
      ", %function\n"                                            \
      "kai_run_" #name                                           \
      ":\n"                                                      \
      "hint 34\n"                                                \
      "adrp x16, slot_" #name                                    \
      "\n"                                                       \
      "add x16, x16, :lo12:slot_" #name                          \
      "\n"                                                       \
      "ldr x17, [x16]\n"                                         \
      "add x17, x17, 1\n"                                        \
      "str x17, [x16]\n"                                         \
      "ldr x17, [x16, 8]\n"                                      \
      "br x17\n");
#define MATMUL_STUB(family, name) STUB(name)
TW_KAI_MATMULS(MATMUL_STUB)
TW_KAI_LHS_PACKERS(STUB)
TW_KAI_RHS_PACKERS(STUB)

static struct {
  const char* name;
  struct slot* slot;
} slots[] = {
#define ENTRY(name) {"kai_run_" #name, &slot_##name},
#define MATMUL_ENTRY(family, name) ENTRY(name)
    TW_KAI_MATMULS(MATMUL_ENTRY) TW_KAI_LHS_PACKERS(ENTRY) TW_KAI_RHS_PACKERS(ENTRY)};
enum { slot_count = sizeof slots / sizeof *slots };

__attribute__((constructor)) static void find_targets(void) {
  for (int i = 0; i < slot_count; ++i) {
    slots[i].slot->target = dlsym(RTLD_NEXT, slots[i].name);
  }
}

// Lines "calls NAME in FILE", to where the caller wants them.
__attribute__((destructor)) static void report(void) {
  const char* const path = getenv("KAI_COUNTS");
  FILE* const out = path != NULL ? fopen(path, "w") : NULL;
  if (out == NULL) return;
  for (int i = 0; i < slot_count; ++i) {
    Dl_info info;
    if (slots[i].slot->calls == 0 || dladdr(slots[i].slot->target, &info) == 0) continue;
    const char* const file = strrchr(info.dli_fname, '/');
    fprintf(out, "%" PRIu64 " %s %s\n", slots[i].slot->calls, slots[i].name,
            file != NULL ? file + 1 : info.dli_fname);
  }
  fclose(out);
}
