/* Preloaded: the backends that are registered already are of a version that nobody knows. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

struct registration { /* as in ggml_abi.h; only the first member is looked at */
  int api_version;
  void* others[5];
};

struct registration* ggml_backend_reg_get(size_t index) {
  static struct registration changed;
  struct registration* (*get)(size_t);
  *(void**)&get = dlsym(RTLD_NEXT, "ggml_backend_reg_get");
  memcpy(&changed, get(index), sizeof changed);
  changed.api_version = 6;
  return &changed;
}
