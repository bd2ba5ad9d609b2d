// Technique `tile` asks for weights ahead line by line, beside the code that reads some: never for
// those of a whole iteration at once, as memory would be idle after it.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <vector>

#include "pipeline/pipeline.h"
#include "spec/core_reader.h"
#include "spec/isa_reader.h"

namespace tw::test::tile_prefetch_test {
namespace {

const std::filesystem::path templates = std::filesystem::path(TILEWRIGHT_SOURCE_DIR) / "templates";

struct Case {
  const char *lhs, *rhs;
  int64_t m;
  int unroll_k;
  Prefetch prefetch;
  int64_t lines;     ///< of weights in an iteration
  int64_t together;  ///< most that are asked for before some are read
};

void PrintTo(const Case& it, std::ostream* out) {
  *out << it.lhs << ' ' << it.rhs << " m" << it.m << " u" << it.unroll_k << ' '
       << name(it.prefetch);
}

Variant variant_of(const Case& it, const Isa& isa) {
  Variant variant;
  variant.family.name = "tiles";
  variant.family.lhs = find_format(it.lhs);
  variant.family.rhs = find_format(it.rhs);
  if (variant.family.lhs->name == std::string_view("qai8")) variant.family.dst = ElementType::i8;
  const LayoutPair layouts = choose_layouts(*variant.family.lhs, *variant.family.rhs,
                                            Technique::tile, isa, Panels{it.m, 32});
  variant.lhs = layouts.lhs;
  variant.rhs = layouts.rhs;
  variant.technique = Technique::tile;
  variant.isa = &isa;
  variant.tile = {it.m, 32};
  variant.knobs.unroll_k = it.unroll_k;
  variant.knobs.prefetch = it.prefetch;
  return variant;
}

const Loop* hot_loop(const Region& region) {
  for (const auto& node : region.nodes) {
    const auto* loop = std::get_if<std::unique_ptr<Loop>>(&node);
    if (loop == nullptr) continue;
    if ((*loop)->hot) return loop->get();
    if (const Loop* inner = hot_loop((*loop)->body)) return inner;
  }
  return nullptr;
}

class TilePrefetches : public testing::TestWithParam<Case> {};

TEST_P(TilePrefetches, StandBesideWhatReads) {
  IsaLibrary isas(templates);
  const Isa& isa = isas.get("amx_int8");
  const Variant variant = variant_of(GetParam(), isa);
  const Compiled compiled = compile(variant, read_core(templates, isa.default_core));
  const Loop* loop = hot_loop(compiled.allocated->body);
  ASSERT_NE(loop, nullptr);
  std::vector<int64_t> asked;
  int64_t run = 0, longest = 0;
  for_each_op(loop->body, [&](const Op& op) {
    const OpCode code = op.row->means.front().code;
    if (code == OpCode::prefetch || code == OpCode::prefetch_near) {
      asked.push_back(op.immediates.front().fixed);
      longest = std::max(longest, ++run);
    } else if (code == OpCode::load || code == OpCode::tile_dot4_s8u8) {
      run = 0;
    }
  });
  std::vector<int64_t> all;
  for (int64_t line = 0; line < GetParam().lines; ++line) all.push_back(line * 64);
  EXPECT_EQ(asked, all);
  EXPECT_LE(longest, GetParam().together);
}

INSTANTIATE_TEST_SUITE_P(, TilePrefetches,
                         testing::Values(Case{"qai8dx", "qsi8cx", 16, 64, Prefetch::near, 32, 16},
                                         Case{"qai8dx", "qsi8cx", 32, 64, Prefetch::near, 32, 8},
                                         Case{"qai8dx", "qsi8cx", 32, 64, Prefetch::far, 32, 8},
                                         Case{"qai8", "qsi8cx", 32, 64, Prefetch::far, 32, 8},
                                         Case{"qai8dx", "qsi4cx", 16, 64, Prefetch::near, 16, 2},
                                         Case{"qai8dx", "qsi4cx", 32, 64, Prefetch::far, 16, 2},
                                         Case{"qai8dx", "qsi4cx", 16, 128, Prefetch::near, 32, 2},
                                         Case{"qai8dx", "qsi4cx", 32, 128, Prefetch::far, 32, 2}));

}  // namespace
}  // namespace tw::test::tile_prefetch_test
