// Plants one fault and runs the tests that must notice it.
#pragma once

#include <filesystem>
#include <string>

#include "faults/build_tree.h"
#include "faults/fault.h"

namespace tw::test {

inline const std::filesystem::path root = TILEWRIGHT_SOURCE_DIR;

struct Builds {
  BuildTree host, arm64;
  BuildTree& of(const std::string& name) { return name == "host" ? host : arm64; }
};

struct Verdict {
  bool caught = false;
  std::string text;  ///< the test that caught it, or what went wrong
};

/// That the test passes without any fault, and that there is one: an error text, or empty.
std::string check_passes(Builds& builds, const CatchingTest& test);

/// `work` is an own folder for what is made on the way.
Verdict seed(Builds& builds, const Fault& fault, const std::filesystem::path& work);

}  // namespace tw::test
