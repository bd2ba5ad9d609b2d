// Products by panels of bytes that decoders make of codes in blocks: outputs are those of products
// by the codes themselves, at every stage of compilation.
#include <gtest/gtest.h>

#include <filesystem>

#include "interpreter/random_variant.h"
#include "interpreter/run_program.h"
#include "pipeline/pipeline.h"
#include "spec/core_reader.h"
#include "spec/isa_reader.h"
#include "spec/yaml_reader.h"

namespace tw::test::decoded_test {
namespace {

const std::filesystem::path templates = std::filesystem::path(TILEWRIGHT_SOURCE_DIR) / "templates";

/// The same tile, which reads what a decoder wrote. None where no decoder writes that.
std::optional<Variant> decoded(const Variant& packed) {
  Variant variant = packed;
  variant.family.operation = Operation::decoded;
  try {
    variant.rhs =
        decoded_layout(packed.family, {packed.lhs, packed.rhs}, packed.technique, *packed.isa);
  } catch (const std::invalid_argument&) {
    return std::nullopt;
  }
  return variant;
}

/// Whether registers sufficed.
bool run_stages(const Variant& packed, const Variant& variant, const CoreModel& core,
                Random& random) {
  std::optional<Compiled> compiled;
  try {
    compiled = compile(variant, core);
  } catch (const SpecError&) {
    return false;
  }
  for (int i = 0; i < 3; ++i) {
    const Call call(
        variant, random_codes(packed, {}, random),
        {.vl = {}, .bias_argument = i == 1, .dst_padding = random.of<uint64_t>({0, 4})});
    const std::string about = describe(variant);
    EXPECT_EQ(run_and_compare(compiled->lowered, call, false), "") << about;
    EXPECT_EQ(run_and_compare(compiled->ordered, call, false), "") << about;
    if (!compiled->allocated) continue;
    EXPECT_EQ(run_and_compare(*compiled->allocated, call, true), "") << about;
  }
  return true;
}

class DecodedBlocks : public testing::TestWithParam<std::string> {};

TEST_P(DecodedBlocks, AreMultipliedAsTheirCodesAre) {
  IsaLibrary isas(templates);
  const Isa& isa = isas.get(GetParam());
  const CoreModel core = read_core(templates, isa.default_core);
  Random random(5);
  int made = 0;
  for (int i = 0; i < 60; ++i) {
    const bool by_mmla = isa.has(OpCode::mmla_s8s8) && random.between(0, 1) == 1;
    const Ground ground{.isa = &isa,
                        .technique = by_mmla ? Technique::mmla : Technique::dot,
                        .lhs = "qsi8d32",
                        .rhs = random.of({"qi1x3k16", "qi2x3k16", "qi3x4k32", "qmi2k16", "qmi4k32",
                                          "qmi5c32", "qmi5k32", "qmx4c32", "qnl4c32", "qnv4k16",
                                          "qsi3k16", "qsi4c32", "qsi5c32", "qsi6k16"})};
    const std::optional<Variant> packed = random_variant(ground, random);
    const std::optional<Variant> variant = packed ? decoded(*packed) : std::nullopt;
    if (variant && run_stages(*packed, *variant, core, random)) ++made;
  }
  EXPECT_GT(made, 8);
}

INSTANTIATE_TEST_SUITE_P(, DecodedBlocks,
                         testing::Values("avx2", "avx_vnni", "avx512_vnni", "neon_dotprod",
                                         "neon_i8mm"));

TEST(DecodedLayouts, HaveBytesThatInstructionsMultiply) {
  IsaLibrary isas(templates);
  const auto bytes = [&](const char* isa_name, const char* rhs, int block) -> std::string {
    const Isa& isa = isas.get(isa_name);
    Family family;
    family.lhs = find_format("qsi8d32");
    family.rhs = find_format(rhs);
    Panels panels;
    panels.block = block;
    const LayoutPair layouts =
        choose_layouts(*family.lhs, *family.rhs, isa.usual_technique, isa, panels);
    try {
      return canonical(decoded_layout(family, layouts, isa.usual_technique, isa));
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
  };
  // Of 5 bits from the lowest on; of a table its values, where those have no signs with an offset.
  EXPECT_EQ(bytes("avx2", "qsi5c32", 0),
            "rhs i8+16 n8 kr4 k%32 b32 [data/b|scales:f16/b|bias:f32]");
  EXPECT_EQ(bytes("avx_vnni", "qnl4c32", 0),
            "rhs i8=iq4+128 n8 kr4 k%32 b32 [data/b|scales:f16/b|bias:f32]");
  EXPECT_EQ(bytes("neon_i8mm", "qnl4c32", 0),
            "rhs i8=iq4 n4 kr8 k%32 b32 [data/b|scales:f16/b|bias:f32]");
  // Two groups of k, joined.
  EXPECT_EQ(bytes("neon_i8mm", "qsi3k16", 0),
            "rhs i8+4 n4 kr8 k%32 b16of256 [scale_steps:f16/s|data/b|scales:i8/b|bias:f32]");
  for (const auto& refused : {bytes("neon_dotprod", "qsi4c32", 0), bytes("avx2", "qsi4c32", 64),
                              bytes("avx2", "qsi8c32", 0)}) {
    EXPECT_NE(refused.find("in blocks of up to 32 are those whose codes share bytes of one column"),
              std::string::npos)
        << refused;
  }
}

}  // namespace
}  // namespace tw::test::decoded_test
