#include "integrations/ggml/symbols.h"

#include <dlfcn.h>

namespace tw::ggml {

/// Programs that load ggml for themselves only (RTLD_LOCAL) do not have it in the global scope.
void* find_symbol(const char* name) {
  if (void* found = dlsym(RTLD_DEFAULT, name)) return found;
  for (const char* library :
       {"libggml-base.so.0", "libggml-base.so", "libggml.so.0", "libggml.so"}) {
    void* handle = dlopen(library, RTLD_LAZY | RTLD_NOLOAD);
    if (handle == nullptr) continue;
    void* found = dlsym(handle, name);
    dlclose(handle);
    if (found != nullptr) return found;
  }
  return nullptr;
}

}  // namespace tw::ggml
