// The inner loops of packers, run by the interpreter, against the slow reference packer, which
// knows nothing but the Layout. For layouts that no committed spec asks for, too.
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
  int rhs_panel, kr;
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
  out.stride = (kxn ? n : k) * bits / 8 + 3;
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
  const Shape& shape;
  bool kxn, is_unsigned, stream;
  size_t steps;
};

std::string describe(const Run& run) {
  return std::string(run.shape.isa) + (run.kxn ? " kxn" : " nxk") + " panel " +
         std::to_string(run.shape.rhs_panel) + " kr " + std::to_string(run.shape.kr) + " steps " +
         std::to_string(run.steps) + (run.is_unsigned ? " unsigned" : " signed") +
         (run.stream ? " stream" : "");
}

void check_rhs(const Run& run) {
  SCOPED_TRACE(describe(run));
  const Layout layout = rhs_layout(run.shape);
  const Isa& on = isa(run.shape.isa);
  const auto step = run.kxn ? kxn_step(layout, on) : nxk_step(layout, on);
  ASSERT_TRUE(step);
  const auto source_bytes = static_cast<size_t>(step->source_bytes);
  const auto code_bits = static_cast<size_t>(bits(layout.element));
  const size_t per_byte = 8 / code_bits;
  const size_t k =
      run.steps * (run.kxn ? static_cast<size_t>(step->rows) : per_byte * source_bytes);
  const size_t n = run.kxn ? per_byte * source_bytes * static_cast<size_t>(step->calls)
                           : static_cast<size_t>(run.shape.rhs_panel);
  const Weights weights = random_weights(n, k, code_bits, run.kxn, run.is_unsigned, 7);
  const std::vector<uint8_t> wanted = pack(layout, weights.codes, {});

  Memory memory;
  Arguments arguments;
  field(arguments, ArgField::lhs) = memory.add("source", weights.source, false);
  field(arguments, ArgField::lhs_stride) = weights.stride;
  field(arguments, ArgField::k) = run.steps;
  const uint64_t packed = memory.add("packed", std::vector<uint8_t>(wanted.size(), 0), true);
  field(arguments, ArgField::dst) = packed;
  const auto sums = static_cast<size_t>(field_index(layout, FieldKind::sums));
  field(arguments, ArgField::dst_stride) =
      static_cast<uint64_t>(field_offset(layout, sums, static_cast<int64_t>(k)).fixed);
  field(arguments, ArgField::rhs_stride) =
      static_cast<uint64_t>(panel_bytes(layout, static_cast<int64_t>(k)).fixed);
  field(arguments, ArgField::flags) = flip(layout, run.is_unsigned);
  const PackOptions options{"pack", run.stream};
  for (int64_t call = 0; call < step->calls; ++call) {
    tw::run(
        run.kxn ? lower_pack_kxn(layout, on, options, call) : lower_pack_nxk(layout, on, options),
        arguments, memory);
  }
  // Scales and bias are not the inner loop's; here they are zeros.
  EXPECT_EQ(memory.bytes(packed), wanted);
}

TEST(PackPrograms, RhsAgreesWithTheLayout) {
  for (const Shape& shape : shapes) {
    for (const bool kxn : {false, true}) {
      for (const bool is_unsigned : {false, true}) {
        for (const size_t steps : {size_t{8}, size_t{16}}) {
          check_rhs({shape, kxn, is_unsigned, false, steps});
        }
        if (can_stream(isa(shape.isa))) check_rhs({shape, kxn, is_unsigned, true, 8});
      }
    }
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
