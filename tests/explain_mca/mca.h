// llvm-mca's word on what loops cost.
#pragma once

#include <filesystem>
#include <regex>
#include <string>
#include <vector>

namespace tw::test {

/// An instruction that llvm-mca is wrong about.
struct McaException {
  std::regex instruction;
  std::string shown;  ///< what llvm-mca sees instead, std::regex_replace's format
};

/// Kernels whose cycles are known to differ by more than others'.
struct McaDifference {
  std::regex kernels;
  double allowed = 0;  ///< a share
};

/// A core that it has a model of.
struct McaCore {
  std::string core;  ///< as templates/core calls it
  std::string mca;   ///< as llvm-mca calls it
  std::string triple;
  std::vector<std::string> features;
  std::vector<McaException> exceptions;
  std::vector<McaDifference> differences;
};
std::vector<McaCore> read_mca_cores(const std::filesystem::path& file);

/// Instructions of the loop with that label in a kernel's text.
std::string loop_text(const std::string& assembly, const std::string& label);

struct McaLoop {
  std::string text;
  double cycles = 0;      ///< per iteration in the steady state
  bool excepted = false;  ///< had an instruction that llvm-mca is wrong about
};
/// Sets cycles and excepted. Throws std::runtime_error with what llvm-mca says.
void run_mca(const std::string& llvm_mca, const McaCore& core, std::vector<McaLoop>& loops);

}  // namespace tw::test
