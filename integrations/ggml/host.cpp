#include "integrations/ggml/host.h"

#include <cstring>
#include <iterator>

#include "integrations/ggml/row_operations.h"
#include "integrations/ggml/symbols.h"

namespace tw::ggml {

namespace {

bool has_our_tensors() {
  size_t (*overhead)() = nullptr;
  if (!find_into(overhead, "ggml_tensor_overhead")) return false;
  const size_t bytes = overhead(), known = sizeof(Tensor) + kListEntryBytes;
  if (bytes == known) return true;
  message("this ggml's tensors have {} bytes, we know those of {}; llama.cpp goes on without us",
          bytes, known);
  return false;
}

/// The first of all operations has number 0, and none of these is ever among the last ones: hosts
/// of version 2 have 90 or more.
bool find_operations(Host& host) {
  const char* (*name_of)(int32_t) = nullptr;
  if (!find_into(name_of, "ggml_op_name")) return false;
  int32_t* const wanted[] = {&host.mul_mat,  &host.mul_mat_id, &host.get_rows, &host.views[1],
                             &host.views[2], &host.views[3],   &host.views[4]};
  const char* const names[] = {"MUL_MAT", "MUL_MAT_ID", "GET_ROWS", "RESHAPE",
                               "VIEW",    "PERMUTE",    "TRANSPOSE"};
  constexpr int32_t kFewest = 80;
  host.flash_attn = -1;
  size_t found = 0;
  for (int32_t op = 0; op < kFewest; ++op) {
    if (std::strcmp(name_of(op), "FLASH_ATTN_EXT") == 0) host.flash_attn = op;
    for (size_t i = 0; i < std::size(names); ++i) {
      if (std::strcmp(name_of(op), names[i]) != 0) continue;
      *wanted[i] = op;
      ++found;
    }
  }
  find_row_operations(name_of);
  if (found == std::size(names)) return true;
  message(
      "this ggml has no operation MUL_MAT, MUL_MAT_ID or GET_ROWS; llama.cpp goes on without us");
  return false;
}

/// As its CPU backend says itself; one that says nothing of features is taken to have it, as
/// then a library of OpenMP's decides, which is loaded or not.
bool has_openmp() {
  const auto by_type = find_function<Device*(int)>("ggml_backend_dev_by_type");
  const auto registration_of =
      find_function<Registration*(Device*)>("ggml_backend_dev_backend_reg");
  const auto function =
      find_function<void*(Registration*, const char*)>("ggml_backend_reg_get_proc_address");
  Device* cpu = by_type != nullptr ? by_type(device_cpu) : nullptr;
  if (cpu == nullptr || registration_of == nullptr || function == nullptr) return true;
  Registration* registration = registration_of(cpu);
  const auto features_of = reinterpret_cast<const Feature* (*)(Registration*)>(
      function(registration, "ggml_backend_get_features"));
  if (features_of == nullptr) return true;
  for (const Feature* feature = features_of(registration); feature->name != nullptr; ++feature) {
    if (std::strcmp(feature->name, "OPENMP") == 0) return true;
  }
  return false;
}

}  // namespace

const Host* find_host() {
  static Host host;
  host.has_openmp = has_openmp();
  const bool known = find_interface(host.interface) && has_our_tensors() && find_operations(host) &&
                     find_into(host.buffer_init, "ggml_backend_buffer_init") &&
                     find_into(host.cpu_buffer_type, "ggml_backend_cpu_buffer_type") &&
                     find_into(host.is_host, "ggml_backend_buft_is_host") &&
                     find_into(host.node_count, "ggml_graph_n_nodes") &&
                     find_into(host.node, "ggml_graph_node");
  return known ? &host : nullptr;
}

}  // namespace tw::ggml
