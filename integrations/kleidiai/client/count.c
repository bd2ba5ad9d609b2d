// SPDX-License-Identifier: Apache-2.0
// Preloaded before the library that is looked at: counts calls of KleidiAI's micro-kernels under
// the names that ours serves, passes them on, and says at the end to whose they went, and where
// they begin and return to, so that instructions.awk can find them in what QEMU logs.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "names.h"

struct slot {
  uint64_t calls;
  void* target;
  void* caller;  // where to go back to: a program of one thread, names that do not call themselves
};
// A call leaves all registers of arguments and of results as they are. It returns here, too.
#define STUB(name)                                                           \
  __attribute__((visibility("hidden"))) struct slot slot_##name;             \
  extern const char returned_##name[] __attribute__((visibility("hidden"))); \
  __asm__(                                                                   \
      ".text\n"                                                              \
      ".global kai_run_" #name                                               \
      "\n"                                                                   \
      ".type kai_run_" #name                                                 \
      ", %function\n"                                                        \
      "kai_run_" #name                                                       \
      ":\n"                                                                  \
      "hint 34\n"                                                            \
      "adrp x16, slot_" #name                                                \
      "\n"                                                                   \
      "add x16, x16, :lo12:slot_" #name                                      \
      "\n"                                                                   \
      "ldr x17, [x16]\n"                                                     \
      "add x17, x17, 1\n"                                                    \
      "str x17, [x16]\n"                                                     \
      "str x30, [x16, 16]\n"                                                 \
      "ldr x17, [x16, 8]\n"                                                  \
      "adr x30, returned_" #name                                             \
      "\n"                                                                   \
      "br x17\n"                                                             \
      ".hidden returned_" #name                                              \
      "\n"                                                                   \
      ".global returned_" #name                                              \
      "\n"                                                                   \
      "returned_" #name                                                      \
      ":\n"                                                                  \
      "adrp x16, slot_" #name                                                \
      "\n"                                                                   \
      "add x16, x16, :lo12:slot_" #name                                      \
      "\n"                                                                   \
      "ldr x30, [x16, 16]\n"                                                 \
      "ret\n");
TW_KAI_RUNS(STUB)

static const struct {
  const char* name;
  struct slot* slot;
  const char* returned;
} slots[] = {
#define ENTRY(name) {"kai_run_" #name, &slot_##name, returned_##name},
    TW_KAI_RUNS(ENTRY)};
enum { slot_count = sizeof slots / sizeof *slots };

__attribute__((constructor)) static void find_targets(void) {
  for (int i = 0; i < slot_count; ++i) {
    slots[i].slot->target = dlsym(RTLD_NEXT, slots[i].name);
  }
}

// Lines "CALLS NAME FILE BASE BEGIN RETURNED", to where the caller wants them: where the file is
// loaded, where the micro-kernel begins and where it returns to. The first line is this file's.
__attribute__((destructor)) static void report(void) {
  const char* const path = getenv("KAI_COUNTS");
  FILE* const out = path != NULL ? fopen(path, "w") : NULL;
  if (out == NULL) return;
  Dl_info self;
  if (dladdr((const void*)&slots, &self) != 0) {
    fprintf(out, "0 count %s %p 0 0\n", self.dli_fname, self.dli_fbase);
  }
  for (int i = 0; i < slot_count; ++i) {
    Dl_info info;
    if (slots[i].slot->calls == 0 || dladdr(slots[i].slot->target, &info) == 0) continue;
    fprintf(out, "%" PRIu64 " %s %s %p %p %p\n", slots[i].slot->calls, slots[i].name,
            info.dli_fname, info.dli_fbase, slots[i].slot->target, (const void*)slots[i].returned);
  }
  fclose(out);
}
