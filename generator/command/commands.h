// The subcommands. Each prints to stdout, throws UsageError, SpecError, TreeError or
// std::runtime_error for what main() then prints, and returns the exit status: 0, or 1 for "no"
// (--check found differences).
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

namespace tw {

/// Options that do not go together.
struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct GenerateOptions {
  std::vector<std::string> specs;  ///< empty: all shipped ones
  std::string out;                 ///< empty: the shipped tree
  std::string templates;
  bool check = false;
};
int run_generate(const GenerateOptions& options);

struct ListOptions {
  std::vector<std::string> specs;
  std::string templates;
};
int run_list(const ListOptions& options);

struct ExplainOptions {
  std::string kernel;
  std::string core;  ///< empty: the one the kernel is scheduled for
  std::vector<std::string> specs;
  std::string templates;
};
int run_explain(const ExplainOptions& options);

struct ShipOptions {
  std::vector<std::string> kernels;  ///< names of registry rows
  std::vector<std::string> specs;
  std::string out;
  std::string templates;
};
int run_ship(const ShipOptions& options);

struct WorkloadOptions {
  std::string model;  ///< a GGUF file
  std::string out;    ///< empty: print it
};
int run_workload(const WorkloadOptions& options);

int run_device(const std::string& templates);

}  // namespace tw
