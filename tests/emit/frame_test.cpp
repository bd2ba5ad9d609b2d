// Frames of assembly functions: where memory of their own begins, and what long ones need.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "emit/assembly_frame.h"
#include "ir/builder.h"
#include "spec/isa_reader.h"

namespace tw::frame_test {
namespace {

using Lines = std::vector<std::string>;

const std::filesystem::path templates = std::filesystem::path(TILEWRIGHT_SOURCE_DIR) / "templates";

Program with_scratch(const Isa& isa, int64_t bytes) {
  Builder b("f", isa);
  b.op(OpCode::store, {b.scratch(bytes), b.op(OpCode::zero)});
  return b.finish();
}

Lines beginning(const Isa& isa, int64_t bytes) {
  return prologue(with_scratch(isa, bytes), isa.convention, "f");
}

std::string refusal(const Isa& isa, int64_t bytes) {
  try {
    make_frame(with_scratch(isa, bytes), isa.convention);
    return "none";
  } catch (const std::runtime_error& error) {
    return error.what();
  }
}

TEST(Frames, MemoryOfTheirOwnBeginsAtACacheLineOnX86) {
  IsaLibrary isas(templates);
  // The stack pointer is a multiple of 16: 48 bytes more leave room to round down.
  EXPECT_EQ(scratch_address(with_scratch(isas.get("avx512f"), 100), "r9"),
            (Lines{"lea r9, [rsp + 48]", "and r9, -64"}));
  EXPECT_EQ(
      make_frame(with_scratch(isas.get("avx512f"), 100), isas.get("avx512f").convention).bytes,
      152);
  EXPECT_EQ(scratch_address(with_scratch(isas.get("neon"), 100), "x9"), Lines{"add x9, sp, #0"});
}

TEST(Frames, PagesAreTouchedInOrder) {
  IsaLibrary isas(templates);
  const Isa& isa = isas.get("avx512f");
  const Lines lines = beginning(isa, 9000);
  const auto enter = std::find(lines.begin(), lines.end(), "sub rsp, 9048");
  ASSERT_NE(enter, lines.end());
  ASSERT_GE(enter - lines.begin(), 2);
  EXPECT_EQ(Lines(enter - 2, enter),
            (Lines{"or qword ptr [rsp - 4096], 0", "or qword ptr [rsp - 8192], 0"}));
  const Lines small = beginning(isa, 1000);
  EXPECT_TRUE(std::none_of(small.begin(), small.end(), [](const std::string& line) {
    return line.find("or qword") != std::string::npos;
  }));
}

TEST(Frames, TooLongOnesAreRefused) {
  IsaLibrary isas(templates);
  EXPECT_EQ(refusal(isas.get("avx512f"), 16000), "none");
  EXPECT_EQ(refusal(isas.get("avx512f"), 20000), "f: a frame of 20056 bytes, 16384 are possible");
  EXPECT_EQ(refusal(isas.get("neon"), 4080), "none");
  EXPECT_EQ(refusal(isas.get("neon"), 4081), "f: a frame of 4096 bytes, 4080 are possible");
}

}  // namespace
}  // namespace tw::frame_test
