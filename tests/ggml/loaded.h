// Weights in the plug-in's buffers, as a loader puts them there.
#pragma once

#include <memory>

#include "ggml/tensors.h"

extern "C" tw::ggml::Registration* ggml_backend_init();

namespace tw::ggml {

/// What the host does with the slots of a buffer type, which are 6 to 8.
struct TypeCalls {
  Buffer* (*allocate)(BufferType*, size_t);
  size_t (*tensor_bytes)(BufferType*, const Tensor*);
  bool (*is_host)(BufferType*);
};
TypeCalls calls_of(BufferType* type);

struct Loaded {
  Buffer* buffer;
  Tensor tensor;
  ~Loaded();
};
std::unique_ptr<Loaded> load(Device* device, const OwnTensor& source);
/// As the host had them.
Bytes bytes_of(const Loaded& loaded);

}  // namespace tw::ggml
