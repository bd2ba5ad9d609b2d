// Shipped assembly files, assembled for every system that they are for: without complaints, with
// the names that C calls there, with nothing left to link, and with descriptions of their frames.
// All files in long runs, else as many as have every instruction and directive there is.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "emit/dialect.h"
#include "support/environment.h"
#include "support/run_command.h"

namespace tw::test {
namespace {

namespace fs = std::filesystem;
const fs::path source = TILEWRIGHT_SOURCE_DIR;

struct Target {
  std::string name;  ///< of the test
  std::string triple;
  std::string architecture;
  std::string object;
};

void PrintTo(const Target& target, std::ostream* out) {
  *out << target.triple;
}

const Target targets[] = {
    {"LinuxX86", "x86_64-linux-gnu", "x86_64", "elf"},
    {"MacX86", "x86_64-apple-macos12", "x86_64", "macho"},
    {"WindowsX86", "x86_64-pc-windows-msvc", "x86_64", "coff"},
    {"MingwX86", "x86_64-w64-windows-gnu", "x86_64", "coff"},
    {"LinuxArm", "aarch64-linux-gnu", "aarch64", "elf"},
    {"AndroidArm", "aarch64-linux-android30", "aarch64", "elf"},
    {"MacArm", "arm64-apple-macos14", "aarch64", "macho"},
    {"WindowsArm", "aarch64-pc-windows-msvc", "aarch64", "coff"},
};

std::string read(const fs::path& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

/// By the function in each.
using Files = std::map<std::string, fs::path>;

/// The shipped files for an architecture.
Files shipped(const std::string& architecture) {
  Files files;
  for (const auto& entry : fs::directory_iterator(source / "generated")) {
    if (entry.path().extension() != ".S") continue;
    if (read(entry.path()).find("defined(__" + architecture + "__)") == std::string::npos) continue;
    files[entry.path().stem().string()] = entry.path();
  }
  return files;
}

/// A line without numbers, its words but the first by their first letters, since those tell the
/// kind of an operand: "vpaddd zmm3, [rsp + 64]" becomes "vpadddz,[r+]".
std::string form(const std::string& line) {
  std::string text;
  bool in_word = false;
  bool first = true;
  for (const char c : line) {
    const bool part = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.';
    const bool digit = c >= '0' && c <= '9';
    if (in_word && !part) first = false;
    if (!digit && c != ' ' && (first || !in_word || !part)) text += c;
    in_word = part;
  }
  return text;
}

/// The forms of its lines, without comments and the name of its function.
std::set<std::string> forms(const fs::path& file) {
  const std::string name = file.stem().string();
  std::set<std::string> found;
  std::istringstream lines(read(file));
  for (std::string line; std::getline(lines, line);) {
    line.resize(std::min(line.size(), line.find("//")));
    for (size_t at = 0; (at = line.find(name, at)) != std::string::npos;)
      line.erase(at, name.size());
    found.insert(form(line));
  }
  return found;
}

/// Those of them that have a form which none before them has.
Files with_new_forms(const Files& all) {
  Files some;
  std::set<std::string> known;
  for (const auto& [name, file] : all) {
    const size_t before = known.size();
    known.merge(forms(file));
    if (known.size() > before) some[name] = file;
  }
  return some;
}

#if defined(CLANG) && defined(READOBJ)
/// A folder for object files that is removed with them.
class Objects : public testing::TestWithParam<Target> {
 protected:
  void SetUp() override {
    files_ = shipped(GetParam().architecture);
    ASSERT_GT(files_.size(), 50U);
    if (!is_long()) files_ = with_new_forms(files_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  void assemble(const std::string& triple) {
    std::string command =
        "cd " + folder_.string() + " && " CLANG " -Wall -Werror --target=" + triple + " -c";
    for (const auto& [name, file] : files_) command += " " + file.string();
    const Ran ran = run_command(command);
    ASSERT_EQ(ran.status, 0) << ran.output;
  }

  /// What readobj prints of all object files.
  std::string look(const std::string& options) {
    const Ran ran = run_command("cd " + folder_.string() + " && " READOBJ " " + options + " *.o");
    EXPECT_EQ(ran.status, 0) << ran.output;
    return ran.output;
  }

  /// The bytes of the functions, by file, as hexadecimal text.
  std::map<std::string, std::string> code(const std::string& section) {
    std::map<std::string, std::string> bytes;
    std::istringstream lines(look("--hex-dump=" + section));
    std::string file;
    for (std::string line; std::getline(lines, line);) {
      if (line.rfind("File: ", 0) == 0) file = line.substr(6);
      if (line.rfind("0x", 0) == 0) bytes[file] += line.substr(0, 46) + "\n";
    }
    return bytes;
  }

  Files files_;
  const fs::path folder_ = fs::path(testing::TempDir()) / ("tw_objects_" + GetParam().name);
};

size_t count(const std::string& text, const std::string& part) {
  size_t found = 0;
  for (size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size()) ++found;
  return found;
}

TEST_P(Objects, AssembleFromTheSameFiles) {
  const Target& target = GetParam();
  assemble(target.triple);
  const std::string symbols = look("--symbols");
  const std::string front = target.object == "macho" ? "_" : "";
  for (const auto& [name, file] : files_) {
    EXPECT_EQ(count(symbols, "Name: " + front + name + " ") +
                  count(symbols, "Name: " + front + name + "\n"),
              1U)
        << name;
  }

  // Relocations are of what describes frames only: no function needs another.
  std::istringstream relocations(look("--relocations"));
  for (std::string line; std::getline(relocations, line);) {
    if (line.find("Section ") == std::string::npos) continue;
    const bool frames = line.find("eh_frame") != std::string::npos ||
                        line.find("compact_unwind") != std::string::npos ||
                        line.find("data") != std::string::npos;  // .pdata, .xdata
    EXPECT_TRUE(frames) << line;
  }

  if (target.object == "macho") {  // the convention is ELF's, so the code is
    const std::map<std::string, std::string> its = code("__text");
    assemble(target.architecture + "-linux-gnu");
    EXPECT_EQ(its, code(".text"));
    EXPECT_EQ(its.size(), files_.size());
  }
  if (target.object == "coff") {
    EXPECT_EQ(count(look("--unwind"), "RuntimeFunction {"), files_.size());
  }
}

INSTANTIATE_TEST_SUITE_P(Shipped, Objects, testing::ValuesIn(targets),
                         [](const auto& info) { return info.param.name; });

// The runtime and what runs everywhere are C11, without words of GNU's.
TEST(OtherCompilers, NeedNoExtensions) {
  const fs::path everywhere = fs::path(testing::TempDir()) / "tw_everywhere.c";
  std::string files = " " + everywhere.string();
  std::ofstream out(everywhere);
  for (const auto& entry : fs::directory_iterator(source / "generated")) {
    const bool is_scalar = entry.path().filename().string().find("scalar") != std::string::npos;
    if (is_scalar && entry.path().extension() == ".c") out << "#include " << entry.path() << "\n";
  }
  out.close();
  for (const auto& entry : fs::directory_iterator(source / "runtime/src")) {
    if (entry.path().extension() == ".c") files += " " + entry.path().string();
  }
  const Ran ran = run_command(CLANG " -std=c11 -fsyntax-only -Wno-everything -include " +
                              (source / "tests/objects/other_compiler.h").string() + " -I" +
                              (source / "runtime/include").string() + files);
  EXPECT_EQ(ran.status, 0) << ran.output;
  fs::remove(everywhere);
}
#else
TEST(Objects, NeedClang) {
  ASSERT_EQ(std::getenv("TILEWRIGHT_ALL_TOOLS"), nullptr) << "clang-19 is not installed";
  GTEST_SKIP() << "clang-19 and llvm-19 are not installed (scripts/setup-arm-tools does)";
}
#endif

/// The lines of a Windows prologue, by its marks.
std::string windows_prologue(const std::string& text) {
  const size_t begin = text.find(".seh_proc");
  const size_t end = text.find("#endif", begin);
  return begin == std::string::npos ? "" : text.substr(begin, end - begin);
}

TEST(Conventions, WindowsKeepsWhatItsCallersNeed) {
  size_t vectors = 0;
  for (const auto& [name, file] : shipped("x86_64")) {
    const std::string text = read(file);
    const std::string prologue = windows_prologue(text);
    EXPECT_NE(prologue.find("mov rdi, rcx\n"), std::string::npos) << name;
    EXPECT_NE(prologue.find(".seh_savereg rdi, "), std::string::npos) << name;
    const size_t end = text.find("#endif", text.find(".seh_proc"));
    const std::string body = text.substr(end, text.find(".cfi_endproc") - end);
    for (const std::string reg : {"rsi", "rbx", "rbp", "r12", "r13", "r14", "r15"}) {
      const bool used = body.find(reg) != std::string::npos;
      const bool saved = prologue.find(".seh_savereg " + reg + ", ") != std::string::npos;
      EXPECT_EQ(used, saved) << reg << " in " << name;
    }
    for (int i = 6; i < 16; ++i) {
      bool used = false;
      for (const char* view : {"xmm", "ymm", "zmm"}) {
        const std::string reg = view + std::to_string(i);
        for (const char* next : {",", "\n", " ", "{"}) {
          used = used || body.find(" " + reg + next) != std::string::npos;
        }
      }
      const bool saved =
          prologue.find(".seh_savexmm xmm" + std::to_string(i) + ", ") != std::string::npos;
      EXPECT_EQ(used, saved) << "xmm" << i << " in " << name;
      vectors += saved ? 1 : 0;
    }
  }
  EXPECT_GT(vectors, 100U);
}

TEST(Conventions, NoBodyTouchesThePlatformsRegister) {
  for (const auto& [name, file] : shipped("aarch64")) {
    const std::string text = read(file);
    for (const char* reg : {"x18", "w18"}) {
      EXPECT_EQ(text.find(reg), std::string::npos) << reg << " in " << name;
    }
  }
}

TEST(Dialect, OneObjectFormatNeedsNoConditions) {
  const Dialect all = read_dialect(source / "templates");
  EXPECT_EQ(assembly_guard(all, "x86_64"),
            "defined(__x86_64__) && (defined(__ELF__) || defined(__APPLE__) || defined(_WIN32))");
  EXPECT_EQ(assembly_guard(only(all, "elf"), "x86_64"), "defined(__x86_64__) && defined(__ELF__)");
  EXPECT_EQ(all.objects.size(), 3U);
  EXPECT_THROW(assembly_guard(all, "abacus"), std::runtime_error);
}

}  // namespace
}  // namespace tw::test
