// Kernels with accumulator tiles leave their caller's state as AAPCS64 says: the mode as found, a
// dormant ZA in the caller's buffer, callee-saved registers and FPSR as they were.
#if defined(__aarch64__)
#include <gtest/gtest.h>

#include <cstring>
#include <ostream>

#include "kernels/rows.h"
#include "support/call_checked.h"

namespace tw::test {

/// streaming_call_aarch64.S knows the offsets.
struct StreamingState {
  uint64_t is_streaming = 0;         ///< when the kernel is called
  const void* block = nullptr;       ///< what TPIDR2_EL0 points to; null: there is no ZA
  const uint8_t* pattern = nullptr;  ///< all of ZA
  uint64_t svcr = ~uint64_t{0};      ///< from here on: after the call
  uint64_t tpidr2 = ~uint64_t{0};
  uint64_t fpsr = 0;
  uint64_t changed = 0;  ///< of d8 to d15
};

extern "C" void tw_test_streaming_call(Function function, const void* args, StreamingState* state);

namespace {

constexpr uint64_t mode_bit = 1;  ///< of SVCR; the next one says that there is a ZA

/// What a caller with a dormant ZA points TPIDR2_EL0 to.
struct SaveBlock {
  uint8_t* buffer;
  uint16_t slices;
  uint8_t reserved[6] = {};
};

std::vector<const tw_kernel*> streaming_kernels() {
  std::vector<const tw_kernel*> rows = running_kernels();
  std::erase_if(rows, [](const tw_kernel* row) { return row->rhs->streaming == 0; });
  return rows;
}

class StreamingKernel : public testing::TestWithParam<const tw_kernel*> {
 protected:
  /// SME's other products are vectors.
  static bool uses_tiles() {
    const tw_kernel& kernel = *GetParam();
    return std::strcmp(kernel.isa, "sme") != 0 || std::strcmp(kernel.technique, "outer") == 0;
  }

  void call(StreamingState& state) const {
    const std::vector<uint8_t> zeros(1U << 20U, 0);
    std::vector<uint8_t> outputs(1U << 16U, 0);
    tw_args args{};
    args.size = sizeof args;
    args.m = 3;
    args.n = 5;
    const size_t block = GetParam()->rhs->block;
    args.k = block != 0 ? block : 64;
    args.block = block;
    args.lhs = zeros.data();
    args.rhs = zeros.data();
    args.lookup = zeros.data();
    args.dst = outputs.data();
    args.dst_stride = 64;
    tw_test_streaming_call(reinterpret_cast<Function>(GetParam()->run), &args, &state);
    EXPECT_EQ(state.changed, 0U) << "of d8 to d15";
    EXPECT_EQ(state.fpsr, 0x1fU);
    EXPECT_EQ(state.tpidr2, 0U);
    EXPECT_EQ(state.svcr, state.is_streaming != 0 ? mode_bit : 0U);
  }
};

TEST_P(StreamingKernel, LeavesTheModeAsFound) {
  for (const uint64_t is_streaming : {0, 1}) {
    StreamingState state;
    state.is_streaming = is_streaming;
    call(state);
  }
}

TEST_P(StreamingKernel, StoresADormantZa) {
  if (!uses_tiles()) return;  // and leaves it as it is
  const size_t side = streaming_bytes();
  std::vector<uint8_t> pattern(side * side);
  for (size_t i = 0; i < pattern.size(); ++i) pattern[i] = static_cast<uint8_t>(i * 7 + i / side);
  for (const uint64_t is_streaming : {0, 1}) {
    for (const size_t slices : {side, side / 2, size_t{0}}) {
      std::vector<uint8_t> expected(pattern.size(), 0xEE);
      std::copy_n(pattern.begin(), slices * side, expected.begin());
      std::vector<uint8_t> saved(pattern.size(), 0xEE);
      const SaveBlock block{saved.data(), static_cast<uint16_t>(slices)};
      StreamingState state;
      state.is_streaming = is_streaming;
      state.block = &block;
      state.pattern = pattern.data();
      call(state);
      EXPECT_TRUE(saved == expected) << slices << " slices of " << side;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(, StreamingKernel, testing::ValuesIn(streaming_kernels()),
                         [](const auto& row) { return std::string(row.param->name); });
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(StreamingKernel);

}  // namespace
}  // namespace tw::test
#endif
