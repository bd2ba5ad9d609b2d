#include "table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <sstream>

namespace tw::bench {

namespace {

std::string aligned(const Column& column, const std::string& text) {
  return column.counter.empty() ? fmt::format("{:<{}} ", text, column.width)
                                : fmt::format("{:>{}} ", text, column.width);
}

std::string head(const Table& table) {
  std::string line;
  for (const Column& column : table.columns) line += aligned(column, column.title);
  return line;
}

}  // namespace

void TableReporter::ReportRuns(const std::vector<Run>& runs) {
  for (const Run& run : runs) print_row(run);
  std::fflush(stdout);
}

void TableReporter::print_row(const Run& run) {
  const std::string name = run.benchmark_name();
  const auto table = std::find_if(tables_.begin(), tables_.end(),
                                  [&](const Table& t) { return name.rfind(t.kind + "/", 0) == 0; });
  if (table == tables_.end()) return;
  if (open_ != &*table) {
    fmt::print("\n{}\n{}\n", table->title, head(*table));
    open_ = &*table;
  }
  if (run.error_occurred) {
    fmt::print("{}: {}\n", name, run.error_message);
    return;
  }
  std::istringstream label(run.report_label);
  std::string line, part;
  for (const Column& column : table->columns) {
    if (column.counter.empty()) {
      std::getline(label, part, '|');
      line += aligned(column, part);
      continue;
    }
    const auto counter = run.counters.find(column.counter);
    line += aligned(column, counter == run.counters.end()
                                ? "-"
                                : fmt::format("{:.{}f}{}", counter->second.value, column.digits,
                                              column.suffix));
  }
  fmt::print("{}\n", line);
}

}  // namespace tw::bench
