// Packers run by the interpreter, against a slow reference packer that knows nothing but the
// layout's text. For layouts that no committed spec asks for, too.
#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <random>

#include "model/variant.h"
#include "pack/programs.h"
#include "reference/matmul_reference.h"
#include "reference/pack_reference.h"
#include "reference/static_reference.h"
#include "support/environment.h"

namespace tw::test {
namespace {

struct Shape {
  const char* isa;
  Technique technique;
  Length rhs_panel;
  int kr;
  LayoutStyle style = LayoutStyle::own;
  const char* weights = "qsi4cx";
  const char* activations = "qai8dx";
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
    {"neon_dotprod", Technique::dot, 12, 4, LayoutStyle::kleidiai, "qsi8cx"},
    {"avx512_vnni", Technique::dot, 16, 4, LayoutStyle::own, "qsi8cx"},
    {"avx512_vnni", Technique::dot, 48, 4, LayoutStyle::own, "qsi8cx"},
    {"avx2", Technique::dot, 24, 4, LayoutStyle::own, "qsi8cx"},
    {"avx_vnni", Technique::dot, 16, 4, LayoutStyle::own, "qsi8cx"},
    {"neon_dotprod", Technique::dot, 12, 4, LayoutStyle::own, "qsi8cx"},
    {"neon_i8mm", Technique::mmla, 8, 8, LayoutStyle::own, "qsi8cx"},
    {"neon_i8mm", Technique::mmla, 12, 8, LayoutStyle::own, "qsi8cx"},
    {"avx512_vnni", Technique::dot, 32, 4, LayoutStyle::own, "qsi8cx", "qai8"},
    {"avx2", Technique::dot, 24, 4, LayoutStyle::own, "qsi8cx", "qai8"},
    {"neon_dotprod", Technique::dot, 12, 4, LayoutStyle::own, "qsi8cx", "qai8"},
    {"avx2", Technique::dot, 32, 4, LayoutStyle::own, "qsi4cx", "qai8"},
    {"neon_i8mm", Technique::mmla, 8, 8, LayoutStyle::own, "qsi4cx", "qai8"}};
const std::vector<Shape> plain_shapes = {
    {"avx512_vnni", Technique::dot, 32, 4, LayoutStyle::own, "qsi2cx"},
    {"avx2", Technique::dot, 8, 4, LayoutStyle::own, "qsi2cx"},
    {"avx2", Technique::dot, 16, 4, LayoutStyle::own, "qsi2cx", "qai8"},
    {"neon_i8mm", Technique::mmla, 8, 8, LayoutStyle::own, "qsi2cx"}};

Layout rhs_layout(const Shape& shape) {
  return choose_layouts(*find_format(shape.activations), *find_format(shape.weights),
                        shape.technique, isa(shape.isa),
                        {0, shape.rhs_panel, shape.kr, shape.style})
      .rhs;
}

/// Weights and the bytes of a source that holds them.
struct Weights {
  Codes codes;
  size_t stride = 0;
  std::vector<uint8_t> source;
};

/// `bits` of a code: 8, or so few that several share a byte, the first in its lowest bits.
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
      const int half = 1 << (bits - 1);
      const int given =
          out.source[row * out.stride + at * bits / 8] >> (at * bits % 8) & (2 * half - 1);
      const int code = is_unsigned && bits == 4 ? given - half : (given ^ half) - half;
      out.codes.rhs.push_back(static_cast<int8_t>(code));
    }
  }
  return out;
}

struct Run {
  const Program& program;
  Layout layout;
  bool kxn, is_unsigned;
  size_t vl = 1;
  size_t n = 0, k = 0;
  int misaligned = 0;  ///< where packed
};

/// What columns keep for static activations, of which it tells the packer. The bias is any bits.
void fold(OperandCodes& codes, Arguments& arguments) {
  StaticMatmul in;
  in.n = codes.rows;
  in.k = codes.k;
  in.rhs = codes.codes;
  in.scales = codes.scales;
  for (const float bias : codes.bias) in.bias.push_back(std::bit_cast<int32_t>(bias));
  in.lhs_zero_point = -77;
  in.lhs_scale = 0.3F;
  in.dst_scale = 7;
  for (size_t column = 0; column < in.n; ++column) {
    codes.sums.push_back(folded_bias(in, column));
    codes.scales[column] = folded_scale(in, column);
  }
  field(arguments, ArgField::pack_lhs_zero_point) =
      static_cast<uint32_t>(in.lhs_zero_point) | uint64_t{std::bit_cast<uint32_t>(in.lhs_scale)}
                                                     << 32;
  field(arguments, ArgField::pack_dst_scale) = std::bit_cast<uint32_t>(in.dst_scale);
}

/// A whole packer, edges and all fields. Whatever it reads exists, whatever it writes is wanted.
void check_rhs(const Run& run) {
  const char* source = run.kxn ? "kxn" : "nxk";
  const Layout& layout = run.layout;
  SCOPED_TRACE(run.program.isa->name + " " + source + " " + canonical(layout) + " n " +
               std::to_string(run.n) + " k " + std::to_string(run.k) +
               (run.is_unsigned ? " unsigned" : ""));
  const auto code_bits = static_cast<size_t>(bits(layout.element));
  Weights weights = random_weights(run.n, run.k, code_bits, run.kxn, run.is_unsigned, 7);
  const auto units = static_cast<int64_t>(run.vl);
  const auto panel = static_cast<size_t>(layout.panel.at({units, units}));
  OperandCodes codes{run.n, run.k, weights.codes.rhs, {}, {}, {}, run.kxn && code_bits == 4};
  for (size_t i = 0; i < run.n; ++i) {
    codes.scales.push_back(1.5F + static_cast<float>(i));
    codes.bias.push_back(-0.25F * static_cast<float>(i));
    codes.real_zeros.push_back(0.75F - static_cast<float>(i));
  }
  Memory memory;
  Arguments arguments;
  field(arguments, ArgField::pack_scales) =
      memory.add("scales", bytes_of(codes.scales.data(), 4 * run.n), false);
  if (field_index(layout, FieldKind::sums) < 0) fold(codes, arguments);
  const std::vector<uint8_t> wanted = pack(read_layout(canonical(layout), run.vl), codes);
  field(arguments, ArgField::pack_rows) = run.n;
  field(arguments, ArgField::pack_row_end) = run.n + 5;
  field(arguments, ArgField::pack_k) = run.k;
  field(arguments, ArgField::pack_source) = memory.add("source", weights.source, false);
  field(arguments, ArgField::pack_source_stride) = weights.stride;
  field(arguments, ArgField::pack_bias) =
      memory.add("bias", bytes_of(codes.bias.data(), 4 * run.n), false);
  field(arguments, ArgField::pack_zero_points) =
      memory.add("zero points", bytes_of(codes.real_zeros.data(), 4 * run.n), false);
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
  const auto units = static_cast<int64_t>(run.vl);
  const auto panel = static_cast<size_t>(run.layout.panel.at({units, units}));
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

// With sanitizers every third shape: they look at what makes all of them.
TEST(PackPrograms, RhsAgreesWithTheLayout) {
  size_t number = 0;
  for (const Shape& shape : shapes) {
    if (is_sanitized && !is_long() && ++number % 3 != 0) continue;
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
  for (const Shape& shape : plain_shapes) check_value_by_value(rhs_layout(shape), 1);
  for (const size_t vl : {1, 2, 3}) {
    check_value_by_value(rhs_layout({"sve2", Technique::mmla, Length{0, 8}, 8}), vl);
    check_value_by_value(rhs_layout({"sve2", Technique::mmla, Length{0, 16}, 8}), vl);
  }
}

/// Panels as wide as vectors by vectors of 16 bytes: of codes here, of floats in
/// convert_programs_test.cpp.
TEST(PackPrograms, StripsOfWidePanels) {
  const Shape wide[] = {
      {"sve2", Technique::mmla, Length{0, 8}, 8},
      {"sve2", Technique::mmla, Length{0, 16}, 8},
      {"sme", Technique::outer, Length{0, 0, 8}, 4},
      {"sme", Technique::outer, Length{0, 0, 16}, 4},
      {"sme2", Technique::outer, Length{0, 0, 8}, 4},
      {"sme2", Technique::outer, Length{0, 0, 16}, 4},
      {"sve2", Technique::mmla, Length{0, 8}, 8, LayoutStyle::own, "qsi8cx"},
      {"sve2", Technique::mmla, Length{0, 12}, 8, LayoutStyle::own, "qsi8cx"},
      {"sme", Technique::outer, Length{0, 0, 8}, 4, LayoutStyle::own, "qsi8cx"},
  };
  for (const Shape& shape : wide) {
    const Layout layout = rhs_layout(shape);
    const Isa& by = isa(isa(shape.isa).packers);
    const Source& source = *find_source("nxk", layout);
    ASSERT_TRUE(can_pack(layout, source, by)) << canonical(layout);
    const Program program = lower_packer("pack", layout, source, by);
    for (const size_t vl : {1, 2, 3}) {
      check_shapes({program, layout, false, false, vl});
      check_shapes({program, layout, false, true, vl});
    }
  }
}

/// Panels of blocks with a scale each, from a source made here.
struct BlockRun {
  const char* isa;
  int panel, kr, block;
  ElementType scales;
  bool ggml, is_unsigned;
  int misaligned = 0;
  const char* weights = "qsi4c32";
  bool nbits = false;  ///< as MatMulNBits has them
  Technique technique = Technique::dot;
  Length wide = 0;  ///< panels as wide as vectors, of which `panel` is one of those of `vl`
  size_t vl = 1;
};

Layout block_layout(const BlockRun& run) {
  Panels panels{0, run.wide == Length{} ? Length{run.panel} : run.wide, run.kr};
  panels.block = run.block;
  panels.scales = run.scales;
  return choose_layouts(*find_format("qsi8d32"), *find_format(run.weights), run.technique,
                        isa(run.isa), panels)
      .rhs;
}

/// A scale that every type holds, and its bits.
float block_scale(size_t column, size_t block) {
  return static_cast<float>(1 + (column * 7 + block * 5) % 100) / 64;
}

/// Where the parts of a block are in a source.
struct SourceBlock {
  size_t bytes, codes;
  bool apart;  ///< a byte holds values k and k + 16 of 32
};

SourceBlock source_block(const BlockRun& run, bool is_bytes) {
  const size_t codes = static_cast<size_t>(run.block) / (is_bytes ? 1 : 2);
  return run.ggml ? SourceBlock{2 + codes, 2, true} : SourceBlock{codes, 0, false};
}

/// Of MatMulNBits: any number for the block of that number, and where it stands.
float zero_code(bool is_bytes, size_t at) {
  return static_cast<float>(static_cast<int>(at * 37 % (is_bytes ? 256 : 16)) -
                            (is_bytes ? 128 : 8));
}

void add_zero_code(std::vector<uint8_t>& zeros, bool is_bytes, size_t column, size_t block,
                   size_t blocks, size_t at) {
  const int code = static_cast<int>(zero_code(is_bytes, at)) + (is_bytes ? 128 : 8);
  if (is_bytes) {
    zeros[column * blocks + block] = static_cast<uint8_t>(code);
  } else {
    zeros[column * ((blocks + 1) / 2) + block / 2] |= static_cast<uint8_t>(code << block % 2 * 4);
  }
}

void check_blocks(const Program& program, const BlockRun& run, const Layout& layout, size_t n) {
  const bool is_bytes = layout.element == ElementType::i8;
  SCOPED_TRACE(std::string(run.isa) + (run.ggml ? " ggml " : " nxk ") + canonical(layout) + " n " +
               std::to_string(n));
  const SourceBlock source = source_block(run, is_bytes);
  const auto block = static_cast<size_t>(run.block);
  const size_t blocks = 256 / block + 1;  // more than are packed at a time
  const std::string type(name(run.scales));
  const size_t scale_bytes = bytes_of_float(type);

  std::mt19937 random(5);
  OperandCodes codes{n, blocks * block, {}, {}, {}, std::vector<float>(n, 0.75F)};
  std::vector<uint8_t> bytes(n * blocks * source.bytes);
  std::vector<uint8_t> scales(n * blocks * scale_bytes), zeros = scales;
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
  for (size_t column = 0; column < n; ++column) {
    for (size_t b = 0; b < blocks; ++b) {
      const size_t at = column * blocks + b;
      codes.scales.push_back(block_scale(column, b));
      const uint32_t bits = float_bits(type, codes.scales.back());
      uint8_t* const scale =
          run.ggml ? bytes.data() + at * source.bytes : scales.data() + at * scale_bytes;
      std::memcpy(scale, &bits, scale_bytes);
      codes.real_zeros.push_back(run.nbits ? zero_code(is_bytes, at) : 2 - block_scale(b, column));
      const uint32_t zero = float_bits(type, codes.real_zeros.back());
      if (!run.nbits) std::memcpy(zeros.data() + at * scale_bytes, &zero, scale_bytes);
      if (run.nbits) add_zero_code(zeros, is_bytes, column, b, blocks, at);
      const uint8_t* const from = bytes.data() + at * source.bytes + source.codes;
      for (size_t k = 0; k < block; ++k) {
        if (is_bytes) {
          codes.codes.push_back(static_cast<int8_t>(from[k] ^ (run.nbits ? 0x80 : 0)));
          continue;
        }
        const int nibble =
            source.apart ? from[k % 16] >> (k / 16 * 4) & 15 : from[k / 2] >> (k % 2 * 4) & 15;
        const bool is_unsigned = run.is_unsigned || run.ggml || run.nbits;
        const int code = is_unsigned ? nibble - 8 : (nibble ^ 8) - 8;
        codes.codes.push_back(static_cast<int8_t>(code));
      }
    }
  }
  const std::vector<uint8_t> wanted = pack(read_layout(canonical(layout), run.vl), codes);

  Memory memory;
  Arguments arguments;
  field(arguments, ArgField::pack_rows) = field(arguments, ArgField::pack_row_end) = n;
  field(arguments, ArgField::pack_k) = codes.k;
  field(arguments, ArgField::pack_vector_bytes) = 16 * run.vl;
  field(arguments, ArgField::pack_block) = block;
  field(arguments, ArgField::pack_source) = memory.add("source", bytes, false);
  field(arguments, ArgField::pack_source_stride) = blocks * source.bytes;
  field(arguments, ArgField::pack_scales) = memory.add("scales", scales, false);
  field(arguments, ArgField::pack_zero_points) = memory.add("zero points", zeros, false);
  field(arguments, ArgField::pack_scale_stride) = blocks * scale_bytes;
  field(arguments, ArgField::pack_bias) =
      memory.add("bias", bytes_of(codes.bias.data(), 4 * n), false);
  const uint64_t packed = memory.add_unwritten("packed", wanted.size(), run.misaligned);
  field(arguments, ArgField::pack_packed) = packed;
  const auto panel = static_cast<size_t>(run.panel);
  field(arguments, ArgField::pack_packed_stride) = wanted.size() / ((n + panel - 1) / panel);
  field(arguments, ArgField::pack_flags) = run.is_unsigned ? 1 : 0;
  tw::run(program, arguments, memory);
  EXPECT_EQ(memory.bytes(packed), wanted);
}

void check_blocks(const BlockRun& run) {
  const Layout layout = block_layout(run);
  const bool is_bytes = layout.element == ElementType::i8;
  const char* ggml = is_bytes ? "q8_0" : "q4_0";
  const Source* from = find_source(run.ggml ? ggml : run.nbits ? "nbits" : "nxk", layout);
  ASSERT_NE(from, nullptr);
  const Isa& by = isa(run.wide == Length{} ? run.isa : isa(run.isa).packers);
  // A vector's nibbles are more than a short block has.
  const bool plain = by.name == "scalar" || (run.block == 16 && !is_bytes);
  EXPECT_EQ(can_pack(layout, *from, by), !plain) << canonical(layout);
  const bool has_zeros = field_index(layout, FieldKind::zero_points) >= 0;
  for (const Isa* each : {&by, &isa("scalar")}) {
    const bool is_scalar = each->name == "scalar";
    if (is_scalar ? !plain && !has_zeros : plain) continue;
    const Program program = lower_packer("pack", layout, *from, *each);
    check_blocks(program, run, layout, static_cast<size_t>(run.panel));
    check_blocks(program, run, layout, static_cast<size_t>(run.panel) * 2 - 1);
  }
}

/// Of panels as wide as vectors, by vectors of 16 bytes.
TEST(PackPrograms, StripsOfWideBlocks) {
  struct Kind {
    const char* isa;
    Technique technique;
    Length panel;
    int kr;
    const char* weights;
  };
  for (const auto& [isa, technique, panel, kr, weights] :
       {Kind{"sve2", Technique::mmla, Length{0, 8}, 8, "qsi4c32"},
        {"sve2", Technique::mmla, Length{0, 16}, 8, "qsi4c32"},
        {"sve2", Technique::mmla, Length{0, 8}, 8, "qsi8c32"},
        {"sme2", Technique::outer, Length{0, 0, 8}, 4, "qsi4c32"},
        {"sme2", Technique::outer, Length{0, 0, 16}, 4, "qsi4c32"},
        {"sme2", Technique::outer, Length{0, 0, 8}, 4, "qsi8c32"},
        {"sve2", Technique::mmla, Length{0, 8}, 8, "qai4c32"},
        {"sme2", Technique::outer, Length{0, 0, 8}, 4, "qai4c32"},
        {"sme2", Technique::outer, Length{0, 0, 8}, 4, "qai8c32"}}) {
    for (const int vl : {1, 2, 3}) {
      const auto rows = static_cast<int>(panel.at({vl, vl}));
      for (const int block : {32, 64, 128}) {
        for (const bool ggml : {false, true}) {
          if (ggml && (block != 32 || weights[1] == 'a')) continue;  // zero points: not in a block
          const auto length = static_cast<size_t>(vl);
          const ElementType scales = ggml || vl == 1 ? ElementType::f16 : ElementType::f32;
          check_blocks({isa, rows, kr, block, scales, ggml, vl == 2, 0, weights, false, technique,
                        panel, length});
        }
      }
    }
  }
}

TEST(PackPrograms, BlocksWithZeroPoints) {
  for (const ElementType scales : {ElementType::f16, ElementType::f32}) {
    for (const bool is_unsigned : {false, true}) {
      check_blocks({"avx2", 16, 4, 32, scales, false, is_unsigned, 0, "qai4c32"});
      check_blocks({"neon_i8mm", 8, 8, 64, scales, false, is_unsigned, 0, "qai4c32"});
    }
  }
}

TEST(PackPrograms, BlocksOfMatMulNBits) {
  for (const ElementType scales : {ElementType::f16, ElementType::bf16, ElementType::f32}) {
    for (const int block : {16, 32, 64}) {
      check_blocks({"avx2", 16, 4, block, scales, false, false, 0, "qai4c32", true});
      check_blocks({"avx2", 16, 4, block, scales, false, false, 0, "qai8c32", true});
    }
  }
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
                                          {"neon_i8mm", 12, 8},
                                          {"scalar", 4, 4}}) {
    for (const ElementType scales : {ElementType::f16, ElementType::bf16, ElementType::f32}) {
      for (const int block : {32, 64, 128, 256}) {
        const bool rare = scales != ElementType::f16 && block > 64;
        if (rare && is_sanitized && !is_long()) continue;
        check_blocks({name, columns, kr, block, scales, false, block % 128 == 0});
        check_blocks({name, columns, kr, block, scales, false, false, 4, "qsi8c32"});
      }
    }
    for (const int misaligned : {0, 4}) {
      check_blocks({name, columns, kr, 32, ElementType::f16, true, false, misaligned, "qsi8c32"});
      check_blocks({name, columns, kr, 32, ElementType::f16, true, true, misaligned});
    }
  }
}

}  // namespace
}  // namespace tw::test
