// Rows of the registry that read and write what KleidiAI's kernels read.
#pragma once

#include <vector>

#include "kleidiai/theirs.h"
#include "tilewright/registry.h"

namespace tw::test {

/// Packers into the layouts of `kernel`, of any ISA that runs here.
std::vector<const tw_packer*> lhs_packers(const TheirKernel& kernel);
std::vector<const tw_packer*> rhs_packers(const TheirKernel& kernel, bool kxn);
/// Kernels that read both of them, and kernels of the same family that read layouts of our own.
std::vector<const tw_kernel*> kernels_like(const TheirKernel& kernel);
std::vector<const tw_kernel*> own_kernels();

std::vector<uint8_t> our_lhs(const tw_packer& packer, const Activations& lhs);
std::vector<uint8_t> our_rhs(const tw_packer& packer, const Weights& rhs);
std::vector<float> our_product(const tw_kernel& kernel, const Shape& shape,
                               const std::vector<uint8_t>& lhs, const std::vector<uint8_t>& rhs,
                               const Bounds& bounds);

}  // namespace tw::test
