// Outputs of technique `tile` that are stored past the caches: where the caller wants it and rows
// begin at cache lines, of whole tiles only, and seen by others before the kernel returns.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <vector>

#include "interpreter/random_variant.h"
#include "interpreter/run_program.h"
#include "pipeline/pipeline.h"
#include "spec/core_reader.h"
#include "spec/isa_reader.h"

namespace tw::test::tile_streams_test {
namespace {

const std::filesystem::path templates = std::filesystem::path(TILEWRIGHT_SOURCE_DIR) / "templates";

struct Case {
  const char *isa, *lhs, *rhs;
  bool adds, streams;
};

void PrintTo(const Case& it, std::ostream* out) {
  *out << it.isa << ' ' << it.lhs << ' ' << it.rhs << (it.adds ? ", adds" : "");
}

Variant variant_of(const Case& it, const Isa& isa) {
  Variant variant;
  variant.family.name = "tiles";
  variant.family.lhs = find_format(it.lhs);
  variant.family.rhs = find_format(it.rhs);
  variant.family.accumulate = it.adds;
  if (variant.family.lhs->name == std::string_view("qai8")) variant.family.dst = ElementType::i8;
  const LayoutPair layouts = choose_layouts(*variant.family.lhs, *variant.family.rhs,
                                            Technique::tile, isa, Panels{16, 32});
  variant.lhs = layouts.lhs;
  variant.rhs = layouts.rhs;
  variant.technique = Technique::tile;
  variant.isa = &isa;
  variant.tile = {16, 32};
  variant.knobs.unroll_k = 128;
  return variant;
}

std::vector<OpCode> operations(const Program& program) {
  std::vector<OpCode> all;
  for_each_op(program.body, [&](const Op& op) { all.push_back(op.code); });
  return all;
}

class TileStreams : public testing::TestWithParam<Case> {};

TEST_P(TileStreams, AreOrderedBeforeTheKernelReturns) {
  IsaLibrary isas(templates);
  const Isa& isa = isas.get(GetParam().isa);
  const Variant variant = variant_of(GetParam(), isa);
  const std::vector<OpCode> ops =
      operations(compile(variant, read_core(templates, isa.default_core)).ordered);
  const auto count = [&](OpCode code) { return std::count(ops.begin(), ops.end(), code); };
  EXPECT_EQ(count(OpCode::store_stream), GetParam().streams ? 2 : 0);
  EXPECT_EQ(count(OpCode::store_fence), GetParam().streams ? 1 : 0);
  if (!GetParam().streams) return;
  const auto behind = std::find(ops.begin(), ops.end(), OpCode::store_fence) + 1;
  EXPECT_EQ(std::vector<OpCode>(behind, ops.end()), std::vector{OpCode::mode_leave});
}

/// Rows of 32, 48 and 64 columns; 64 bytes more or less make other rows begin elsewhere.
TEST_P(TileStreams, AreRightWhereverOutputsLie) {
  IsaLibrary isas(templates);
  const Isa& isa = isas.get(GetParam().isa);
  const Variant variant = variant_of(GetParam(), isa);
  const Compiled compiled = compile(variant, read_core(templates, isa.default_core));
  Random random(3);
  for (const size_t n : {32, 48, 64}) {
    Codes codes = random_codes(variant, {}, random);
    while (codes.n != n) codes = random_codes(variant, {}, random);
    for (const int misalign : {0, 4, 64}) {
      for (const uint64_t padding : {0, 4, 64}) {
        CallOptions options;
        options.misalign = misalign;
        options.dst_padding = padding;
        options.flags = 1;
        const Call call(variant, codes, options);
        for (const Program* stage : {&compiled.lowered, &*compiled.allocated}) {
          EXPECT_EQ(run_and_compare(*stage, call, stage == &*compiled.allocated), "")
              << n << " columns, misaligned by " << misalign << ", padding " << padding;
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(, TileStreams,
                         testing::Values(Case{"amx_int8", "qai8dx", "qsi8cx", false, true},
                                         Case{"amx_int8", "qai8dx", "qsi4cx", false, true},
                                         Case{"amx_bf16", "bf16", "bf16", false, true},
                                         Case{"amx_int8", "qai8dx", "qsi8cx", true, false},
                                         Case{"amx_int8", "qai8", "qsi8cx", false, false}));

}  // namespace
}  // namespace tw::test::tile_streams_test
