#include "emit/registry.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "small_isa.h"
#include "spec/folder.h"
#include "support/run_command.h"

namespace tw {
namespace {

Variant small_variant(const Isa& isa) {
  Variant variant;
  variant.family.name = "family";
  variant.family.lhs = find_format("qai8dx");
  variant.family.rhs = find_format("qsi4cx");
  variant.lhs.side = Side::lhs;
  variant.rhs.side = Side::rhs;
  variant.rhs.element = ElementType::i4;
  variant.rhs.panel = 8;
  variant.rhs.fields = {{FieldKind::data, ElementType::i4},
                        {FieldKind::scales, ElementType::f32},
                        {FieldKind::sums, ElementType::i32, 1, 2}};
  variant.tile = {1, 8};
  variant.isa = &isa;
  return variant;
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// Of C++, too, which has other empty rows than C.
void expect_cpp(const std::string& registry_file) {
  const Ran ran = run_command(
      "c++ -std=c++20 -Wall -Wextra -Wpedantic -Werror -fsyntax-only -x c++ "
      "-I " TILEWRIGHT_SOURCE_DIR "/runtime/include " +
      registry_file);
  EXPECT_EQ(ran.status, 0) << ran.output;
}

/// Compiles a registry with a program that says what is in it; returns what it prints.
std::string run_with(const Registry& registry, const std::string& functions) {
  const Folder folder;
  folder.write("registry.c", print_registry(registry));
  folder.write("tilewright/generated.h", print_declarations(registry, "tilewright/kernel.h"));
  folder.write("main.c", R"(
#include <stdio.h>
#include "tilewright/registry.h"
#include "tilewright/generated.h"
)" + functions + R"(
int main(void) {
  printf("%zu kernels, %zu packers", tw_generated_kernel_count, tw_generated_packer_count);
  for (size_t i = 0; i < tw_generated_kernel_count; ++i) {
    const tw_kernel *k = &tw_generated_kernels[i];
    printf("\n%s %s %zux%zu %d %llx rhs %zu columns, %zu bits, %zu bytes a row, scales at %d", k->name,
           k->printer, k->tile_m, k->tile_n, k->run != NULL,
           (unsigned long long)k->features >> 60, k->rhs->panel, k->rhs->data_bits,
           k->rhs->per_row_bytes, (int)k->rhs->axes->scales.base.fixed);
  }
  return 0;
}
)");
  const std::string at = folder.path().string();
  expect_cpp(at + "/registry.c");
  const Ran ran = run_command(
      "cc -Wall -Wextra -Wpedantic -Werror -I " TILEWRIGHT_SOURCE_DIR "/runtime/include -o " + at +
      "/program " + at + "/registry.c " + at + "/main.c && " + at + "/program");
  return ran.output;
}

TEST(Registry, EmptyOnesAreLegalC) {
  EXPECT_EQ(run_with({}, ""), "0 kernels, 0 packers");
}

TEST(Registry, RowsSayWhatIsBuiltAndNeeded) {
  Isa isa = small_isa();
  isa.features = {"magic"};  // which no runtime knows
  const Variant variant = small_variant(isa);
  KernelEntry built;
  built.variant = &variant;
  built.printer = "intrinsics";
  built.name = built.symbol = "tw_built";
  built.guard = "defined(__STDC__)";
  KernelEntry elsewhere = built;
  elsewhere.name = elsewhere.symbol = "tw_elsewhere";
  elsewhere.guard = "defined(NO_SUCH_MACHINE)";
  Registry registry;
  registry.kernels = {built, elsewhere};
  EXPECT_EQ(layouts_of(registry).size(), 2U);
  EXPECT_EQ(run_with(registry, "void tw_built(const tw_args *args) { (void)args; }"),
            "2 kernels, 0 packers\n"
            "tw_built intrinsics 1x8 1 8 rhs 8 columns, 4 bits, 12 bytes a row, scales at -768\n"
            "tw_elsewhere intrinsics 1x8 0 8 rhs 8 columns, 4 bits, 12 bytes a row, scales at "
            "-768");
}

TEST(Registry, RefusesALayoutWhoseValuesShareBits) {
  const Isa isa = small_isa();
  Variant variant = small_variant(isa);
  variant.rhs.order = {8, NibblePair::column, true, false, 8};
  variant.rhs.panel = 6;  // not whole fours, which that order deals in
  KernelEntry entry;
  entry.variant = &variant;
  Registry registry;
  registry.kernels = {entry};
  EXPECT_THROW(print_registry(registry), std::invalid_argument);
}

TEST(Registry, TableForPeople) {
  const Isa isa = small_isa();
  const Variant variant = small_variant(isa);
  KernelEntry entry;
  entry.variant = &variant;
  entry.printer = "intrinsics";
  entry.name = entry.symbol = "tw_x";
  entry.vector_registers = 9;
  entry.macs_per_instruction = 12.34;
  entry.core = "small-core";
  Registry registry;
  registry.kernels = {entry};
  const std::string table = print_kernel_table(registry);
  EXPECT_TRUE(contains(
      table,
      "| `tw_x` | small | intrinsics | dot | 1 x 8 | L0 | L1 | 9 | 12.3 | - | small-core | none |"))
      << table;
  EXPECT_TRUE(contains(table, "[data\\|scales:f32")) << table;  // bars must not end cells
}

}  // namespace
}  // namespace tw
