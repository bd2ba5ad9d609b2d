// What assembly owes to those who link, call and debug it, and what compilers do by themselves.
#include <gtest/gtest.h>
#include <link.h>
#include <unwind.h>

#include <array>
#include <csetjmp>
#include <csignal>
#include <cstring>

#include "kernels/rows.h"
#include "support/call_checked.h"
#include "support/guarded_buffer.h"

extern "C" uint64_t tw_test_call(tw::test::Function function, const void* args, int has_avx);

namespace tw::test {
namespace {

// A kept register: its DWARF number, and what tw_test_call puts into it.
struct Kept {
  int number;
  uint64_t value;
};
#if defined(__x86_64__)
constexpr std::array<uint8_t, 4> landing_pad = {0xF3, 0x0F, 0x1E, 0xFA};  // endbr64
constexpr Kept kept[] = {{3, 0x1b1b1b1b1b1b1b1b},  {6, 0x2b2b2b2b2b2b2b2b},
                         {12, 0x3c3c3c3c3c3c3c3c}, {13, 0x4d4d4d4d4d4d4d4d},
                         {14, 0x5e5e5e5e5e5e5e5e}, {15, 0x6f6f6f6f6f6f6f6f}};
#elif defined(__aarch64__)
constexpr std::array<uint8_t, 4> landing_pad = {0x5F, 0x24, 0x03, 0xD5};  // bti c
constexpr Kept kept[] = {{19, 0x5a5a5a13}, {20, 0x5a5a5a14}, {21, 0x5a5a5a15}, {22, 0x5a5a5a16},
                         {23, 0x5a5a5a17}, {24, 0x5a5a5a18}, {25, 0x5a5a5a19}, {26, 0x5a5a5a1a},
                         {27, 0x5a5a5a1b}, {28, 0x5a5a5a1c}, {72, 0x6b6b6b08}, {73, 0x6b6b6b09},
                         {74, 0x6b6b6b0a}, {75, 0x6b6b6b0b}, {76, 0x6b6b6b0c}, {77, 0x6b6b6b0d},
                         {78, 0x6b6b6b0e}, {79, 0x6b6b6b0f}};
#endif

class AssemblyKernel : public testing::TestWithParam<const tw_kernel*> {};

TEST_P(AssemblyKernel, BeginsWithALandingPad) {
  std::array<uint8_t, 4> bytes{};
  std::memcpy(bytes.data(), reinterpret_cast<const void*>(GetParam()->run), bytes.size());
  EXPECT_EQ(bytes, landing_pad);
}

/// What an unwinder finds in the frame that called `kernel`.
struct Caller {
  tw_kernel_fn kernel;
  bool in_kernel = false;
  bool found = false;
  uint64_t registers[std::size(kept)] = {};
};
Caller caller;
sigjmp_buf back;

_Unwind_Reason_Code look(_Unwind_Context* context, void* /*unused*/) {
  if (caller.in_kernel) {
    caller.found = true;
    for (size_t i = 0; i < std::size(kept); ++i) {
      caller.registers[i] = _Unwind_GetGR(context, kept[i].number);
    }
    return _URC_END_OF_STACK;
  }
  caller.in_kernel = _Unwind_GetRegionStart(context) == reinterpret_cast<uintptr_t>(caller.kernel);
  return _URC_NO_REASON;
}

void on_fault(int /*signal*/) {
  _Unwind_Backtrace(look, nullptr);
  siglongjmp(back, 1);
}

/// Lets the kernel fault at its first store, when it has used its registers.
void fault_in(const tw_kernel& kernel) {
  const std::vector<uint8_t> zeros(1U << 20U, 0);
  const GuardedBuffer nothing("dst", 0, Flush::end);
  tw_args args{};
  args.size = sizeof args;
  args.m = tile_rows(kernel);
  args.n = tile_columns(kernel);
  args.k = kernel.rhs->block != 0 ? kernel.rhs->block : 64;
  args.block = kernel.rhs->block;
  args.lhs = zeros.data();
  args.rhs = zeros.data();
  args.dst = nothing.data();
  caller = {};
  caller.kernel = kernel.run;
  struct sigaction action = {};
  struct sigaction old = {};
  action.sa_handler = on_fault;
  sigaction(SIGSEGV, &action, &old);
  if (sigsetjmp(back, 1) == 0) {
    tw_test_call(reinterpret_cast<Function>(kernel.run), &args, 0);
    ADD_FAILURE() << "it did not store";
  }
  sigaction(SIGSEGV, &old, nullptr);
}

TEST_P(AssemblyKernel, CanBeUnwound) {
  fault_in(*GetParam());
  ASSERT_TRUE(caller.in_kernel) << "no call frame information";
  ASSERT_TRUE(caller.found);
  for (size_t i = 0; i < std::size(kept); ++i) {
    EXPECT_EQ(caller.registers[i], kept[i].value) << "DWARF register " << kept[i].number;
  }
}

std::vector<const tw_kernel*> assembly_kernels() {
  std::vector<const tw_kernel*> rows = running_kernels();
  std::erase_if(rows,
                [](const tw_kernel* row) { return std::strcmp(row->printer, "assembly") != 0; });
  return rows;
}

INSTANTIATE_TEST_SUITE_P(, AssemblyKernel, testing::ValuesIn(assembly_kernels()),
                         [](const auto& row) { return std::string(row.param->name); });
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(AssemblyKernel);  // on a CPU that runs none

// One object without its note is enough for an executable stack.
TEST(Assembly, LeavesTheStackUnexecutable) {
  int stacks = 0;
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* count) {
        for (size_t i = 0; i < info->dlpi_phnum; ++i) {
          if (info->dlpi_phdr[i].p_type != PT_GNU_STACK) continue;
          ++*static_cast<int*>(count);
          EXPECT_EQ(info->dlpi_phdr[i].p_flags & PF_X, 0U);
        }
        return 1;  // the program itself comes first
      },
      &stacks);
  EXPECT_EQ(stacks, 1);
}

}  // namespace
}  // namespace tw::test
