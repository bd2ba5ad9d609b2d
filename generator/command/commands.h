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

struct SweepOptions {
  std::string family, isa;
  std::string core;    ///< empty: the ISA's default
  int block = 0;       ///< 0: the format's
  std::string scales;  ///< of blocks; empty: f16
  std::string out = "build/sweep";
  int measure = 0;  ///< tiles for each number of rows; 0: nothing is measured
  std::string workload;
  double budget = 120;  ///< seconds
  std::string templates;
};
int run_sweep(const SweepOptions& options);
void add_sweep(CLI::App& app, SweepOptions& options, int& status);

struct ListOptions {
  std::vector<std::string> specs;
  bool matrix = false;
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
  std::vector<std::string> records;  ///< files: the winners for a workload go in, too
  std::string workload;
  std::vector<std::string> specs;
  std::string out;
  std::string templates;
};
int run_ship(const ShipOptions& options);

struct NewProjectOptions {
  std::string folder;
  std::string workload;
  std::string templates;
};
int run_new_project(const NewProjectOptions& options);

struct WorkloadOptions {
  std::string model;  ///< a GGUF file
  std::string out;    ///< empty: print it
};
int run_workload(const WorkloadOptions& options);

struct DeviceOptions {
  std::string templates;
  bool json = false;  ///< a description to keep, instead of text for people
};
int run_device(const DeviceOptions& options);

struct RecordsOptions {
  std::vector<std::string> files;
  std::string out;
};
/// Adds `records check | merge | best | regret`, which set `status`.
void add_records(CLI::App& app, RecordsOptions& options, int& status);

struct ReportOptions {
  std::vector<std::string> records;  ///< files
  std::string out = "report.html";
};
/// Throws TreeError if `out` is a file but no report.
void check_report(const std::string& out);
void write_report(const ReportOptions& options);
void add_report(CLI::App& app, ReportOptions& options);

struct TuneOptions {
  std::string workload;  ///< empty: the shipped one
  std::string records = "tilewright-records.jsonl";
  std::string budget = "60";
  bool exhaustive = false, hot = false, again = false;
  int cpu = -1;
  std::vector<size_t> threads = {1};
  std::string adb, ssh, exec;  ///< at most one is not empty
  std::string program;         ///< empty: the one beside this command
  std::string report;          ///< a page to write at the end; empty: none
};
int run_tune(const TuneOptions& options);
void add_tune(CLI::App& app, TuneOptions& options, int& status);

}  // namespace tw
