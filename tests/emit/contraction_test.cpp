// Compilers fuse multiplications with additions where they may: printed code must not let them, or
// intrinsics and assembly would differ in their bits.
#include <gtest/gtest.h>

#include <sstream>

#include "emit/c_file.h"
#include "emit/c_printer.h"
#include "ir/builder.h"
#include "spec/folder.h"
#include "spec/isa_reader.h"
#include "support/run_command.h"

namespace tw::contraction_test {
namespace {

const std::filesystem::path kSource = TILEWRIGHT_SOURCE_DIR;

Program multiply_then_add(const Isa& isa) {
  Builder b("multiply_then_add", isa);
  const Value dst = b.arg(ArgField::dst);
  const Value x = b.op(OpCode::load, {b.arg(ArgField::lhs)}, {}, "x");
  const Value y = b.op(OpCode::load, {b.arg(ArgField::rhs)}, {}, "y");
  const Value product = b.op(OpCode::fmul, {x, y}, {}, "product");
  b.op(OpCode::store, {dst, b.op(OpCode::fadd, {product, x}, {}, "sum")}, {});
  return b.finish();
}

/// True when `compiler` is for the ISA's architecture.
bool compiles_for(const std::string& compiler, const std::string& guard) {
  return run_command("printf '#if !(" + guard + ")\\n#error\\n#endif\\n' | " + compiler +
                     " -fsyntax-only -x c -")
             .status == 0;
}

TEST(Contraction, MultiplicationsAndAdditionsStayApart) {
  const Folder folder;
  IsaLibrary isas(kSource / "templates");
  const CFileRules rules = read_c_file_rules(kSource / "templates");
  int compiled = 0;
  for (const char* name : {"scalar", "avx512_vnni", "neon_i8mm"}) {
    const Isa& isa = isas.get(name);
    const std::string file = std::string(name) + ".c";
    folder.write(file, c_file(rules, isa, print_c_function(multiply_then_add(isa), "f"), "f"));
    std::istringstream all(TILEWRIGHT_COMPILERS);
    for (std::string compiler; std::getline(all, compiler, '|');) {
      const std::string guard = c_guard(rules, isa);
      if (!guard.empty() && !compiles_for(compiler, guard)) continue;
      for (const char* flags : {"-O1", "-O3"}) {
        const Ran ran = run_command(compiler + " " + flags + " -S -o - -I '" +
                                    (kSource / "runtime/include").string() + "' '" +
                                    (folder.path() / file).string() + "'");
        ASSERT_EQ(ran.status, 0) << compiler << "\n" << ran.output;
        for (const char* fused : {"vfmadd", "fmla", "fmadd"}) {
          EXPECT_EQ(ran.output.find(fused), std::string::npos)
              << compiler << " " << flags << " " << name;
        }
        EXPECT_NE(ran.output.find("mul"), std::string::npos) << compiler << "\n" << ran.output;
        ++compiled;
      }
    }
  }
  EXPECT_GE(compiled, 4);
}

}  // namespace
}  // namespace tw::contraction_test
