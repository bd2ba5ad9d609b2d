// Random panels of codes in blocks as floats, interpreted after every stage of compilation.
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <optional>

#include "interpreter/pack_codes.h"
#include "interpreter/random_variant.h"
#include "ir/interpreter.h"
#include "pipeline/pipeline.h"
#include "spec/core_reader.h"
#include "spec/isa_reader.h"
#include "spec/yaml_reader.h"

namespace tw::test {
namespace {

const std::filesystem::path templates = std::filesystem::path(TILEWRIGHT_SOURCE_DIR) / "templates";

std::optional<Variant> random_decoder(const Ground& ground, Random& random) {
  std::optional<Variant> variant = random_variant(ground, random);
  if (!variant || !variant->rhs.panel.is_fixed()) return std::nullopt;
  variant->family.operation = Operation::decode;
  variant->family.dst = ElementType::f32;
  variant->family.accumulate = false;
  variant->family.name = family_name(variant->family);
  variant->tile = {1, variant->rhs.panel * random.of<int64_t>({1, 1, 2, 3})};
  variant->knobs.accumulators = 1;
  return variant;
}

/// Panels of k rows of columns; those beyond n are somebody else's business.
std::vector<float> expected(const Codes& codes, size_t panel) {
  std::vector<float> values((codes.n + panel - 1) / panel * panel * codes.k);
  for (size_t column = 0; column < codes.n; ++column) {
    for (size_t k = 0; k < codes.k; ++k) {
      const size_t block = column * codes.blocks() + k / codes.block;
      const float zero = codes.rhs_zeros.empty() ? 0 : codes.rhs_zeros[block];
      const float above = static_cast<float>(codes.rhs[column * codes.k + k]) - zero;
      values[(column / panel * codes.k + k) * panel + column % panel] =
          above * codes.rhs_scales[block];
    }
  }
  return values;
}

/// `gap`: bytes from the end of a panel to the next one.
std::string run_and_compare(const Program& program, const Variant& variant, const Codes& codes,
                            uint64_t gap, bool physical) {
  const auto panel = static_cast<size_t>(variant.tile.n.fixed);
  const size_t panels = (codes.n + panel - 1) / panel;
  const uint64_t values = codes.k * panel * sizeof(float);
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
  const std::vector<float> right = expected(codes, panel);
  const std::vector<bool>& written = memory.written(dst);
  for (size_t i = 0; i < right.size(); ++i) {
    const size_t at = i * sizeof(float) / values * (values + gap) + i * sizeof(float) % values;
    if (!written[at]) return "value " + std::to_string(i) + " was never written";
    float found = 0;
    std::memcpy(&found, memory.bytes(dst).data() + at, sizeof found);
    const size_t column = i / (codes.k * panel) * panel + i % panel;
    if (column < codes.n && found != right[i]) {
      return "value " + std::to_string(i) + " is " + std::to_string(found) + ", should be " +
             std::to_string(right[i]);
    }
  }
  for (size_t at = values; at + gap < memory.bytes(dst).size(); at += values + gap) {
    if (gap != 0 && written[at]) return "it wrote between panels";
  }
  return "";
}

class Decoders : public testing::TestWithParam<std::string> {};

TEST_P(Decoders, MakeFloatsAtEveryStage) {
  IsaLibrary isas(templates);
  const Isa& isa = isas.get(GetParam());
  const CoreModel core = read_core(templates, isa.default_core);
  Random random(42);
  int made = 0;
  for (int i = 0; i < 60; ++i) {
    const Ground ground = {.isa = &isa,
                           .technique = Technique::fma,
                           .lhs = "f32",
                           .rhs = random.of({"qai4c32", "qai8c32"}),
                           .scales = random.of({ElementType::f16, ElementType::f32})};
    const std::optional<Variant> variant = random_decoder(ground, random);
    if (!variant) continue;
    std::optional<Compiled> compiled;
    try {
      compiled = compile(*variant, core);
    } catch (const SpecError&) {
      continue;  // more registers than there are
    }
    ++made;
    const Codes codes = random_codes(*variant, {}, random);
    const uint64_t gap = random.of<uint64_t>({0, 64});
    const std::string about = describe(*variant);
    EXPECT_EQ(run_and_compare(compiled->lowered, *variant, codes, gap, false), "") << about;
    EXPECT_EQ(run_and_compare(compiled->ordered, *variant, codes, gap, false), "") << about;
    if (!compiled->allocated) continue;
    EXPECT_EQ(run_and_compare(*compiled->allocated, *variant, codes, gap, true), "") << about;
  }
  EXPECT_GT(made, 20);
}

INSTANTIATE_TEST_SUITE_P(, Decoders, testing::Values("scalar", "avx2", "avx512_vnni", "neon"));

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
}  // namespace tw::test
