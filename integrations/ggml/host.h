// What we use of the ggml that loaded us, found at run time: no library of its is linked, so that a
// host that lacks something gets a message instead of a plug-in that does not load.
#pragma once

#include "integrations/ggml/ggml_abi.h"
#include "integrations/ggml/interface.h"

namespace tw::ggml {

struct Host {
  Interface interface;
  int32_t mul_mat = -1, mul_mat_id = -1, get_rows = -1;  ///< numbers of operations
  int32_t flash_attn = -1;                               ///< -1: there is none
  int32_t views[5] = {};                                 ///< of those that compute nothing
  bool has_openmp = false;                               ///< its CPU backend's threads

  Buffer* (*buffer_init)(BufferType*, BufferFunctions, void* context, size_t size) = nullptr;
  BufferType* (*cpu_buffer_type)() = nullptr;
  bool (*is_host)(BufferType*) = nullptr;
  int (*node_count)(Graph*) = nullptr;
  Tensor* (*node)(Graph*, int) = nullptr;
};

/// Null, with a message on stderr, for a ggml that we do not know.
const Host* find_host();

}  // namespace tw::ggml
