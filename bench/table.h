// What people read: a table printed row by row while Google Benchmark runs, from its results.
#pragma once

#include <benchmark/benchmark.h>

#include <string>
#include <vector>

namespace tw::bench {

/// One column: a counter with `digits` after the point, or the next part of the label that the
/// benchmark set (parts are separated by '|').
struct Column {
  std::string title;
  std::string counter;  ///< name; empty: the next part of the label
  int width = 8;
  int digits = 1;
  std::string suffix = {};
};

/// A table for all benchmarks whose names start with "KIND/".
struct Table {
  std::string kind;
  std::string title;
  std::vector<Column> columns;
};

/// Prints a row for each result, and a table's title and head before its first row. A counter that
/// a benchmark did not set is printed as "-".
class TableReporter : public benchmark::BenchmarkReporter {
 public:
  explicit TableReporter(std::vector<Table> tables) : tables_(std::move(tables)) {}
  bool ReportContext(const Context& /*context*/) override { return true; }
  void ReportRuns(const std::vector<Run>& runs) override;

 private:
  void print_row(const Run& run);
  std::vector<Table> tables_;
  const Table* open_ = nullptr;  ///< the table whose head was printed last
};

}  // namespace tw::bench
