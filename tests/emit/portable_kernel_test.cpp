// GCC at -O3 would make vectors of a portable kernel's loop over k: more code, and slower.
#include <gtest/gtest.h>

#include <sstream>

#include "emit/c_file.h"
#include "spec/folder.h"
#include "spec/isa_reader.h"
#include "support/run_command.h"

namespace tw {
namespace {

constexpr const char* kLoop =
    "void f(const tw_args* args) {\n"
    "  const size_t k = args->k;\n"
    "  const int32_t* codes = (const int32_t*)args->lhs;\n"
    "  int32_t sum = 0;\n"
    "  for (size_t i = 0; i < k; ++i) sum += codes[i];\n"
    "  *(int32_t*)args->dst = sum;\n"
    "}\n";

/// Whether gcc adds up several at a time in a C file of a portable kernel, or of a packer.
bool makes_vectors(const std::string& compiler, bool kernel) {
  const std::filesystem::path source = TILEWRIGHT_SOURCE_DIR;
  const CFileRules rules = read_c_file_rules(source / "templates");
  IsaLibrary isas(source / "templates");
  const Isa& isa = isas.get("scalar");
  const Folder folder;
  folder.write("f.c", c_file(rules, isa, kernel ? kernel_function(rules, isa, kLoop) : kLoop, "f"));
  const Ran ran =
      run_command(compiler + " -O3 -S -o - -I '" + (source / "runtime/include").string() + "' '" +
                  (folder.path() / "f.c").string() + "'");
  EXPECT_EQ(ran.status, 0) << ran.output;
  return ran.output.find("paddd") != std::string::npos ||  // x86-64, 64-bit Arm
         ran.output.find(".4s") != std::string::npos;
}

TEST(CompilePortableKernel, HasNoVectors) {
  std::istringstream all(TILEWRIGHT_COMPILERS);
  size_t tried = 0;
  for (std::string compiler; std::getline(all, compiler, '|');) {
    if (compiler.find("clang") != std::string::npos) continue;
    EXPECT_FALSE(makes_vectors(compiler, true)) << compiler;
    EXPECT_TRUE(makes_vectors(compiler, false)) << compiler << ": packers gain by them";
    ++tried;
  }
  EXPECT_GE(tried, 1U);
}

}  // namespace
}  // namespace tw
