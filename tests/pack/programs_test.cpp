// Packers, and of blocks their inner loops, run by the interpreter, against slow reference packers,
// which know nothing but the Layout. For layouts that no committed spec asks for, too.
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "interpreter/pack_codes.h"
#include "model/variant.h"
#include "pack/programs.h"
#include "reference/pack_reference.h"

namespace tw::test {
namespace {

struct Shape {
  const char* isa;
  Technique technique;
  Length rhs_panel;
  int kr;
  LayoutStyle style = LayoutStyle::own;
  const char* weights = "qsi4cx";
};
const std::vector<Shape> shapes = {
    {"avx512_vnni", Technique::dot, 16, 4},
    {"avx512_vnni", Technique::dot, 32, 4},
    {"avx512_vnni", Technique::dot, 48, 4},
    {"avx512_vnni", Technique::dot, 64, 4},
    {"avx512_vnni", Technique::dot, 80, 4},
    {"avx2", Technique::dot, 8, 4},
    {"avx2", Technique::dot, 32, 4},
    {"avx2", Technique::dot, 48, 4},
    {"avx_vnni", Technique::dot, 16, 4},
    {"neon_i8mm", Technique::mmla, 4, 8},
    {"neon_i8mm", Technique::mmla, 8, 8},
    {"neon_i8mm", Technique::mmla, 12, 8},
    {"neon_i8mm", Technique::mmla, 16, 8},
    {"neon_i8mm", Technique::dot, 8, 4},
    {"neon_i8mm", Technique::dot, 24, 4},
    {"neon_dotprod", Technique::dot, 4, 4, LayoutStyle::kleidiai},
    {"neon_dotprod", Technique::dot, 8, 4, LayoutStyle::kleidiai},
    {"neon_dotprod", Technique::dot, 4, 8, LayoutStyle::kleidiai},
    {"neon_i8mm", Technique::mmla, 8, 8, LayoutStyle::kleidiai},
    {"neon_i8mm", Technique::mmla, 12, 8, LayoutStyle::kleidiai},
    {"avx512_vnni", Technique::dot, 16, 4, LayoutStyle::own, "qsi8cx"},
    {"avx512_vnni", Technique::dot, 48, 4, LayoutStyle::own, "qsi8cx"},
    {"avx2", Technique::dot, 24, 4, LayoutStyle::own, "qsi8cx"},
    {"avx_vnni", Technique::dot, 16, 4, LayoutStyle::own, "qsi8cx"},
    {"neon_dotprod", Technique::dot, 12, 4, LayoutStyle::own, "qsi8cx"},
    {"neon_i8mm", Technique::mmla, 8, 8, LayoutStyle::own, "qsi8cx"},
    {"neon_i8mm", Technique::mmla, 12, 8, LayoutStyle::own, "qsi8cx"}};

Layout rhs_layout(const Shape& shape) {
  return choose_layouts(*find_format("qai8dx"), *find_format(shape.weights), shape.technique,
                        isa(shape.isa), {0, shape.rhs_panel, shape.kr, shape.style})
      .rhs;
}

/// Weights and the bytes of a source that holds them.
struct Weights {
  Codes codes;
  size_t stride = 0;
  std::vector<uint8_t> source;
};

/// `bits` of a code: 4 (two to a byte) or 8.
Weights random_weights(size_t n, size_t k, size_t bits, bool kxn, bool is_unsigned, uint32_t seed) {
  std::mt19937 random(seed);
  Weights out;
  out.codes.m = 0;
  out.codes.n = n;
  out.codes.k = k;
  out.codes.rhs_scales.resize(n);
  out.codes.bias.resize(n);
  out.stride = ((kxn ? n : k) * bits + 7) / 8 + 3;
  out.source.resize((kxn ? k : n) * out.stride - 3);
  for (uint8_t& byte : out.source) byte = static_cast<uint8_t>(random());
  for (size_t column = 0; column < n; ++column) {
    for (size_t i = 0; i < k; ++i) {
      const size_t row = kxn ? i : column;
      const size_t at = kxn ? column : i;
      if (bits == 8) {
        out.codes.rhs.push_back(static_cast<int8_t>(out.source[row * out.stride + at]));
        continue;
      }
      const int nibble = out.source[row * out.stride + at / 2] >> (at % 2 * 4) & 15;
      const int code = is_unsigned ? nibble - 8 : (nibble ^ 8) - 8;
      out.codes.rhs.push_back(static_cast<int8_t>(code));
    }
  }
  return out;
}

/// Bits of a source byte that differ from those of the layout, for tw_args::flags.
uint64_t flip(const Layout& layout, bool is_unsigned) {
  if (layout.order.pair == NibblePair::none) return layout.order.low_unsigned ? 0x80808080U : 0;
  const uint64_t wanted =
      (layout.order.low_unsigned ? 0x08U : 0U) | (layout.order.high_unsigned ? 0x80U : 0U);
  return (wanted ^ (is_unsigned ? 0x88U : 0U)) * 0x01010101U;
}

struct Run {
  const Program& program;
  Layout layout;
  bool kxn, is_unsigned;
  size_t vl = 1;
  size_t n = 0, k = 0;
  int misaligned = 0;  ///< where packed
};

/// A whole packer, edges and all fields. Whatever it reads exists, whatever it writes is wanted.
void check_rhs(const Run& run) {
  const char* source = run.kxn ? "kxn" : "nxk";
  const Layout& layout = run.layout;
  SCOPED_TRACE(run.program.isa->name + " " + source + " " + canonical(layout) + " n " +
               std::to_string(run.n) + " k " + std::to_string(run.k) +
               (run.is_unsigned ? " unsigned" : ""));
  const auto code_bits = static_cast<size_t>(bits(layout.element));
  Weights weights = random_weights(run.n, run.k, code_bits, run.kxn, run.is_unsigned, 7);
  const size_t panel = static_cast<size_t>(layout.panel.at({static_cast<int64_t>(run.vl), 1}));
  OperandCodes codes{run.n, run.k, weights.codes.rhs, {}, {}, {}, run.kxn};
  for (size_t i = 0; i < run.n; ++i) {
    codes.scales.push_back(1.5F + static_cast<float>(i));
    codes.bias.push_back(-0.25F * static_cast<float>(i));
  }
  const std::vector<uint8_t> wanted = pack(read_layout(canonical(layout), run.vl), codes);

  Memory memory;
  Arguments arguments;
  field(arguments, ArgField::pack_rows) = run.n;
  field(arguments, ArgField::pack_row_end) = run.n + 5;
  field(arguments, ArgField::pack_k) = run.k;
  field(arguments, ArgField::pack_source) = memory.add("source", weights.source, false);
  field(arguments, ArgField::pack_source_stride) = weights.stride;
  field(arguments, ArgField::pack_scales) =
      memory.add("scales", bytes_of(codes.scales.data(), 4 * run.n), false);
  field(arguments, ArgField::pack_bias) =
      memory.add("bias", bytes_of(codes.bias.data(), 4 * run.n), false);
  const uint64_t packed = memory.add_unwritten("packed", wanted.size(), run.misaligned);
  field(arguments, ArgField::pack_packed) = packed;
  field(arguments, ArgField::pack_packed_stride) = wanted.size() / ((run.n + panel - 1) / panel);
  field(arguments, ArgField::pack_flags) = run.is_unsigned ? 1 : 0;
  field(arguments, ArgField::pack_vector_bytes) = 16 * run.vl;
  tw::run(run.program, arguments, memory);
  EXPECT_EQ(memory.bytes(packed), wanted);
}

/// Steps and parts of steps, of whole panels and others.
void check_shapes(Run run) {
  const size_t panel = static_cast<size_t>(run.layout.panel.at({static_cast<int64_t>(run.vl), 1}));
  for (const auto& [n, k] :
       {std::pair{panel, size_t{256}}, {3 * panel - 2, 70}, {2, 33}, {2 * panel, 32}}) {
    for (const int misaligned : {0, 4}) {
      run.n = n;
      run.k = k;
      run.misaligned = misaligned;
      check_rhs(run);
    }
  }
}

TEST(PackPrograms, RhsAgreesWithTheLayout) {
  for (const Shape& shape : shapes) {
    const Layout layout = rhs_layout(shape);
    for (const bool kxn : {false, true}) {
      const Source& source = *find_source(kxn ? "kxn" : "nxk", layout);
      EXPECT_TRUE(can_pack(layout, source, isa(shape.isa)));
      const Program program = lower_packer("pack", layout, source, isa(shape.isa));
      check_shapes({program, layout, kxn, false});
      check_shapes({program, layout, kxn, true});
    }
  }
}

void check_value_by_value(const Layout& layout, size_t vl) {
  for (const bool kxn : {false, true}) {
    const Source& source = *find_source(kxn ? "kxn" : "nxk", layout);
    const Program program = lower_packer("pack", layout, source, isa("scalar"));
    check_shapes({program, layout, kxn, kxn, vl});
  }
}

TEST(PackPrograms, EveryLayoutIsPackedValueByValue) {
  for (const Shape& shape : shapes) {
    if (shape.style == LayoutStyle::own) check_value_by_value(rhs_layout(shape), 1);
  }
  for (const size_t vl : {1, 2, 3}) {
    check_value_by_value(rhs_layout({"sve2", Technique::mmla, Length{0, 8}, 8}), vl);
    check_value_by_value(rhs_layout({"sve2", Technique::mmla, Length{0, 16}, 8}), vl);
  }
}

TEST(PackPrograms, ReferencesAgree) {
  for (const Shape& shape : shapes) {
    const Layout layout = rhs_layout(shape);
    const auto code_bits = static_cast<size_t>(bits(layout.element));
    const Weights weights = random_weights(100, 70, code_bits, false, true, 3);
    OperandCodes codes{weights.codes.n,          weights.codes.k,   weights.codes.rhs, {},
                       weights.codes.rhs_scales, weights.codes.bias};
    EXPECT_EQ(pack(read_layout(canonical(layout)), codes), pack(layout, weights.codes, {}))
        << canonical(layout);
  }
}

/// Panels of blocks with a scale each, from a source made here.
struct BlockRun {
  const char* isa;
  int panel, kr, block;
  ElementType scales;
  bool ggml, is_unsigned, stream;
  const char* weights = "qsi4c32";
};

Layout block_layout(const BlockRun& run) {
  Panels panels{0, run.panel, run.kr};
  panels.block = run.block;
  panels.scales = run.scales;
  return choose_layouts(*find_format("qai8dx"), *find_format(run.weights), Technique::dot,
                        isa(run.isa), panels)
      .rhs;
}

/// A scale that every type holds, and its bits.
float block_scale(size_t column, size_t block) {
  return static_cast<float>(1 + (column * 7 + block * 5) % 100) / 64;
}

void check_blocks(const BlockRun& run) {
  const Layout layout = block_layout(run);
  const bool is_bytes = layout.element == ElementType::i8;
  const char* ggml = is_bytes ? "q8_0" : "q4_0";
  SCOPED_TRACE(std::string(run.isa) + (run.ggml ? " ggml " : " nxk ") + canonical(layout) +
               (run.stream ? " stream" : ""));
  ASSERT_TRUE(can_pack_blocks(layout, isa(run.isa)));
  const Source* from = find_source(run.ggml ? ggml : "nxk", layout);
  ASSERT_NE(from, nullptr);
  const SourceBlocks source = source_blocks(layout, *from);
  const auto n = static_cast<size_t>(run.panel);
  const auto block = static_cast<size_t>(run.block);
  const size_t blocks = 3;
  const size_t row_bytes = blocks * static_cast<size_t>(source.bytes);
  const std::string type(name(run.scales));

  std::mt19937 random(5);
  Codes codes;
  codes.n = n;
  codes.k = blocks * block;
  codes.block = block;
  codes.bias.resize(n);
  std::vector<uint8_t> bytes(n * row_bytes);
  std::vector<uint8_t> scales;
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
  for (size_t column = 0; column < n; ++column) {
    for (size_t k = 0; k < codes.k; ++k) {
      const uint8_t* from = bytes.data() + column * row_bytes +
                            k / block * static_cast<size_t>(source.bytes) + source.codes;
      if (is_bytes) {
        codes.rhs.push_back(static_cast<int8_t>(from[k % block]));
        continue;
      }
      const int nibble = run.ggml ? from[k % 16] >> (k / 16 % 2 * 4) & 15
                                  : from[k % block / 2] >> (k % 2 * 4) & 15;
      codes.rhs.push_back(static_cast<int8_t>(run.is_unsigned ? nibble - 8 : (nibble ^ 8) - 8));
    }
    for (size_t b = 0; b < blocks; ++b) codes.rhs_scales.push_back(block_scale(column, b));
  }
  for (size_t b = 0; b < blocks; ++b) {
    for (size_t column = 0; column < n; ++column) {
      const uint32_t bits = float_bits(type, block_scale(column, b));
      for (size_t i = 0; i < bytes_of_float(type); ++i) {
        scales.push_back(static_cast<uint8_t>(bits >> (8 * i)));
      }
    }
  }
  const std::vector<uint8_t> wanted = pack(layout, codes, {});

  Memory memory;
  Arguments arguments;
  field(arguments, ArgField::lhs) = memory.add("source", bytes, false);
  field(arguments, ArgField::lhs_stride) = row_bytes;
  field(arguments, ArgField::k) = blocks;
  field(arguments, ArgField::lookup) = memory.add("scales", scales, false);
  const uint64_t packed = memory.add("packed", std::vector<uint8_t>(wanted.size(), 0), true);
  field(arguments, ArgField::dst) = packed;
  const auto sums = static_cast<size_t>(field_index(layout, FieldKind::sums));
  field(arguments, ArgField::dst_stride) =
      static_cast<uint64_t>(field_offset(layout, sums, static_cast<int64_t>(codes.k)).fixed);
  field(arguments, ArgField::flags) = flip(layout, run.is_unsigned);
  tw::run(lower_pack_blocks(layout, isa(run.isa), source, {"pack", run.stream}), arguments, memory);
  EXPECT_EQ(memory.bytes(packed), wanted);
}

TEST(PackPrograms, BlocksAgreeWithTheLayout) {
  struct Panel {
    const char* isa;
    int columns, kr;
  };
  for (const auto& [name, columns, kr] : {Panel{"avx512_vnni", 16, 4},
                                          {"avx512_vnni", 32, 4},
                                          {"avx2", 8, 4},
                                          {"avx2", 16, 4},
                                          {"neon_dotprod", 8, 4},
                                          {"neon_dotprod", 16, 4},
                                          {"neon_i8mm", 8, 8},
                                          {"neon_i8mm", 12, 8}}) {
    for (const ElementType scales : {ElementType::f16, ElementType::bf16, ElementType::f32}) {
      for (const int block : {32, 64, 128, 256}) {
        for (const bool is_unsigned : {false, true}) {
          check_blocks({name, columns, kr, block, scales, false, is_unsigned, false});
          check_blocks({name, columns, kr, block, scales, false, false, false, "qsi8c32"});
        }
      }
    }
    check_blocks({name, columns, kr, 32, ElementType::f16, true, false, false, "qsi8c32"});
    BlockRun ggml{name, columns, kr, 32, ElementType::f16, true, true, false};
    check_blocks(ggml);
    const Length vector = isa(name).vector_bytes;
    ggml.stream = can_stream(isa(name)) && ratio(block_bytes(block_layout(ggml)), vector) > 0;
    if (ggml.stream) check_blocks(ggml);
  }
}

}  // namespace
}  // namespace tw::test
