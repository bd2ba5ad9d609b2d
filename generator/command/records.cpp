#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "command/commands.h"
#include "tuner/ranking.h"
#include "tuner/record_file.h"
#include "tuner/report_text.h"

namespace tw {
namespace {

using namespace tuner;

int check(const std::vector<std::string>& files) {
  size_t bad = 0;
  for (const std::string& path : files) {
    const RecordFile file = read_records(path);
    for (const BadLine& line : file.bad) fmt::print("{}:{}: {}\n", path, line.line, line.what);
    fmt::print("{}: {}, {}\n", path, counted_text(file.records.size(), "record"),
               counted_text(file.bad.size(), "bad line"));
    bad += file.bad.size();
  }
  return bad == 0 ? 0 : 1;
}

int merge(const std::vector<std::string>& files, const std::string& output) {
  const Merged merged = merge_records(files, output);
  fmt::print("{}: {}; {} and {} left out\n", output, counted_text(merged.records, "record"),
             counted_text(merged.repeated, "repeated line"), counted_text(merged.bad, "bad line"));
  return 0;
}

std::string settings(const Configuration& ran) {
  return fmt::format("{}\n             slices of {} columns x {} rows, {} first, prefetch {}{}",
                     ran.kernel, ran.n_block, ran.m_block, ran.order, ran.prefetch,
                     ran.compiler.empty() ? "" : ", " + ran.compiler);
}

void print_lead(const Ranking& ranking) {
  if (ranking.ranked.empty()) {
    fmt::print("  best       unknown: no good measurement\n");
    return;
  }
  fmt::print("  best       {}\n", settings(ranking.ranked[0].ran));
  if (ranking.ranked.size() == 1) {
    fmt::print("  next       nothing else was measured\n");
    return;
  }
  const Ratio ahead = lead(ranking.ranked[0], ranking.ranked[1]);
  fmt::print("  next       {}\n", settings(ranking.ranked[1].ran));
  fmt::print("  lead       {:.3f} times as fast, 95 %: {:.3f} to {:.3f}, {}: {}\n", ahead.median,
             ahead.low, ahead.high, counted_text(ahead.rounds, "round"),
             ahead.low > 1 ? "sure" : "not sure");
}

void print_ranking(const Ranking& ranking) {
  const Problem& p = ranking.problem;
  fmt::print("{} ({}): {}, n {}, k {}{}, m {}, {}, {}\n",
             ranking.core.name.empty() ? "unknown core" : ranking.core.name, identity(ranking.core),
             p.family, p.n, p.k,
             p.block == 0 ? "" : fmt::format(", blocks of {} with {}", p.block, p.scales), p.m,
             ranking.regime == Regime::hot ? "hot" : "streamed",
             counted_text(ranking.threads, "thread"));
  print_lead(ranking);
  for (const Record& record : ranking.failed) {
    const char* outcome = record.outcome == Outcome::wrong   ? "wrong"
                          : record.outcome == Outcome::crash ? "crash"
                                                             : "timeout";
    fmt::print("  {:<10} {}{}\n", outcome, record.ran.kernel,
               record.detail.empty() ? "" : ": " + record.detail);
  }
  if (ranking.noisy > 0)
    fmt::print("  left out   {}, too noisy\n", counted_text(ranking.noisy, "record"));
  if (ranking.unrelated > 0) {
    fmt::print("  left out   {}, against another baseline\n",
               counted_text(ranking.unrelated, "record"));
  }
}

int best(const std::vector<std::string>& files) {
  std::vector<Record> records;
  for (const std::string& path : files) {
    RecordFile file = read_records(path);
    std::move(file.records.begin(), file.records.end(), std::back_inserter(records));
    if (file.bad.empty()) continue;
    fmt::print(stderr, "{}: {} left out (`tilewright records check` shows them)\n", path,
               counted_text(file.bad.size(), "bad line"));
  }
  for (const Ranking& ranking : rank(records)) print_ranking(ranking);
  return 0;
}

CLI::App* add(CLI::App* records, const char* name, const char* about, const char* examples,
              std::vector<std::string>& files) {
  CLI::App* command = records->add_subcommand(name, about);
  command->footer(fmt::format("Examples:\n{}", examples));
  command->add_option("FILE", files, "Files of records, a line each")->required();
  return command;
}

}  // namespace

void add_records(CLI::App& app, RecordsOptions& options, int& status) {
  CLI::App* records = app.add_subcommand("records", "Check, merge and compare measurements.");
  records->require_subcommand(1);
  records->footer(
      "Examples:\n"
      "  tilewright records check phone.jsonl\n"
      "  tilewright records merge phone.jsonl desk.jsonl -o all.jsonl\n"
      "  tilewright records best all.jsonl\n"
      "\nEach has --help with more.");
  add(records, "check", "Count good and bad lines; exit with 1 if there are bad ones.",
      "  tilewright records check phone.jsonl\n"
      "  tilewright records check *.jsonl        bad lines have their numbers and what is wrong",
      options.files)
      ->callback([&] { status = check(options.files); });
  CLI::App* merging =
      add(records, "merge", "Write all good lines of all files, each once, the oldest first.",
          "  tilewright records merge phone.jsonl desk.jsonl -o both.jsonl    a new file\n"
          "  tilewright records merge both.jsonl phone.jsonl -o both.jsonl    replaces an input",
          options.files);
  merging->add_option("-o,--out", options.out, "File to write: a new one or one of the inputs")
      ->required()
      ->type_name("FILE");
  merging->callback([&] { status = merge(options.files, options.out); });
  add(records, "best",
      "Show the fastest kernel per core, problem, regime and threads, by how much and how sure; "
      "and what crashed or was wrong.",
      "  tilewright records best phone.jsonl\n"
      "  tilewright records best phone.jsonl desk.jsonl",
      options.files)
      ->callback([&] { status = best(options.files); });
}

}  // namespace tw
