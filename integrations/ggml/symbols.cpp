#include "integrations/ggml/symbols.h"

#include <dlfcn.h>
#include <link.h>

#include <string>
#include <vector>

namespace tw::ggml {

namespace {

/// What is loaded of ggml's libraries, whose names have versions here and none there.
std::vector<std::string> ggml_libraries() {
  std::vector<std::string> found;
  const auto add = [](dl_phdr_info* library, size_t, void* names) {
    const std::string name = library->dlpi_name;
    if (name.find("/libggml", name.find_last_of('/')) != std::string::npos) {
      static_cast<std::vector<std::string>*>(names)->push_back(name);
    }
    return 0;
  };
  dl_iterate_phdr(add, &found);
  return found;
}

}  // namespace

/// Programs that load ggml for themselves only (RTLD_LOCAL) do not have it in the global scope.
void* find_symbol(const char* name) {
  if (void* found = dlsym(RTLD_DEFAULT, name)) return found;
  for (const std::string& library : ggml_libraries()) {
    void* handle = dlopen(library.c_str(), RTLD_LAZY | RTLD_NOLOAD);
    if (handle == nullptr) continue;
    void* found = dlsym(handle, name);
    dlclose(handle);
    if (found != nullptr) return found;
  }
  return nullptr;
}

}  // namespace tw::ggml
