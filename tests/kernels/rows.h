// Which registry rows this machine should run, decided without the runtime's own detection.
#pragma once

#include <string>
#include <vector>

#include "kernels/harness.h"

namespace tw::test {

/// Bytes of this machine's vectors where their length is known only at run time; 0: it has none.
size_t vector_bytes();
size_t streaming_bytes();
/// Of the vectors that the layout's lengths count.
size_t vector_bytes(const tw_layout& layout);

/// Rows (lhs) or columns (rhs) of a panel, and columns of a tile, on this machine.
size_t panel_rows(const tw_layout& layout);
/// Of a panel of k values, without what stands between panels.
size_t panel_bytes(const tw_layout& layout, size_t k);
size_t tile_rows(const tw_kernel& kernel);
size_t tile_columns(const tw_kernel& kernel);

/// Rows that are built and that the runtime allows on this machine.
std::vector<const tw_kernel*> running_kernels();

/// The generated packers for the kernel's layouts that this machine can run, those of the kernel's
/// own ISA first. What is missing stays null.
Packers find_packers(const tw_kernel& kernel);

/// The environment variable TILEWRIGHT_EXPECT_ISAS ("scalar,neon_i8mm"; set where the machine is
/// known, as under an emulator) decides; without it the compiler's or the C library's view of the
/// processor does.
bool should_run(const char* isa, tw_features features);

}  // namespace tw::test
