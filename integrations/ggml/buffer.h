// Our buffer type: memory that holds weights packed. Tensors in it have their packing as `extra`.
#pragma once

#include "integrations/ggml/host.h"
#include "integrations/ggml/packing.h"

namespace tw::ggml {

/// For tensors of weights as ggml allocates them: rows of k values without gaps. Null: not ours.
const Packing* packing_of(const Tensor& weights);
size_t matrices_of(const Tensor& weights);

/// Packed tensors of `type` made by make_buffer_type lie in such buffers.
BufferType* make_buffer_type(const Host& host, Device* device);

}  // namespace tw::ggml
