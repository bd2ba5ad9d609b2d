// Products of codes whose k goes by in parts: sums wait in dst as i32, and the last part makes
// outputs of them. They have the bits of products without parts.
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>

#include "interpreter/random_variant.h"
#include "interpreter/run_program.h"
#include "pipeline/pipeline.h"
#include "spec/core_reader.h"
#include "spec/isa_reader.h"

namespace tw::test::parts_test {
namespace {

const std::filesystem::path source_dir = TILEWRIGHT_SOURCE_DIR;

Variant part_of(Variant variant, ElementType dst) {
  variant.family.operation = Operation::part;
  variant.family.dst = dst;
  variant.family.accumulate = false;
  variant.family.name = family_name(variant.family);
  return variant;
}

/// Without blocks, of whole tiles; far prefetches take more scalar registers than a fake ISA has.
Variant random_tile(const Isa& isa, const char* rhs, Random& random) {
  for (;;) {
    const std::optional<Variant> variant =
        random_variant({&isa, Technique::tile, "qai8dx", rhs}, random);
    const bool fits = variant && ratio(isa.tile_rows() * 2, variant->tile.m) >= 1 &&
                      ratio(isa.tile_columns() * 2, variant->tile.n) >= 1;
    if (fits && variant->knobs.prefetch != Prefetch::far) {
      return part_of(*variant, ElementType::f32);
    }
  }
}

/// One of the programs of each part, at one stage.
struct Parts {
  const Program *sums, *last;
  bool physical;
};

/// The first parts are of `step` values of k each.
std::string run_and_compare(const Parts& parts, const Call& call, size_t step) {
  const Variant& variant = *call.variant;
  const Codes& codes = call.codes;
  const auto depth = static_cast<int64_t>(codes.k);
  const size_t stride = codes.n * 4 + call.options.dst_padding;
  Memory memory;
  Arguments arguments;
  const auto set = [&](ArgField field, uint64_t value) {
    arguments.field[static_cast<size_t>(field)] = value;
  };
  const size_t bytes = codes.m == 0 || codes.n == 0 ? 0 : codes.m * stride;
  const uint64_t dst = memory.add("dst", std::vector<uint8_t>(bytes), true);
  const uint64_t lhs = memory.add("lhs", call.lhs, false);
  const uint64_t rhs = memory.add("rhs", call.rhs, false);
  set(ArgField::m, codes.m);
  set(ArgField::n, codes.n);
  set(ArgField::lhs_stride, static_cast<uint64_t>(panel_bytes(variant.lhs, depth).at({})));
  set(ArgField::rhs_stride, static_cast<uint64_t>(panel_bytes(variant.rhs, depth).at({})));
  set(ArgField::dst, dst);
  set(ArgField::dst_stride, stride);
  arguments.min = codes.min;
  arguments.max = codes.max;
  size_t at = 0;
  try {
    for (bool is_last = false; !is_last; at += step) {
      is_last = codes.k - at <= step;
      set(ArgField::k, is_last ? codes.k - at : step);
      const auto before = static_cast<int64_t>(at);
      set(ArgField::lhs, lhs + static_cast<uint64_t>(data_bytes(variant.lhs, before).at({})));
      set(ArgField::rhs, rhs + static_cast<uint64_t>(data_bytes(variant.rhs, before).at({})));
      run(is_last ? *parts.last : *parts.sums, arguments, memory,
          {.vl = {}, .physical = parts.physical});
    }
  } catch (const Fault& fault) {
    return std::string("fault: ") + fault.what();
  }
  for (size_t i = 0; i < bytes; ++i) {
    const size_t row = i / stride, byte = i % stride;
    const bool is_output = byte < codes.n * 4;
    uint8_t wanted = 0;
    if (is_output) {
      const float value = call.expected[row * codes.n + byte / 4];
      wanted = reinterpret_cast<const uint8_t*>(&value)[byte % 4];
    }
    if (memory.bytes(dst)[i] != wanted) {
      return "row " + std::to_string(row) + ", byte " + std::to_string(byte) + " differs";
    }
  }
  return "";
}

/// All but the panel's fields: parts of sums read none.
std::string read_fields(const Program& sums, const Call& call, bool physical) {
  const Variant& variant = *call.variant;
  const int64_t k = variant.lhs.k_multiple;
  Memory memory;
  Arguments arguments;
  const auto set = [&](ArgField field, uint64_t value) {
    arguments.field[static_cast<size_t>(field)] = value;
  };
  const auto codes_of = [&](const Layout& layout) {
    return std::vector<uint8_t>(static_cast<size_t>(data_bytes(layout, k).at({})), 1);
  };
  const auto m = static_cast<uint64_t>(variant.tile.m.fixed);
  const auto n = static_cast<uint64_t>(variant.tile.n.fixed);
  const uint64_t dst = memory.add("dst", std::vector<uint8_t>(m * n * 4), true);
  set(ArgField::m, m);
  set(ArgField::n, std::min(n, static_cast<uint64_t>(variant.rhs.panel.fixed)));
  set(ArgField::k, static_cast<uint64_t>(k));
  set(ArgField::lhs, memory.add("lhs", codes_of(variant.lhs), false));
  set(ArgField::rhs, memory.add("rhs", codes_of(variant.rhs), false));
  set(ArgField::dst, dst);
  set(ArgField::dst_stride, n * 4);
  try {
    run(sums, arguments, memory, {.vl = {}, .physical = physical});
  } catch (const Fault& fault) {
    return std::string("fault: ") + fault.what();
  }
  return memory.bytes(dst)[0] != 0 ? "" : "nothing was added";
}

class PartsOfK : public testing::TestWithParam<std::tuple<const char*, const char*>> {};

TEST_P(PartsOfK, AddUpToTheWholeAtEveryStage) {
  const auto& [name, rhs] = GetParam();
  const bool is_fake = std::string(name).starts_with("fake");
  IsaLibrary isas(source_dir / (is_fake ? "tests/fake_isa" : "templates"));
  const Isa& isa = isas.get(name);
  const CoreModel core = read_core(source_dir / "templates", isa.default_core);
  Random random(11);
  int cut = 0;
  for (int round = 0; round < 4; ++round) {
    const Variant variant = random_tile(isa, rhs, random);
    const Compiled last = compile(variant, core);
    const Compiled sums = compile(part_of(variant, ElementType::i32), core);
    const Parts stages[] = {{&sums.lowered, &last.lowered, false},
                            {&sums.ordered, &last.ordered, false},
                            {&*sums.selected, &*last.selected, false},
                            {&*sums.pipelined, &*last.pipelined, false},
                            {&*sums.allocated, &*last.allocated, true}};
    const auto unit = static_cast<size_t>(variant.lhs.k_multiple);
    for (int i = 0; i < 8; ++i) {
      const Call call(variant, random_codes(variant, {}, random),
                      {.vl = {}, .dst_padding = random.of<uint64_t>({0, 4})});
      const size_t step = unit * random.of<size_t>({1, 1, 2});
      cut += call.codes.k > step ? 1 : 0;
      const std::string about = describe(variant) + ", m=" + std::to_string(call.codes.m) +
                                " n=" + std::to_string(call.codes.n) +
                                " k=" + std::to_string(call.codes.k);
      for (const Parts& stage : stages) {
        EXPECT_EQ(run_and_compare(stage, call, step), "") << about;
      }
      EXPECT_EQ(read_fields(*sums.allocated, call, true), "") << about;
    }
  }
  EXPECT_GT(cut, 8);  // of 32
}

INSTANTIATE_TEST_SUITE_P(, PartsOfK,
                         testing::Combine(testing::Values("fake_wide", "fake_tiles", "amx_int8"),
                                          testing::Values("qsi8cx", "qsi4cx")));

}  // namespace
}  // namespace tw::test::parts_test
