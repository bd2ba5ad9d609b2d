#include "tuner/report.h"

#include <fmt/format.h>

#include "command/commands.h"
#include "command/kernel_facts.h"
#include "command/options.h"
#include "command/places.h"
#include "emit/write_tree.h"
#include "tuner/record_file.h"
#include "tuner/report_text.h"

namespace tw {

void check_report(const std::string& out) {
  check_replaceable(out, tuner::kReportHead, "a report");
}

void write_report(const ReportOptions& options) {
  check_report(options.out);
  std::vector<tuner::Record> records;
  std::vector<tuner::ReportSource> sources;
  size_t bad = 0;
  for (const std::string& path : options.records) {
    tuner::RecordFile file = tuner::read_records(path);
    sources.push_back({path, file.records.size(), file.bad.size()});
    std::move(file.records.begin(), file.records.end(), std::back_inserter(records));
    bad += file.bad.size();
  }
  const Places places = find_places("");
  const tuner::FactsOf facts_of = facts_from_specs(spec_inputs({}, places), places.templates);
  write_file(options.out, tuner::report_page(records, sources, tuner::regrets(records, facts_of)));
  fmt::print("{}: {}{}\n", options.out, tuner::counted_text(records.size(), "record"),
             bad == 0 ? ""
                      : fmt::format("; {} left out (`tilewright records check` shows them)",
                                    tuner::counted_text(bad, "damaged line")));
}

void add_report(CLI::App& app, ReportOptions& options) {
  CLI::App* command = add_command(
      app, "report", "Write a page that shows what records say: who wins, by how much, how sure.",
      "  tilewright report --records mine.jsonl\n"
      "  tilewright report --records phone.jsonl --records desk.jsonl -o both.html\n"
      "\nThe page is one file that needs no network. It replaces an older report, no other file.");
  add_values(command, "--records", options.records, "FILE",
             "File of records; may be given several times")
      ->required();
  add_value(command, "-o,--out", options.out, "FILE", "Page to write")->capture_default_str();
  command->callback([&options] { write_report(options); });
}

}  // namespace tw
