// Random variants of every ISA, interpreted after every stage, against the reference.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <ostream>
#include <set>
#include <sstream>

#include "interpreter/random_variant.h"
#include "interpreter/run_program.h"
#include "pipeline/pipeline.h"
#include "spec/core_reader.h"
#include "spec/isa_reader.h"
#include "spec/yaml_reader.h"
#include "support/environment.h"

namespace tw::test::interpreter_test {
namespace {

const std::filesystem::path source_dir = TILEWRIGHT_SOURCE_DIR;

uint32_t seed() {
  const char* given = std::getenv("TILEWRIGHT_SEED");
  return given != nullptr ? static_cast<uint32_t>(std::strtoul(given, nullptr, 0)) : 20260711;
}

struct Counts {
  int variants = 0;  ///< that compiled
  int refused = 0;   ///< more registers than there are, and the like
  int runs = 0;      ///< Programs interpreted
  int physical = 0;  ///< of those, on physical registers
};

CallOptions random_call(const Variant& variant, Random& random) {
  CallOptions options;
  if (variant.tile.n.vl != 0) options.vl.vl = random.of<int64_t>({1, 2, 4, 8, 16});
  if (variant.tile.n.svl != 0) options.vl.svl = random.of<int64_t>({1, 1, 2, 4, 8});
  options.bias_argument = random.between(0, 2) == 0;
  options.misalign = random.of({0, 0, 1, 4});
  options.dst_padding = random.of<uint64_t>({0, 0, 4, 60});
  options.prefetch = random.of<uint64_t>({0, 512, 4096});
  options.flags = random.of<uint64_t>({0, 1});
  return options;
}

/// Up to six chunks.
size_t chunk_of(size_t k, Random& random) {
  std::vector<size_t> chunks;
  for (size_t count = 1; count <= 6; ++count) {
    if (k % count == 0) chunks.push_back(k / count);
  }
  const auto last = static_cast<int64_t>(chunks.size()) - 1;
  return std::max<size_t>(1, chunks[static_cast<size_t>(random.between(0, last))]);
}

/// Runs the Program of every stage; false after a failure.
bool run_stages(const Compiled& compiled, bool verified, Random& random, Counts& counts) {
  const Variant& variant = *compiled.variant;
  CallOptions options = random_call(variant, random);
  const Codes drawn = random_codes(variant, options.vl, random);
  if (variant.family.operation == Operation::indirect) options.chunk = chunk_of(drawn.k, random);
  const Call call(variant, drawn, options);
  const Codes& codes = call.codes;
  const auto good = [&](const char* stage, const Program& program, bool physical) {
    ++counts.runs;
    counts.physical += physical ? 1 : 0;
    const std::string wrong = run_and_compare(program, call, physical, verified);
    EXPECT_EQ(wrong, "") << stage << ": " << describe(variant) << ", m=" << codes.m
                         << " n=" << codes.n << " k=" << codes.k << " vl=" << options.vl.vl
                         << " svl=" << options.vl.svl;
    return wrong.empty();
  };
  return good("lowered", compiled.lowered, false) && good("ordered", compiled.ordered, false) &&
         (!compiled.selected || good("selected", *compiled.selected, false)) &&
         (!compiled.pipelined || good("pipelined", *compiled.pipelined, false)) &&
         (!compiled.allocated || good("allocated", *compiled.allocated, true));
}

/// Tries random variants, three multiplications each, until one is wrong, `rounds` have compiled or
/// four times as many have been tried.
void try_variants(const Ground& ground, const CoreModel& core, int rounds, Random& random,
                  Counts& counts) {
  const int enough = counts.variants + rounds;
  for (int tried = 0; tried < 4 * rounds && counts.variants < enough; ++tried) {
    const std::optional<Variant> variant = random_variant(ground, random);
    if (!variant) continue;
    std::optional<Compiled> compiled;
    try {
      compiled = compile(*variant, core);
    } catch (const SpecError&) {
      ++counts.refused;
      continue;
    }
    ++counts.variants;
    for (int i = 0; i < 3; ++i) {
      if (!run_stages(*compiled, i > 0, random, counts)) return;
    }
  }
}

/// An instruction table that multiplies, and all it can be made to do.
struct Table {
  std::filesystem::path folder;
  std::string name;
  std::set<std::string> share;  ///< of the grounds that it has, those that no other table takes
};

void PrintTo(const Table& table, std::ostream* out) {
  *out << table.name;
}

/// Integers out. Zero points of columns are floats in their layout.
void add_sums(const Isa& isa, std::vector<Ground>& all) {
  for (const Technique technique : techniques) {
    for (const char* weights : {"qai8cx", "qsi8cx", "qsi4cx"}) {
      if (weights[1] == 'a' && !isa.has(OpCode::cvt_f32_i32)) continue;
      Ground sums{&isa, technique, "qai8dx", weights};
      sums.gives_sums = true;
      if (possible(sums)) all.push_back(sums);
    }
  }
}

std::vector<Ground> grounds(const Isa& isa) {
  // What such a table extends is a table of its own.
  if (isa.usual_technique == Technique::tile) {
    std::vector<Ground> all;
    for (const char* activations : {"qai8dx", "qai8"}) {
      for (const char* weights : {"qsi8cx", "qsi4cx", "qsi2cx"}) {
        const Ground tiles{&isa, Technique::tile, activations, weights};
        if (possible(tiles)) all.push_back(tiles);
      }
    }
    for (const Technique technique : {Technique::dot, Technique::mmla}) {
      Ground rows{&isa, technique, "qai8dx", "qsi8cx"};
      rows.rows_of = "qsi4cx";
      const bool bytes = isa.architecture == "aarch64" && isa.file_of(Kind::tile) == nullptr;
      if (bytes && possible(rows)) all.push_back(rows);
    }
    add_sums(isa, all);
    return all;
  }
  std::vector<Ground> all;
  for (Technique technique : {Technique::fma, Technique::outer}) {
    for (const char* weights : {"f32", "f16", "bf16", "f8e4m3cx", "f8e5m2cx", "f8e4m3c128",
                                "qsi8cx", "qsi4cx", "qsi4c32", "qai4c32", "qai8c32"}) {
      const Ground floats{&isa, technique, "f32", weights};
      if (possible(floats)) all.push_back(floats);
    }
    const Ground theirs{&isa, technique, "f32", "f32", LayoutStyle::kleidiai};
    if (possible(theirs)) all.push_back(theirs);
    const Ground their_halves{
        &isa, technique, "f16", "f16", LayoutStyle::kleidiai, ElementType::f16, ElementType::f16};
    if (possible(their_halves)) all.push_back(their_halves);
    const Ground their_pairs{&isa, technique, "f16", "f16", LayoutStyle::kleidiai};
    if (possible(their_pairs)) all.push_back(their_pairs);
    const Ground halves{
        &isa, technique, "f16", "f16", LayoutStyle::own, ElementType::f16, ElementType::f16};
    if (possible(halves)) all.push_back(halves);
  }
  for (const Technique technique : techniques) {
    for (const char* halves : {"f16", "bf16"}) {
      const Ground both{&isa, technique, halves, halves};
      if (possible(both)) all.push_back(both);
    }
  }
  for (Technique technique : {Technique::dot, Technique::mmla, Technique::outer, Technique::tile}) {
    std::vector<Ground> wanted = {
        {&isa, technique},
        {&isa, technique, "qai8dx", "qsi8cx"},
        {&isa, technique, "qai8dx", "qsi2cx"},
        {&isa, technique, "qai8", "qsi2cx"},
        {&isa, technique, "qai8dx", "qsi4cx", LayoutStyle::kleidiai},
        {&isa, technique, "qai8dx", "qsi8cx", LayoutStyle::kleidiai},
        {&isa, technique, "qai8dx", "qsi4c32", LayoutStyle::kleidiai, ElementType::bf16},
        {&isa, technique, "qsi8d32", "qsi4c32", LayoutStyle::kleidiai}};
    wanted.push_back({&isa, technique, "qai8", "qsi8cx"});
    wanted.push_back({&isa, technique, "qai8", "qsi4cx"});
    wanted.push_back({&isa, technique, "qsi8d32", "qsi8c32"});
    wanted.push_back({&isa, technique, "qsi8d32", "qai8c32"});
    for (const char* lhs : {"qai8dx", "qsi8d32"}) {
      for (const ElementType scales : {ElementType::f16, ElementType::bf16, ElementType::f32}) {
        for (const char* rhs :
             {"qsi4c32", "qai4c32", "qmi4c32", "qmi4k32", "qsi5c32", "qmi5c32", "qmi5k32",
              "qsi6k16", "qnl4c32", "qnl4k32", "qmx4c32", "qnv4k16", "qmi2k16", "qsi3k16",
              "qi3s4k32", "qi3x4k32", "qi2x3k16", "qi1x3k16", "qsi1c128"}) {
          wanted.push_back({&isa, technique, lhs, rhs, LayoutStyle::own, scales});
        }
      }
    }
    for (const Ground& ground : wanted) {
      if (possible(ground)) all.push_back(ground);
    }
  }
  // Last, so that what is drawn for the others stays as it was.
  const Ground codes{&isa, Technique::outer, "qai8", "qsi8cx", LayoutStyle::kleidiai};
  if (possible(codes)) all.push_back(codes);
  for (const Technique technique : {Technique::dot, Technique::mmla, Technique::outer}) {
    const Ground offsets{
        &isa, technique, "qsi8d32", "qai4c32", LayoutStyle::kleidiai, ElementType::f32};
    if (possible(offsets)) all.push_back(offsets);
  }
  const Ground row{&isa, Technique::dot, "qai8", "qsi8cx", LayoutStyle::kleidiai};
  if (possible(row)) all.push_back(row);
  for (const Technique technique : {Technique::dot, Technique::outer}) {
    const Ground table{&isa, technique, "qai8dx", "qsu2cx", LayoutStyle::kleidiai};
    if (possible(table)) all.push_back(table);
  }
  for (const LayoutStyle style : {LayoutStyle::own, LayoutStyle::kleidiai}) {
    Ground pointers{&isa, Technique::fma, "f32", "f32", style};
    pointers.indirect = true;
    if (possible(pointers) && isa.has(OpCode::load_pointer)) all.push_back(pointers);
  }
  const Ground codes_by_halves{&isa, Technique::outer, "f16", "qsi4c32", LayoutStyle::kleidiai};
  if (possible(codes_by_halves)) all.push_back(codes_by_halves);
  for (const Technique technique : {Technique::dot, Technique::mmla}) {
    const Ground bytes{&isa, technique, "qsi8d32", "qsi8k16"};
    if (possible(bytes)) all.push_back(bytes);
  }
  for (const Technique technique : {Technique::dot, Technique::mmla, Technique::outer}) {
    const Ground quarters{&isa, technique, "qsi8d32", "qai2c32"};
    if (possible(quarters)) all.push_back(quarters);
  }
  for (const Technique technique : {Technique::dot, Technique::mmla, Technique::outer}) {
    const Ground quarters{&isa, technique, "qsi8d32", "qsi2c32"};
    if (possible(quarters)) all.push_back(quarters);
  }
  add_sums(isa, all);
  return all;
}

/// Tables need no instruction that converts f16 or bf16 before a family with them is printed.
bool prints(const Isa& isa, OpCode code) {
  const Row* row = isa.row_for(code);
  return row != nullptr && !row->assembly.empty();
}

/// All but the ISA.
std::string key_of(const Ground& ground) {
  std::ostringstream text;
  text << name(ground.technique) << ' ' << ground.lhs << ' ' << ground.rhs << ' '
       << name(ground.style) << ' ' << name(ground.scales) << ' ' << name(ground.sums) << ' '
       << ground.indirect << ' ' << ground.gives_sums;
  return text.str();
}

/// Shipped tables and those of the tests, without the ones that others only extend.
std::vector<Table> tables() {
  std::vector<Table> all;
  std::map<std::string, std::vector<size_t>> holders;
  for (const char* folder : {"templates", "tests/fake_isa"}) {
    IsaLibrary isas(source_dir / folder);
    for (const std::string& name : isas.known()) {
      const std::vector<Ground> here = grounds(isas.get(name));
      for (const Ground& ground : here) {
        std::vector<size_t>& holder = holders[key_of(ground)];
        if (holder.empty() || holder.back() != all.size()) holder.push_back(all.size());
      }
      if (!here.empty()) all.push_back({source_dir / folder, name, {}});
    }
  }
  size_t turn = 0;
  for (const auto& [key, holder] : holders) all[holder[turn++ % holder.size()]].share.insert(key);
  return all;
}

/// Sanitizers look at C++ that all tables share, and say nothing of what it computes: there a
/// ground has its turn on one table of those that have it.
bool is_left_out(const Table& table, const Ground& ground) {
  return is_sanitized && !is_long() && table.share.count(key_of(ground)) == 0;
}

class Interpreter : public testing::TestWithParam<Table> {};

TEST_P(Interpreter, AgreesWithTheReference) {
  const int rounds = is_long() ? (is_sanitized ? 2 : 12) : (is_sanitized ? 1 : 4);
  IsaLibrary isas(GetParam().folder);
  const Isa& isa = isas.get(GetParam().name);
  const CoreModel core = read_core(source_dir / "templates", isa.default_core);
  Random random(seed());
  Counts counts;
  const auto start = std::chrono::steady_clock::now();
  Isa unprinted = isa;
  unprinted.can_print_assembly = false;
  for (Ground ground : grounds(isa)) {
    if (is_left_out(GetParam(), ground)) continue;
    const bool halves = ground.blocks() || ground.rhs == std::string("f16");
    if (halves && !prints(isa, OpCode::cvt_f16_f32)) ground.isa = &unprinted;
    const bool bf16 = ground.blocks() || ground.rhs == std::string("bf16");
    if (bf16 && !prints(isa, OpCode::cvt_bf16_f32)) ground.isa = &unprinted;
    const bool codes_by_floats = ground.lhs == std::string("f32") && ground.rhs[0] == 'q';
    const bool fewer = ground.blocks() || codes_by_floats;
    try_variants(ground, core, fewer ? (rounds + 1) / 2 : rounds, random, counts);
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  std::printf("%s: seed %u, %d variants (%d refused), %d runs, %d of them on registers, %.1f s\n",
              isa.name.c_str(), seed(), counts.variants, counts.refused, counts.runs,
              counts.physical, took.count());
  if (is_sanitized) return;  // by few draws it may be
  EXPECT_GT(8 * counts.variants, counts.variants + counts.refused) << "most were refused";
}

INSTANTIATE_TEST_SUITE_P(, Interpreter, testing::ValuesIn(tables()),
                         [](const auto& table) { return table.param.name; });

}  // namespace
}  // namespace tw::test::interpreter_test
