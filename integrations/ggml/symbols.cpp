#include "integrations/ggml/symbols.h"

#include <dlfcn.h>
#include <link.h>

#include <string>
#include <vector>

namespace tw::ggml {

namespace {

struct Libraries {
  const char* beginning;  ///< of their names, with the slash before it
  std::vector<std::string> loaded;
};

/// Names have versions here and none there.
Libraries loaded_libraries(const char* beginning) {
  Libraries found = {beginning, {}};
  const auto add = [](dl_phdr_info* library, size_t, void* data) {
    auto& libraries = *static_cast<Libraries*>(data);
    const std::string name = library->dlpi_name;
    if (name.find(libraries.beginning, name.find_last_of('/')) != std::string::npos) {
      libraries.loaded.push_back(name);
    }
    return 0;
  };
  dl_iterate_phdr(add, &found);
  return found;
}

void* find_in_libraries(const char* beginning, const char* name) {
  for (const std::string& library : loaded_libraries(beginning).loaded) {
    void* handle = dlopen(library.c_str(), RTLD_LAZY | RTLD_NOLOAD);
    if (handle == nullptr) continue;
    void* found = dlsym(handle, name);
    dlclose(handle);
    if (found != nullptr) return found;
  }
  return nullptr;
}

}  // namespace

/// Programs that load ggml for themselves only (RTLD_LOCAL) do not have it in the global scope.
void* find_symbol(const char* name) {
  void* found = dlsym(RTLD_DEFAULT, name);
  return found != nullptr ? found : find_in_libraries("/libggml", name);
}

void* find_openmp_symbol(const char* name) {
  for (const char* beginning : {"/libgomp", "/libomp", "/libiomp"}) {
    if (void* found = find_in_libraries(beginning, name)) return found;
  }
  return nullptr;
}

}  // namespace tw::ggml
