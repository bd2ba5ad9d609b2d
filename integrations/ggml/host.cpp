#include "integrations/ggml/host.h"

#include <dlfcn.h>

#include <cstring>

#include "integrations/ggml/message.h"

namespace tw::ggml {

namespace {

/// Programs that load ggml for themselves only (RTLD_LOCAL) do not have it in the global scope.
void* find(const char* name) {
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

template <class Function>
bool find_into(Function& function, const char* name) {
  function = reinterpret_cast<Function>(find(name));
  if (function == nullptr) message("this ggml has no {}; llama.cpp goes on without us", name);
  return function != nullptr;
}

/// Of the backends that are there already: the host has checked them. 0: none is.
int version_of_others() {
  const auto count = reinterpret_cast<size_t (*)()>(find("ggml_backend_reg_count"));
  const auto get = reinterpret_cast<Registration* (*)(size_t)>(find("ggml_backend_reg_get"));
  if (count == nullptr || get == nullptr || count() == 0) return 0;
  return get(0)->api_version;
}

bool find_version(Host& host) {
  host.api_version = version_of_others();
  if (host.api_version == 0) {
    host.api_version = find("ggml_backend_buft_get_alloc_size_n") != nullptr ? 3 : 2;
  }
  if (host.api_version == 2 || host.api_version == 3) return true;
  message(
      "this ggml has version {} of the plug-in interface, we know 2 and 3; llama.cpp goes on "
      "without us",
      host.api_version);
  return false;
}

bool has_our_tensors() {
  size_t (*overhead)() = nullptr;
  if (!find_into(overhead, "ggml_tensor_overhead")) return false;
  const size_t bytes = overhead(), known = sizeof(Tensor) + kListEntryBytes;
  if (bytes == known) return true;
  message("this ggml's tensors have {} bytes, we know those of {}; llama.cpp goes on without us",
          bytes, known);
  return false;
}

/// The first of all operations has number 0, and MUL_MAT_ID is never among the last ones.
bool find_operations(Host& host) {
  const char* (*name_of)(int32_t) = nullptr;
  if (!find_into(name_of, "ggml_op_name")) return false;
  int32_t* const wanted[] = {&host.mul_mat,  &host.mul_mat_id, &host.views[1],
                             &host.views[2], &host.views[3],   &host.views[4]};
  const char* const names[] = {"MUL_MAT", "MUL_MAT_ID", "RESHAPE", "VIEW", "PERMUTE", "TRANSPOSE"};
  constexpr int32_t kFewest = 60;
  size_t found = 0;
  for (int32_t op = 0; op < kFewest; ++op) {
    for (size_t i = 0; i < std::size(names); ++i) {
      if (std::strcmp(name_of(op), names[i]) != 0) continue;
      *wanted[i] = op;
      ++found;
    }
  }
  if (found == std::size(names)) return true;
  message("this ggml has no operation MUL_MAT or MUL_MAT_ID; llama.cpp goes on without us");
  return false;
}

}  // namespace

const Host* find_host() {
  static Host host;
  const bool known = find_version(host) && has_our_tensors() && find_operations(host) &&
                     find_into(host.buffer_init, "ggml_backend_buffer_init") &&
                     find_into(host.cpu_buffer_type, "ggml_backend_cpu_buffer_type") &&
                     find_into(host.is_host, "ggml_backend_buft_is_host") &&
                     find_into(host.node_count, "ggml_graph_n_nodes") &&
                     find_into(host.node, "ggml_graph_node");
  return known ? &host : nullptr;
}

}  // namespace tw::ggml
