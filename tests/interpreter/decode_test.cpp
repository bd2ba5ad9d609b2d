// Random panels of codes in blocks as floats, or as pairs of bf16, and of int4 as int8, interpreted
// after every stage of compilation.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <functional>
#include <optional>

#include "interpreter/pack_codes.h"
#include "interpreter/random_variant.h"
#include "ir/interpreter.h"
#include "pipeline/pipeline.h"
#include "spec/core_reader.h"
#include "spec/isa_reader.h"
#include "spec/yaml_reader.h"

namespace tw::test::decode_test {
namespace {

const std::filesystem::path templates = std::filesystem::path(TILEWRIGHT_SOURCE_DIR) / "templates";

std::optional<Variant> random_decoder(const Ground& ground, ElementType dst, Random& random) {
  std::optional<Variant> variant = random_variant(ground, random);
  const bool to_codes = dst == ElementType::i8;
  if (!variant || (!to_codes && !variant->rhs.panel.is_fixed())) return std::nullopt;
  variant->family.operation = Operation::decode;
  variant->family.dst = dst;
  variant->family.accumulate = false;
  variant->family.name = family_name(variant->family);
  variant->tile = {1, variant->rhs.panel * random.of<int64_t>({1, 1, 2, 3})};
  variant->knobs.accumulators = 1;
  if (!to_codes) return variant;
  variant->tile.n = variant->rhs.panel;
  if (ground.blocks()) {
    try {
      variant->decoded = decoded_layout(variant->family, {variant->lhs, variant->rhs},
                                        ground.technique, *ground.isa);
    } catch (const std::invalid_argument&) {  // long blocks
      return std::nullopt;
    }
    return variant;
  }
  variant->knobs.unroll_k = variant->rhs.k_multiple;
  variant->decoded =
      choose_layouts(
          *variant->family.lhs, *wider_codes(variant->family), ground.technique, *ground.isa,
          {.lhs = variant->lhs.panel, .rhs = variant->rhs.panel, .kr = variant->rhs.order.kr})
          .rhs;
  return variant;
}

/// What a weight is worth, and by how much a decoder may miss it.
struct Worth {
  double value, error;
};

Worth worth_of(const Codes& codes, ElementType dst, size_t column, size_t k) {
  const size_t block = column * codes.blocks() + k / codes.block;
  const float code = codes.rhs[column * codes.k + k];
  const float zero = codes.rhs_zeros.empty() ? 0 : codes.rhs_zeros[block];
  const float scale = codes.rhs_scales[block];
  if (dst == ElementType::f32) return {(code - zero) * scale, 0};
  const bool above = !codes.rhs_minimums.empty();
  const double minimum = above ? codes.rhs_minimums[block] : 0;
  const double value = (double{code} - zero + (above ? codes.half : 0)) * scale + minimum;
  const double parts = (256 + std::fabs(zero)) * std::fabs(scale) + std::fabs(minimum);
  return {value, std::ldexp(std::fabs(value), -8) + std::ldexp(parts, -22)};
}

/// Where the value is in its panel, in bytes.
size_t place_of(ElementType dst, size_t panel, size_t column, size_t k) {
  if (dst == ElementType::f32) return (k * panel + column) * 4;
  return ((k / 2 * panel + column) * 2 + k % 2) * 2;
}

float value_at(const uint8_t* from, ElementType dst) {
  uint32_t bits = 0;
  const bool pair = dst == ElementType::bf16;  // the upper half of f32's bits
  std::memcpy(reinterpret_cast<uint8_t*>(&bits) + (pair ? 2 : 0), from, pair ? 2 : 4);
  return std::bit_cast<float>(bits);
}

/// `gap`: bytes from the end of a panel to the next one.
std::string run_and_compare(const Program& program, const Variant& variant, const Codes& codes,
                            uint64_t gap, bool physical) {
  const auto tile = static_cast<size_t>(variant.tile.n.fixed);
  // Of pairs two vectors, of which a tile has several.
  const bool pairs = variant.family.dst == ElementType::bf16;
  const size_t panel = pairs ? static_cast<size_t>(variant.isa->vector_bytes.fixed) / 4 * 2 : tile;
  const size_t panels = (codes.n + tile - 1) / tile * tile / panel;
  const ElementType dst_type = variant.family.dst;
  const uint64_t values = codes.k * panel * static_cast<size_t>(bits(dst_type)) / 8;
  Memory memory;
  Arguments arguments;
  const auto set = [&](ArgField field, uint64_t value) {
    arguments.field[static_cast<size_t>(field)] = value;
  };
  const uint64_t dst =
      memory.add_unwritten("dst", panels == 0 ? 0 : panels * (values + gap) - gap, 4);
  set(ArgField::n, codes.n);
  set(ArgField::k, codes.k);
  set(ArgField::block, codes.block);
  set(ArgField::rhs, memory.add("rhs", pack(variant.rhs, codes, {}), false, 1));
  set(ArgField::rhs_stride,
      static_cast<uint64_t>(panel_bytes(variant.rhs, static_cast<int64_t>(codes.k)).at({})));
  set(ArgField::dst, dst);
  set(ArgField::dst_stride, values + gap);
  set(ArgField::rhs_prefetch, 4096);
  try {
    run(program, arguments, memory, {.vl = {}, .physical = physical});
  } catch (const Fault& fault) {
    return std::string("fault: ") + fault.what();
  }
  const std::vector<bool>& written = memory.written(dst);
  for (size_t i = 0; i < panels * panel * codes.k; ++i) {
    const size_t column = i / codes.k, k = i % codes.k;
    const size_t at =
        column / panel * (values + gap) + place_of(dst_type, panel, column % panel, k);
    const std::string name = "column " + std::to_string(column) + ", k " + std::to_string(k) + " ";
    if (!written[at]) return name + "was never written";
    if (column >= codes.n) continue;  // somebody else's business
    const float found = value_at(memory.bytes(dst).data() + at, dst_type);
    const Worth right = worth_of(codes, dst_type, column, k);
    if (std::fabs(found - right.value) <= right.error) continue;
    return name + "is " + std::to_string(found) + ", should be " + std::to_string(right.value);
  }
  for (size_t at = values; at + gap < memory.bytes(dst).size(); at += values + gap) {
    if (gap != 0 && written[at]) return "it wrote between panels";
  }
  return "";
}

/// Panels of bytes have all those of panels that are packed so from the start; with blocks, where
/// there are columns.
std::string run_and_compare_codes(const Program& program, const Variant& variant,
                                  const Codes& codes, VectorLength vl, uint64_t gap,
                                  bool physical) {
  const std::vector<uint8_t> right = pack(variant.decoded, codes, vl);
  const bool whole =
      variant.rhs.block == 0 || codes.n % static_cast<size_t>(variant.tile.n.fixed) == 0;
  const auto depth = static_cast<int64_t>(codes.k);
  const auto panel = static_cast<size_t>(panel_bytes(variant.decoded, depth).at(vl));
  const size_t panels = right.size() / panel;
  Memory memory;
  Arguments arguments;
  const auto set = [&](ArgField field, uint64_t value) {
    arguments.field[static_cast<size_t>(field)] = value;
  };
  const uint64_t dst =
      memory.add_unwritten("dst", panels == 0 ? 0 : panels * (panel + gap) - gap, 4);
  set(ArgField::n, codes.n);
  set(ArgField::k, codes.k);
  set(ArgField::rhs, memory.add("rhs", pack(variant.rhs, codes, vl), false, 1));
  set(ArgField::rhs_stride, static_cast<uint64_t>(panel_bytes(variant.rhs, depth).at(vl)));
  set(ArgField::dst, dst);
  set(ArgField::dst_stride, panel + gap);
  set(ArgField::rhs_prefetch, 4096);
  try {
    run(program, arguments, memory, {.vl = vl, .physical = physical});
  } catch (const Fault& fault) {
    return std::string("fault: ") + fault.what();
  }
  const std::vector<bool>& written = memory.written(dst);
  for (size_t at = 0; at < written.size(); ++at) {
    const size_t byte = at % (panel + gap);
    const std::string name = "byte " + std::to_string(byte) + " of panel " +
                             std::to_string(at / (panel + gap)) + " of " + std::to_string(panel);
    if (byte >= panel && written[at]) return name + " was written";
    if (byte >= panel) continue;
    if (!written[at]) return name + " was never written";
    if (!whole && at / (panel + gap) + 1 == panels) continue;  // what is beyond is nobody's
    if (memory.bytes(dst)[at] != right[at / (panel + gap) * panel + byte]) return name + " differs";
  }
  return "";
}

/// How many variants of those grounds were made, each run after every stage.
int run_all(const Isa& isa, ElementType dst, const std::function<Ground(Random&)>& ground_of) {
  const CoreModel core = read_core(templates, isa.default_core);
  Random random(42);
  int made = 0;
  for (int i = 0; i < 60; ++i) {
    const std::optional<Variant> variant = random_decoder(ground_of(random), dst, random);
    if (!variant) continue;
    std::optional<Compiled> compiled;
    try {
      compiled = compile(*variant, core);
    } catch (const SpecError&) {
      continue;  // more registers than there are
    }
    ++made;
    const VectorLength vl = {.vl = isa.vector_bytes.is_fixed() ? 1 : random.of<int64_t>({1, 2, 4})};
    const Codes codes = random_codes(*variant, vl, random);
    const uint64_t gap = random.of<uint64_t>({0, 64});
    const std::string about = describe(*variant);
    const auto compare = [&](const Program& program, bool physical) {
      return dst == ElementType::i8
                 ? run_and_compare_codes(program, *variant, codes, vl, gap, physical)
                 : run_and_compare(program, *variant, codes, gap, physical);
    };
    EXPECT_EQ(compare(compiled->lowered, false), "") << about;
    EXPECT_EQ(compare(compiled->ordered, false), "") << about;
    if (!compiled->allocated) continue;
    EXPECT_EQ(compare(*compiled->allocated, true), "") << about;
  }
  return made;
}

class Decoders : public testing::TestWithParam<std::string> {};

TEST_P(Decoders, MakeFloatsAtEveryStage) {
  IsaLibrary isas(templates);
  const Isa& isa = isas.get(GetParam());
  const auto ground = [&](Random& random) {
    return Ground{.isa = &isa,
                  .technique = Technique::fma,
                  .lhs = "f32",
                  .rhs = random.of({"qai4c32", "qai8c32", "f8e4m3c128"}),
                  .scales = random.of({ElementType::f16, ElementType::f32})};
  };
  EXPECT_GT(run_all(isa, ElementType::f32, ground), 20);
}

class PairDecoders : public testing::TestWithParam<std::string> {};

TEST_P(PairDecoders, MakePairsAtEveryStage) {
  IsaLibrary isas(templates);
  const Isa& isa = isas.get(GetParam());
  const auto ground = [&](Random& random) {
    return Ground{
        .isa = &isa,
        .technique = Technique::dot,
        .lhs = "qsi8d32",
        .rhs = random.of({"qsi4c32", "qsi8c32", "qmi4c32", "qsi5c32", "qmi5c32", "qnl4c32",
                          "qmx4c32", "qnv4k16", "qai4c32", "qmi4k32", "qsi6k16", "qmi2k16"})};
  };
  EXPECT_GT(run_all(isa, ElementType::bf16, ground), 5);
}

class WideCodes : public testing::TestWithParam<std::string> {};

TEST_P(WideCodes, AreThoseOfInt8AtEveryStage) {
  IsaLibrary isas(templates);
  const Isa& isa = isas.get(GetParam());
  const Technique technique = isa.usual_technique;
  const auto ground = [&](Random& /*random*/) {
    return Ground{.isa = &isa, .technique = technique, .lhs = "qai8dx", .rhs = "qsi4cx"};
  };
  EXPECT_GT(run_all(isa, ElementType::i8, ground), 10);
}

INSTANTIATE_TEST_SUITE_P(, WideCodes, testing::Values("neon_dotprod", "neon_i8mm", "sve2"));

class BytesOfBlocks : public testing::TestWithParam<std::string> {};

TEST_P(BytesOfBlocks, AreOperandsAtEveryStage) {
  IsaLibrary isas(templates);
  const Isa& isa = isas.get(GetParam());
  const auto ground = [&](Random& random) {
    const bool by_mmla = isa.has(OpCode::mmla_s8s8) && random.between(0, 1) == 1;
    return Ground{.isa = &isa,
                  .technique = by_mmla ? Technique::mmla : Technique::dot,
                  .lhs = "qsi8d32",
                  .rhs = random.of({"qi1x3k16", "qi2x3k16", "qi3x4k32", "qmi2k16", "qmi4k32",
                                    "qmi5c32", "qmi5k32", "qmx4c32", "qnl4c32", "qnv4k16",
                                    "qsi3k16", "qsi4c32", "qsi5c32", "qsi6k16", "qai4c32"})};
  };
  EXPECT_GT(run_all(isa, ElementType::i8, ground), 10);
}

INSTANTIATE_TEST_SUITE_P(, BytesOfBlocks,
                         testing::Values("avx2", "avx_vnni", "avx512_vnni", "neon_dotprod",
                                         "neon_i8mm"));

INSTANTIATE_TEST_SUITE_P(, PairDecoders, testing::Values("avx_vnni", "avx512_vnni", "amx_bf16"));

INSTANTIATE_TEST_SUITE_P(, Decoders, testing::Values("scalar", "avx2", "avx512_vnni", "neon"));

/// Blocks too short for bytes of whole operands, whose groups the decoder joins.
TEST(DecodersOfBlocks, JoinGroups) {
  IsaLibrary isas(templates);
  const Isa& isa = isas.get("neon_i8mm");
  const auto ground = [&](Random& random) {
    return Ground{.isa = &isa,
                  .technique = Technique::mmla,
                  .lhs = "qsi8d32",
                  .rhs = random.of({"qi1x3k16", "qi2x3k16", "qmi2k16", "qsi3k16"})};
  };
  EXPECT_GT(run_all(isa, ElementType::i8, ground), 5);
}

TEST(DecodersRefuse, CodesThatDoNotLieAsInt8Does) {
  IsaLibrary isas(templates);
  const auto refusal = [&](const char* name, const char* rhs,
                           const std::function<void(Variant&)>& change) -> std::string {
    const Isa& isa = isas.get(name);
    Variant variant;
    variant.family.operation = Operation::decode;
    variant.family.lhs = find_format("qai8dx");
    variant.family.rhs = find_format(rhs);
    variant.family.dst = ElementType::i8;
    const auto layouts = [&](const Format& weights) {
      return choose_layouts(*variant.family.lhs, weights, isa.usual_technique, isa, {});
    };
    variant.lhs = layouts(*variant.family.rhs).lhs;
    variant.rhs = layouts(*variant.family.rhs).rhs;
    variant.decoded = layouts(*find_format("qsi8cx")).rhs;
    variant.technique = isa.usual_technique;
    variant.isa = &isa;
    variant.tile = {1, variant.rhs.panel};
    change(variant);
    try {
      compile(variant, read_core(templates, isa.default_core));
    } catch (const SpecError& error) {
      return error.what();
    }
    return "";
  };
  const auto as_it_is = [](Variant& /*variant*/) {};
  const char* const lie = "panels of int8 lie as they do";
  EXPECT_EQ(refusal("neon_i8mm", "qsi4cx", as_it_is), "");
  EXPECT_NE(refusal("avx2", "qsi4cx", as_it_is).find(lie), std::string::npos);
  EXPECT_NE(refusal("neon_i8mm", "qsi8cx", as_it_is).find(lie), std::string::npos);
  EXPECT_NE(refusal("neon_i8mm", "qsi4cx", [](Variant& v) { v.decoded.order.kr = 4; }).find(lie),
            std::string::npos);
  EXPECT_NE(
      refusal("neon_i8mm", "qsi4cx", [](Variant& v) { v.decoded.fields.pop_back(); }).find(lie),
      std::string::npos);
  EXPECT_NE(refusal("neon_i8mm", "qsi4cx", [](Variant& v) { v.tile.n = v.tile.n * 2; })
                .find("a panel, 1x"),
            std::string::npos);
  EXPECT_NE(refusal("neon_i8mm", "qsi4cx", [](Variant& v) { v.knobs.unroll_k = 64; })
                .find("32 is, to which k is padded"),
            std::string::npos);
  EXPECT_NE(refusal("neon_i8mm", "qsi4cx", [](Variant& v) { v.knobs.prefetch = Prefetch::far; })
                .find("near or none"),
            std::string::npos);
}

TEST(DecodersRefuse, WhatIsNotAPanelOfBlocks) {
  IsaLibrary isas(templates);
  const Isa& isa = isas.get("avx2");
  const CoreModel core = read_core(templates, isa.default_core);
  const auto refusal = [&](const char* rhs, Tile tile, ElementType dst = ElementType::f32,
                           Prefetch prefetch = Prefetch::near) -> std::string {
    Variant variant;
    variant.family.operation = Operation::decode;
    variant.family.lhs = find_format("f32");
    variant.family.rhs = find_format(rhs);
    const LayoutPair layouts =
        choose_layouts(*variant.family.lhs, *variant.family.rhs, Technique::fma, isa, {.rhs = 16});
    variant.lhs = layouts.lhs;
    variant.rhs = layouts.rhs;
    variant.technique = Technique::fma;
    variant.isa = &isa;
    variant.tile = tile;
    variant.family.dst = dst;
    variant.knobs.prefetch = prefetch;
    try {
      compile(variant, core);
    } catch (const SpecError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(refusal("qai4c32", {1, 16}), "");
  EXPECT_NE(refusal("qai4c32", {1, 8}).find("1 by whole panels, 1x16, does"), std::string::npos);
  EXPECT_NE(refusal("qai4c32", {2, 16}).find("1 by whole panels, 1x16, does"), std::string::npos);
  EXPECT_NE(refusal("qai4c32", {1, 16}, ElementType::f16).find("dst f32"), std::string::npos);
  EXPECT_NE(refusal("qai4c32", {1, 16}, ElementType::f32, Prefetch::far).find("near is legal"),
            std::string::npos);
  EXPECT_NE(refusal("qsi4cx", {1, 16}).find("codes in blocks, in panels of fixed size, are"),
            std::string::npos);
}

}  // namespace
}  // namespace tw::test::decode_test
