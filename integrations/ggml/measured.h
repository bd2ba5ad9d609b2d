// Which weights are faster by ggml's own kernels on this machine.
#pragma once

#include "integrations/ggml/host.h"
#include "integrations/ggml/packing.h"

namespace tw::ggml {

/// A device, and the buffer type in which weights lie for it.
struct Side {
  Device* device;
  BufferType* weights;
};

/// The name of weights that are no model's.
inline constexpr char kMeasuredWeights[] = "tilewright.measured";

/// Whether we need at most 3 % longer than ggml for a prompt of 128 tokens and 128 tokens after it,
/// of such weights, on one thread. Runs both for a part of a second, once for a type and a shape;
/// true, with a message on stderr, where ggml lacks what that takes. Thread-safe.
bool is_measured_faster(const Host& host, const Side& ours, const Packing& packing);

}  // namespace tw::ggml
