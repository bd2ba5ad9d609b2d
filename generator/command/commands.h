// The subcommands. Each prints to stdout, throws UsageError, SpecError, TreeError or
// std::runtime_error for what main() then prints, and returns the exit status: 0, or 1 for "no"
// (--check found differences).
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

namespace CLI {
class App;
}

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

struct DeviceOptions {
  std::string templates;
  bool json = false;  ///< a description to keep, instead of text for people
};
int run_device(const DeviceOptions& options);

struct RecordsOptions {
  std::vector<std::string> files;
  std::string out;
};
/// Adds `records check | merge | best`, which set `status`.
void add_records(CLI::App& app, RecordsOptions& options, int& status);

}  // namespace tw
