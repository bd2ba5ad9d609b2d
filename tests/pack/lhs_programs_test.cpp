// Packers that quantize activations, run whole by the interpreter, against the formulas and a slow
// reference packer. For layouts that no committed spec asks for, too.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>

#include "model/format.h"
#include "pack/programs.h"
#include "reference/half_reference.h"
#include "reference/pack_reference.h"
#include "reference/quantize_reference.h"

namespace tw::test {
namespace {

Field sums(int factor, bool per_block, int repeat = 1, int32_t base = 0) {
  return {FieldKind::sums, ElementType::i32, factor, repeat, per_block, base};
}
Field zero_points() {
  return {FieldKind::zero_points, ElementType::i32};
}
Field scales(bool per_block, int repeat = 1) {
  return {FieldKind::scales, ElementType::f32, 1, repeat, per_block};
}

Layout lhs(Length panel, int kr, std::vector<Field> fields, int block = 0) {
  Layout layout;
  layout.side = Side::lhs;
  layout.panel = panel;
  layout.order.kr = kr;
  layout.block = block;
  layout.fields = std::move(fields);
  return layout;
}
/// Codes as 16 bits, the even ones first.
Layout wide(Layout layout) {
  layout.element = ElementType::i16;
  layout.order.even_first = true;
  return layout;
}
/// As KleidiAI's packers end rows and panels.
Layout repeating(Layout layout) {
  layout.edge = Edge::last;
  layout.rounding = Rounding::away;
  return layout;
}

const Field codes{};
const std::vector<Field> by_rows = {codes, sums(-8, false), zero_points(), scales(false)};
const std::vector<Field> without_sums = {codes, zero_points(), scales(false)};
const std::vector<Field> row_scales = {codes, sums(-8, true), zero_points(), scales(false)};
const std::vector<Field> half_scales = {{FieldKind::scales, ElementType::f16, 1, 1, true}, codes};
const std::vector<Field> block_scales = {codes, sums(-8, true), scales(true)};

/// What a row can be: ordinary, ties (codes are twice as far apart), all alike, near the ends of
/// what floats hold, next to nothing, with one value that is not finite.
std::vector<float> make_row(size_t k, uint32_t kind, std::mt19937& random) {
  std::vector<float> row(k);
  if (k == 0) return row;
  std::uniform_real_distribution<float> around(-2, 5);
  for (float& x : row) {
    x = around(random);
    if (kind == 1) x = static_cast<float>(static_cast<int>(random() % 511) - 200) / 2;
    if (kind == 2) x = 0;
    if (kind == 3) x = (x - 1.5F) * 0.97e38F;
    if (kind == 4) x = std::ldexp(x, -149 + static_cast<int>(random() % 60));
    if (kind == 5) x = -std::fabs(x) - 1;
  }
  if (kind == 1) row.front() = -100, row.back() = 155;
  const float not_finite[] = {NAN, INFINITY, -INFINITY, -NAN};
  if (kind >= 6) row[random() % k] = not_finite[kind % 4];
  return row;
}

/// Rows of floats, as they lie in memory, and their codes.
struct Rows {
  std::vector<uint8_t> floats;
  OperandCodes codes;
};
Rows make_rows(const Layout& layout, const std::string& type, size_t count, size_t k,
               uint32_t seed) {
  std::mt19937 random(seed);
  Rows rows{{}, {count, k, {}, {}, {}, {}}};
  for (size_t i = 0; type == "i8" && i < count * k; ++i) {  // codes already
    rows.floats.push_back(static_cast<uint8_t>(random()));
    rows.codes.codes.push_back(static_cast<int8_t>(rows.floats.back()));
  }
  rows.codes.zero_points.assign(type == "i8" ? count : 0, -9);
  rows.codes.scales.assign(type == "i8" ? count : 0, 0.3F);
  if (type == "i8") return rows;
  const Ties ties = layout.rounding == Rounding::even ? Ties::even : Ties::away;
  const bool by_blocks = field_of(layout, FieldKind::scales).per_block;
  const BlockRule rule = {ties, field_of(layout, FieldKind::scales).type == ElementType::f16};
  const auto add = [&](const QuantizedRow& row) {
    rows.codes.codes.insert(rows.codes.codes.end(), row.codes.begin(), row.codes.end());
    rows.codes.zero_points.push_back(row.zero_point);
    rows.codes.scales.push_back(row.scale);
  };
  for (size_t r = 0; r < count; ++r) {
    std::vector<float> row = make_row(k, (static_cast<uint32_t>(r) + seed) % 10, random);
    for (float& x : row) {
      x = rounded_to(type, x);
      const uint32_t bits = float_bits(type, x);
      for (size_t i = 0; i < bytes_of_float(type); ++i) {
        rows.floats.push_back(static_cast<uint8_t>(bits >> (8 * i)));
      }
    }
    const auto block = static_cast<size_t>(layout.block);
    if (!by_blocks) add(quantize_row_qai8dx(row.data(), k, ties));
    for (size_t i = 0; by_blocks && i < k; i += block) {
      add(quantize_block_qsi8d32(row.data() + i, block, rule));
    }
  }
  return rows;
}

/// Whatever the packer reads exists, whatever it writes is wanted.
void check(const Program& program, const Layout& layout, const std::string& type, size_t count,
           size_t k, size_t vl) {
  SCOPED_TRACE(program.isa->name + " " + canonical(layout) + " from " + type + " rows " +
               std::to_string(count) + " k " + std::to_string(k));
  const Rows rows = make_rows(layout, type, count, k, static_cast<uint32_t>(count + k));
  const std::vector<uint8_t> wanted = pack(read_layout(canonical(layout), vl), rows.codes);
  const auto panel = static_cast<size_t>(layout.panel.at({1, static_cast<int64_t>(vl)}));
  Memory memory;
  Arguments arguments;
  field(arguments, ArgField::pack_rows) = count;
  field(arguments, ArgField::pack_row_end) = count + 5;
  field(arguments, ArgField::pack_k) = k;
  field(arguments, ArgField::pack_block) = static_cast<uint64_t>(layout.block);
  field(arguments, ArgField::pack_source) =
      memory.add("source", bytes_of(rows.floats.data(), rows.floats.size()), false);
  field(arguments, ArgField::pack_source_stride) = bytes_of_float(type) * k;
  const uint64_t packed = memory.add_unwritten("packed", wanted.size(), 4);
  field(arguments, ArgField::pack_packed) = packed;
  field(arguments, ArgField::pack_packed_stride) = wanted.size() / ((count + panel - 1) / panel);
  field(arguments, ArgField::pack_vector_bytes) = 16 * vl;
  const int at = field_index(layout, FieldKind::sums);
  const Field kept = at < 0 ? Field{} : layout.fields[static_cast<size_t>(at)];
  field(arguments, ArgField::pack_sum_factor) =
      static_cast<uint32_t>(kept.factor) | uint64_t{static_cast<uint32_t>(kept.base)} << 32;
  const auto copies = [&](FieldKind kind) {
    return static_cast<uint64_t>(repeat_of(layout, kind));
  };
  field(arguments, ArgField::pack_sum_copies) = copies(FieldKind::sums);
  field(arguments, ArgField::pack_scale_copies) = copies(FieldKind::scales);
  field(arguments, ArgField::pack_lhs_zero_point) =  // of codes
      static_cast<uint32_t>(-9) | uint64_t{std::bit_cast<uint32_t>(0.3F)} << 32;
  run(program, arguments, memory);
  EXPECT_EQ(memory.bytes(packed), wanted);
}

/// One packer for `layout` packs all of `layouts`, which differ in what are arguments.
void check(const char* on, const Layout& layout, const std::vector<Layout>& layouts, size_t vl = 1,
           ElementType from = ElementType::f32) {
  ASSERT_TRUE(can_quantize(layout, from, isa(on))) << on << " " << canonical(layout);
  const Program program = lower_quantizing_packer("pack", layout, from, isa(on));
  const std::string type(name(from));
  for (const Layout& each : layouts) {
    const auto panel = static_cast<size_t>(each.panel.at({1, static_cast<int64_t>(vl)}));
    const auto block = static_cast<size_t>(each.block);
    if (block != 0) {  // more blocks than are quantized together
      check(program, each, type, panel, 35 * block, vl);
      check(program, each, type, 2 * panel + 1, 3 * block, vl);
      continue;
    }
    check(program, each, type, panel, 512, vl);
    for (const size_t k : {0, 1, 31, 70, 259}) check(program, each, type, 10, k, vl);
  }
}
void check(const char* on, const Layout& layout, size_t vl = 1) {
  check(on, layout, {layout}, vl);
}

constexpr const char* isas[] = {"avx512_vnni", "avx2", "neon", "scalar"};

TEST(LhsPrograms, RowsAgreeWithTheFormulas) {
  for (const char* on : isas) {
    check(on, lhs(1, 4, by_rows));
    check(on, lhs(4, 4, by_rows), {lhs(4, 4, by_rows), lhs(4, 4, without_sums)});
    check(on, lhs(3, 8, without_sums));
  }
  check("avx2", wide(lhs(1, 4, by_rows)));
  check("avx2", wide(lhs(4, 4, by_rows)));
}

/// Exactly as the same values as f32 would be.
TEST(LhsPrograms, FloatsMayHave16Bits) {
  for (const ElementType from : {ElementType::f16, ElementType::bf16}) {
    for (const char* on : isas) {
      for (const Layout& layout : {lhs(1, 4, by_rows), lhs(4, 8, without_sums),
                                   lhs(1, 4, block_scales, 32), lhs(2, 8, row_scales, 32)}) {
        check(on, layout, {layout}, 1, from);
      }
    }
    const Layout wide_codes = wide(lhs(4, 4, by_rows));
    check("avx2", wide_codes, {wide_codes}, 1, from);
    const Layout repeated = repeating(lhs(4, 8, without_sums));
    check("neon", repeated, {repeated}, 1, from);
    const Layout scalable = lhs(Length{0, 0, 1}, 4, {codes, scales(true)}, 32);
    check("neon", scalable, {scalable}, 3, from);
  }
}

TEST(LhsPrograms, CodesAreCopied) {
  const Layout one = lhs(1, 4, {codes, sums(-128, false)});
  const Layout four = lhs(4, 4, {codes, sums(-128, false)});
  for (const char* on : isas) {
    check(on, one, {one}, 1, ElementType::i8);
    check(on, four, {four, lhs(4, 4, {codes})}, 1, ElementType::i8);
    check(on, lhs(3, 8, {codes}), {lhs(3, 8, {codes})}, 1, ElementType::i8);
    check(on, lhs(1, 4, by_rows), {lhs(1, 4, by_rows)}, 1, ElementType::i8);
    check(on, lhs(4, 8, by_rows), {lhs(4, 8, without_sums)}, 1, ElementType::i8);
  }
  for (const Layout& layout : {wide(one), wide(four)}) {
    check("avx2", layout, {layout}, 1, ElementType::i8);
  }
  const Layout vectors = lhs(Length{0, 0, 4}, 4, {codes});
  for (const char* on : {"neon", "scalar"}) check(on, vectors, {vectors}, 3, ElementType::i8);
}

TEST(LhsPrograms, RowsEndAsTheLayoutSays) {
  check("neon", repeating(lhs(1, 4, without_sums)));
  check("neon", repeating(lhs(4, 8, without_sums)));
  EXPECT_FALSE(can_quantize(repeating(lhs(4, 8, without_sums)), ElementType::f32, isa("avx2")));
}

TEST(LhsPrograms, ScalesOfBlocksMayBeHalves) {
  for (const Rounding rounding : {Rounding::away, Rounding::even}) {
    for (const Length panel : {Length{1}, Length{4}}) {
      Layout layout = lhs(panel, 8, half_scales, 32);
      layout.rounding = rounding;
      Layout longer = layout;
      longer.block = 96;
      check("neon", layout, {layout, longer});
    }
  }
}

TEST(LhsPrograms, PanelsAreAsWideAsVectors) {
  for (const size_t vl : {1, 2, 3}) {
    for (const char* on : {"neon", "scalar"}) {
      check(on, lhs(Length{0, 0, 4}, 4, without_sums), vl);
      check(on, lhs(Length{0, 0, 1}, 4, {codes, scales(true)}, 32), vl);
    }
  }
}

TEST(LhsPrograms, BlocksAgreeWithTheFormulas) {
  for (const char* on : isas) {
    for (const Length panel : {Length{1}, Length{4}}) {
      for (const std::vector<Field>& fields : {block_scales, row_scales}) {
        const Layout usual = lhs(panel, 4, fields, 32);
        check(on, usual, {usual, lhs(panel, 4, fields, 64), lhs(panel, 4, fields, 96)});
      }
    }
  }
  check("avx2", wide(lhs(1, 4, block_scales, 32)));
  check("avx2", wide(lhs(2, 4, block_scales, 32)));
}

TEST(LhsPrograms, CopiesAreTheCallers) {
  const auto layout = [](int sum_copies, int scale_copies) {
    return lhs(2, 8, {sums(-8, true, sum_copies, float_base), codes, scales(true, scale_copies)},
               32);
  };
  for (const char* on : isas) {
    for (const int usual : {2, 16}) {
      check(on, layout(usual, 4), {layout(usual, 4), layout(1, 4), layout(3, 2)});
    }
    check(on, layout(4, 1), {lhs(2, 8, {codes, scales(true, 2)}, 32)});
  }
}

}  // namespace
}  // namespace tw::test
