// Codes whose bits a source keeps in two places, packed as whole bytes: by vectors and value by
// value, by the interpreter, against the reference packer.
#include <gtest/gtest.h>

#include <random>

#include "model/variant.h"
#include "pack/programs.h"
#include "reference/ggml_blocks.h"
#include "reference/pack_reference.h"
#include "reference/source_reference.h"

namespace tw::test {
namespace {

constexpr size_t super_blocks = 2;

/// Columns of Q6_K.
struct Columns {
  std::vector<uint8_t> bytes;
  OperandCodes codes;
};

Columns random_columns(size_t n) {
  const GgmlType& type = *find_ggml("q6_k");
  std::mt19937 random(11);
  Columns made;
  made.bytes.resize(n * super_blocks * type.bytes);
  made.codes.rows = n;
  made.codes.k = super_blocks * type.values;
  OperandCodes& codes = made.codes;
  for (uint8_t& byte : made.bytes) byte = static_cast<uint8_t>(random());
  for (size_t i = 0; i < n * super_blocks; ++i) {
    const GgmlBlock block(type, made.bytes.data() + i * type.bytes);
    block.d_at()[1] &= 0xbf;  // a number
    codes.numbers.scale_steps.push_back(half_at(block.d_at()));
    for (size_t p = 0; p < type.values / type.span; ++p) {
      codes.numbers.scales.push_back(block.scale(p));
    }
    for (size_t k = 0; k < type.values; ++k) {
      codes.codes.push_back(static_cast<int8_t>(block.code(k)));
    }
  }
  codes.bias.assign(n, 0.75F);
  return made;
}

/// All columns but the last panel's last ones.
void check_columns(const Program& program, const Layout& layout) {
  SCOPED_TRACE(program.isa->name + " " + canonical(layout));
  const auto panel = static_cast<size_t>(layout.panel.fixed);
  const size_t n = 3 * panel - 1;
  const Columns columns = random_columns(n);
  const std::vector<uint8_t> wanted = pack(read_layout(canonical(layout)), columns.codes);
  Memory memory;
  Arguments arguments;
  field(arguments, ArgField::pack_rows) = field(arguments, ArgField::pack_row_end) = n;
  field(arguments, ArgField::pack_k) = columns.codes.k;
  field(arguments, ArgField::pack_source) = memory.add("source", columns.bytes, false);
  field(arguments, ArgField::pack_source_stride) = columns.bytes.size() / n;
  field(arguments, ArgField::pack_bias) =
      memory.add("bias", bytes_of(columns.codes.bias.data(), 4 * n), false);
  const uint64_t packed = memory.add_unwritten("packed", wanted.size());
  field(arguments, ArgField::pack_packed) = packed;
  field(arguments, ArgField::pack_packed_stride) = wanted.size() / 3;
  tw::run(program, arguments, memory);
  EXPECT_EQ(memory.bytes(packed), wanted);
}

TEST(PackPrograms, CodesInTwoPlacesBecomeBytes) {
  for (const auto& [name, technique, columns, kr] :
       {std::tuple{"neon_dotprod", Technique::dot, 8, 4},
        {"neon_dotprod", Technique::dot, 16, 4},
        {"neon_i8mm", Technique::mmla, 4, 8},
        {"neon_i8mm", Technique::mmla, 12, 8},
        {"avx512_vnni", Technique::dot, 16, 4}}) {
    const Layout layout = choose_layouts(*find_format("qsi8d32"), *find_format("qsi8k16"),
                                         technique, isa(name), {0, columns, kr})
                              .rhs;
    const Source* source = find_source("q6_k", layout);
    ASSERT_NE(source, nullptr);
    const bool by_vectors = can_pack(layout, *source, isa(name));
    EXPECT_EQ(by_vectors, isa(name).architecture == "aarch64");
    if (by_vectors) check_columns(lower_packer("pack", layout, *source, isa(name)), layout);
    EXPECT_FALSE(can_pack(layout, *source, isa("scalar")));
    check_columns(lower_packer("pack", layout, *source, isa("scalar")), layout);
  }
}

}  // namespace
}  // namespace tw::test
