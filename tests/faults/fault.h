// A seeded fault: one change to one file that some test must notice.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace tw::test {

/// A test that is expected to fail: "arm64 kernels_test Kernel.Shapes/*8x8*".
struct CatchingTest {
  std::string build;    ///< host or arm64 ...
  std::string cpu;      ///< ... or arm64:CPU, one that the emulator knows
  std::string program;  ///< a GoogleTest program of that build
  std::string filter;   ///< of its tests
};

struct Fault {
  std::string name;
  std::string file;         ///< below the repository's root; '*' where names may change
  std::string text;         ///< what stands there exactly once ...
  std::string pattern;      ///< ... or a regular expression, of which the first match is replaced
  std::string replacement;  ///< with $1 ... for the groups of `pattern`
  /// Where the file is the generator's (a source, a table, a template): what is generated anew with
  /// the fault, and then tested. Empty: the file's own program is tested.
  std::string makes;
  std::string through;  ///< where the file is a header: the source that is compiled with it
  /// The ISA without which its tests run but cannot notice, where no name of test or file says it.
  std::string needs;
  std::vector<CatchingTest> tests;  ///< tried in this order
};

/// All faults of the *.yaml files in `folder`. Throws SpecError.
std::vector<Fault> read_faults(const std::filesystem::path& folder);

/// The file below `root` that `name` means; a '*' must mean one. Throws std::runtime_error.
std::string find_file(const std::filesystem::path& root, const std::string& name);

/// `text` with the fault in it. Throws std::runtime_error when it does not apply (any more).
std::string plant(const Fault& fault, const std::string& text);

/// Why the fault cannot be planted in the files below `root` any more; empty: it can be.
std::string why_stale(const std::filesystem::path& root, const Fault& fault);

/// The bytes of a file. Throws std::runtime_error.
std::string read_text(const std::filesystem::path& path);

}  // namespace tw::test
