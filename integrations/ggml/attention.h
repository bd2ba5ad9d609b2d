// GGML_OP_FLASH_ATTN_EXT: attention over the host's K and V, which are read where they lie.
#pragma once

#include "integrations/ggml/multiply.h"

namespace tw::ggml {

/// Types, shapes and strides that attend() computes, on kernels for any CPU if there are no others.
bool can_attend(const Tensor& op);

/// Of what can_attend() takes: whether there are kernels of this CPU's vectors for its heads.
bool is_worth_attending(const Tensor& op);

Status attend(const Tensor& op, int threads, Scratch& scratch);

}  // namespace tw::ggml
