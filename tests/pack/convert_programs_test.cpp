// Packers of floats that convert, run by the interpreter, against values computed here. For sources
// that no committed spec names, too.
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <random>

#include "model/variant.h"
#include "pack/programs.h"
#include "reference/pack_reference.h"
#include "reference/source_reference.h"

namespace tw::test::convert_programs_test {
namespace {

/// A source and, apart from its axes, what it means.
struct Kind {
  Source source;
  size_t block, block_bytes;  ///< so many values of a row in so many bytes
  std::function<float(const uint8_t* row, size_t i)> value;
  bool kxn = false;
};

Source rows(const char* name, Dim dim, const Part::Member& member) {
  return {name, Part{Axis{dim, rest, 1, 0, true}, {member}}};
}

FieldAxes floats(FieldKind kind, ElementType type) {
  return {kind, type, 0, {}, 0, {}};
}

FieldAxes row_of(ElementType type, Dim dim) {
  return {FieldKind::data, type, 0, {Axis{dim, rest, 1, bits(type)}}, 0, {}};
}

Kind shipped(const char* name) {
  Layout floats;
  floats.element = ElementType::f32;
  const SourceReference& reference = *find_source_reference(name);
  return {*find_source(name, floats), reference.block, reference.block_bytes, reference.value};
}

/// Blocks of 16: a scale of f32, whose products are rounded, a minimum, neighbors in a byte.
Source small_blocks() {
  const FieldAxes nibbles{FieldKind::data, ElementType::i4, 0, {Axis{Dim::k, 16, 1, 4}}, 8, {}};
  return rows("small", Dim::n,
              Part{Axis{Dim::k, rest, 16},
                   {floats(FieldKind::scales, ElementType::f32),
                    floats(FieldKind::minimums, ElementType::bf16), nibbles}});
}

float small_value(const uint8_t* row, size_t i) {
  const uint8_t* block = row + i / 16 * 14;
  float scale = 0;
  std::memcpy(&scale, block, sizeof scale);
  const int nibble = block[6 + i % 16 / 2] >> (i % 2 * 4) & 15;
  const float scaled = static_cast<float>(nibble) * scale;
  return scaled + brain_at(block + 4);
}

std::vector<Kind> kinds() {
  return {
      shipped("q4_0"),
      shipped("q8_0"),
      shipped("nxk_bf16"),
      shipped("q4_1"),
      {rows("half", Dim::n, row_of(ElementType::f16, Dim::k)), 1, 2,
       [](const uint8_t* row, size_t i) { return half_at(row + 2 * i); }},
      {rows("brain kxn", Dim::k, row_of(ElementType::bf16, Dim::n)), 1, 2, bf16_value, true},
      {small_blocks(), 16, 14, small_value},
  };
}

/// All bits of codes and floats, but no infinity and no NaN.
std::vector<uint8_t> random_bytes(size_t count) {
  std::mt19937 random(11);
  std::vector<uint8_t> bytes(count);
  for (size_t i = 0; i < count; ++i) {
    bytes[i] = static_cast<uint8_t>(random() & (i % 2 == 0 ? 0xff : 0xbf));
  }
  return bytes;
}

struct Run {
  const Program& program;
  const Layout& layout;
  const Kind& kind;
  size_t vl, n, k;
};

void check(const Run& run) {
  const Kind& kind = run.kind;
  SCOPED_TRACE(std::string(kind.source.name) + " to " + canonical(run.layout) + " n " +
               std::to_string(run.n) + " k " + std::to_string(run.k));
  const size_t outer = kind.kxn ? run.k : run.n;
  const size_t values = kind.kxn ? run.n : run.k;
  const size_t row_bytes = (values + kind.block - 1) / kind.block * kind.block_bytes;
  const size_t stride = row_bytes + 4;
  std::vector<uint8_t> bytes = random_bytes(outer * stride);
  bytes.resize(bytes.size() - 4);  // no padding behind the last row

  OperandCodes wanted_values{run.n, run.k, {}, {}, {}, {}};
  const std::string type(name(run.layout.element));
  for (size_t n = 0; n < run.n; ++n) {
    for (size_t k = 0; k < run.k; ++k) {
      const uint8_t* row = bytes.data() + (kind.kxn ? k : n) * stride;
      wanted_values.floats.push_back(output_bits(type, kind.value(row, kind.kxn ? n : k)));
    }
    wanted_values.bias.push_back(-0.25F * static_cast<float>(n));
  }
  const std::vector<uint8_t> wanted =
      pack(read_layout(canonical(run.layout), run.vl), wanted_values);

  Memory memory;
  Arguments arguments;
  field(arguments, ArgField::pack_rows) = field(arguments, ArgField::pack_row_end) = run.n;
  field(arguments, ArgField::pack_k) = run.k;
  field(arguments, ArgField::pack_source) = memory.add("source", bytes, false);
  field(arguments, ArgField::pack_source_stride) = stride;
  field(arguments, ArgField::pack_bias) =
      memory.add("bias", bytes_of(wanted_values.bias.data(), 4 * run.n), false);
  const uint64_t packed = memory.add_unwritten("packed", wanted.size(), 0);
  field(arguments, ArgField::pack_packed) = packed;
  const auto units = static_cast<int64_t>(run.vl);
  const auto panel = static_cast<size_t>(run.layout.panel.at({units, units}));
  field(arguments, ArgField::pack_packed_stride) = wanted.size() / ((run.n + panel - 1) / panel);
  field(arguments, ArgField::pack_vector_bytes) = 16 * run.vl;
  tw::run(run.program, arguments, memory);
  EXPECT_EQ(memory.bytes(packed), wanted);
}

void check_layout(const Layout& layout, size_t vl) {
  const auto units = static_cast<int64_t>(vl);
  const auto panel = static_cast<size_t>(layout.panel.at({units, units}));
  for (const Kind& kind : kinds()) {
    if (!converts(kind.source, layout)) continue;
    for (const char* by : {"scalar", "avx2", "avx512f", "neon"}) {
      SCOPED_TRACE(by);
      if (!can_pack(layout, kind.source, isa(by)) && isa(by).lanes32() > 1) continue;  // plain C's
      const Program program = lower_packer("pack", layout, kind.source, isa(by));
      check({program, layout, kind, vl, panel, 64});
      check({program, layout, kind, vl, 2 * panel - 1, 71});
      check({program, layout, kind, vl, 1, 1});
      check({program, layout, kind, vl, panel, 259});
    }
  }
}

Layout panels(const char* weights, const char* of, Technique technique, Length panel) {
  return choose_layouts(*find_format("f32"), *find_format(weights), technique, isa(of),
                        {0, panel, 1})
      .rhs;
}

bool by_vectors(const Layout& layout, const Kind& kind, const char* by) {
  return can_pack(layout, kind.source, isa(by));
}

TEST(ConvertPrograms, FloatsAreWidenedByVectors) {
  const Layout rows = choose_layouts(*find_format("f32"), *find_format("f32"), Technique::fma,
                                     isa("avx2"), {0, 8, 1})
                          .lhs;
  for (const Kind& kind : kinds()) {
    const bool floats = kind.block == 1 && !kind.kxn;
    EXPECT_EQ(by_vectors(rows, kind, "avx2"), floats) << kind.source.name;
    EXPECT_EQ(by_vectors(rows, kind, "neon"), floats) << kind.source.name;
  }
  check_layout(rows, 1);
}

TEST(ConvertPrograms, PanelsOfFloatsTakeAnySource) {
  check_layout(panels("f32", "scalar", Technique::fma, 4), 1);
  check_layout(panels("f32", "neon", Technique::fma, 24), 1);
  check_layout(panels("f16", "avx2", Technique::fma, 16), 1);
  for (const size_t vl : {1, 2}) {
    check_layout(panels("f32", "sve2", Technique::fma, Length{0, 16}), vl);
  }
}

}  // namespace
}  // namespace tw::test::convert_programs_test
