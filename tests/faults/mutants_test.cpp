// How many small mistakes in Programs the interpreter's comparison notices.
#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <map>
#include <utility>

#include "faults/mutants.h"
#include "interpreter/random_variant.h"
#include "interpreter/run_program.h"
#include "pipeline/pipeline.h"
#include "spec/core_reader.h"
#include "spec/isa_reader.h"
#include "spec/yaml_reader.h"

namespace tw::test {
namespace {

const std::filesystem::path source_dir = TILEWRIGHT_SOURCE_DIR;

struct Count {
  int planted = 0;
  int refused = 0;  ///< by the verifier
  int caught = 0;   ///< by the comparison
  [[nodiscard]] int noticed() const { return refused + caught; }
};
using Counts = std::map<std::string, Count>;

Count total(const Counts& counts) {
  Count sum;
  for (const auto& [kind, count] : counts) {
    sum = {sum.planted + count.planted, sum.refused + count.refused, sum.caught + count.caught};
  }
  return sum;
}

void print(const char* isa, const Counts& counts) {
  std::printf("%-26s %8s %8s %8s\n", isa, "planted", "refused", "caught");
  for (const auto& [kind, count] : counts) {
    std::printf("%-26s %8d %8d %8d\n", kind.c_str(), count.planted, count.refused, count.caught);
  }
  const Count sum = total(counts);
  std::printf("%s: %d of %d mutants noticed, %.1f %%\n", isa, sum.noticed(), sum.planted,
              100.0 * sum.noticed() / sum.planted);
}

/// Every tile, row, column and loop takes part.
bool is_full(const Variant& variant, const Codes& codes) {
  const auto k = static_cast<size_t>(2 * variant.knobs.unroll_k + variant.lhs.k_multiple);
  return codes.m > static_cast<size_t>(variant.tile.m.fixed) &&
         codes.n > static_cast<size_t>(2 * variant.tile.n.at({})) && codes.k >= k &&
         codes.k % 2 == 1;
}

/// A few that most mistakes show in, then any.
std::vector<Call> calls_of(const Variant& variant, Random& random) {
  constexpr size_t full = 4;
  std::vector<Call> all;
  for (size_t i = 0; i < 60; ++i) {
    Codes codes;
    do {
      codes = random_codes(variant, {}, random);
    } while (i < full && !is_full(variant, codes));
    CallOptions options;
    options.bias_argument = i % 2 == 0;
    options.dst_padding = random.of<uint64_t>({0, 4, 60});
    options.prefetch = random.of<uint64_t>({0, 512});
    all.emplace_back(variant, std::move(codes), options);
  }
  return all;
}

bool survives(const Program& program, const std::vector<Call>& calls, bool physical) {
  for (const Call& call : calls) {
    try {
      if (!run_and_compare(program, call, physical).empty()) return false;
    } catch (const std::exception&) {  // what the interpreter refuses to run
      return false;
    }
  }
  return true;
}

void plant_all(const Program& program, const std::vector<Mutant>& all, const Variant& variant,
               const std::vector<Call>& calls, Counts& counts) {
  const bool physical = program.allocated();
  ASSERT_TRUE(survives(program, calls, physical)) << "without any mistake";
  for (const Mutant& mutant : all) {
    Count& count = counts[mutant.kind];
    ++count.planted;
    Program changed = clone(program);
    mutant.change(changed);
    if (!verify(changed).empty() || (physical && !verify_registers(changed).empty())) {
      ++count.refused;
      continue;
    }
    if (survives(changed, calls, physical)) {
      std::printf("not noticed in %s: %s: %s\n", variant.name().c_str(), mutant.kind.c_str(),
                  mutant.where.c_str());
    } else {
      ++count.caught;
    }
  }
}

/// Where both panels have one row, factors of floats may change places; sets of accumulators may
/// anywhere, and a row of several vectors repeats what one has.
bool is_plain(const Variant& variant) {
  return variant.rhs.panel != Length{1} && variant.tile.n.at({}) <= variant.isa->lanes32() &&
         variant.tile.m.fixed > 1 && variant.knobs.accumulators == 1;
}

/// The first variant of the dice that compiles, of a size that many mutants can be run of.
std::optional<Variant> small_variant(const Ground& ground, const CoreModel& core, Random& random) {
  for (int tries = 0; tries < 1000; ++tries) {
    const std::optional<Variant> variant = random_variant(ground, random);
    if (!variant || variant->tile.m.fixed > 4 || variant->tile.n.at({}) > 32) continue;
    // Of a row's instructions many are for its edge, where what is beyond may be anything.
    if (variant->tile.m.fixed == 1 || variant->knobs.accumulators > 2) continue;
    // A loop over the rest that never runs twice, or at all, has mistakes that do not matter.
    if (variant->knobs.unroll_k == 2 * variant->lhs.k_multiple) continue;
    if (is_float(*variant->family.rhs) && variant->knobs.unroll_k == 1) continue;
    if (is_float(*variant->family.rhs) && !is_plain(*variant)) continue;
    // Rounding to 16 bits hides mistakes in the last bits, and makes ones that ties alone show.
    if (variant->family.dst != ElementType::f32) continue;
    // What reads the outputs at the edge has as many instructions as the rest.
    if (variant->family.accumulate) continue;
    try {
      compile(*variant, core);
      return variant;
    } catch (const SpecError&) {
      continue;
    }
  }
  return std::nullopt;
}

class Mutants : public testing::TestWithParam<const char*> {};

TEST_P(Mutants, AreNoticed) {
  IsaLibrary isas(source_dir / "templates");
  const Isa& isa = isas.get(GetParam());
  const CoreModel core = read_core(source_dir / "templates", isa.default_core);
  Random random(20260711);
  Counts counts;
  for (const Ground& ground : {Ground{&isa, Technique::dot}, Ground{&isa, Technique::mmla},
                               Ground{&isa, Technique::dot, "qai8dx", "qsi8cx"},
                               Ground{&isa, Technique::fma, "f32", "f32"}}) {
    if (!possible(ground)) continue;
    const std::optional<Variant> variant = small_variant(ground, core, random);
    ASSERT_TRUE(variant.has_value());
    const std::vector<Call> calls = calls_of(*variant, random);
    const Compiled compiled = compile(*variant, core);
    plant_all(compiled.lowered, mutants(compiled.lowered), *variant, calls, counts);
    if (!compiled.allocated) continue;
    plant_all(*compiled.allocated, register_mutants(*compiled.allocated), *variant, calls, counts);
  }
  print(GetParam(), counts);
  for (const char* kind : {"dropped store", "loop variables exchanged", "wrong offset"}) {
    EXPECT_EQ(counts[kind].noticed(), counts[kind].planted) << kind;
  }
  EXPECT_GE(total(counts).noticed(), 0.97 * total(counts).planted);
}

INSTANTIATE_TEST_SUITE_P(, Mutants,
                         testing::Values("avx2", "avx512_vnni", "neon_dotprod", "neon_i8mm",
                                         "scalar"),
                         [](const auto& isa) { return std::string(isa.param); });

}  // namespace
}  // namespace tw::test
