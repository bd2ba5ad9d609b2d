#include <fmt/format.h>

#include <cmath>

#include "command/commands.h"
#include "command/kernel_facts.h"
#include "command/options.h"
#include "command/places.h"
#include "command/record_layers.h"
#include "tuner/layers.h"
#include "tuner/locked_file.h"
#include "tuner/record_file.h"
#include "tuner/regret.h"
#include "tuner/report_model.h"
#include "tuner/report_text.h"
#include "tuner/shorten.h"

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

int shorten(const std::vector<std::string>& files, const std::string& output) {
  const std::vector<Record> all = read_all_records(files), kept = shortened(all);
  std::string text;
  for (const Record& record : kept) text += to_line(record) + "\n";
  replace_file(output, text);
  fmt::print("{}: {} of {}\n", output, kept.size(), counted_text(all.size(), "record"));
  return 0;
}

std::string settings(const Configuration& ran) {
  return fmt::format("{}\n             slices of {} columns x {} rows, {} first, prefetch {}{}{}",
                     ran.kernel, ran.n_block, ran.m_block, ran.order, ran.prefetch,
                     ran.decodes == "yes" ? ", decoded first" : "",
                     ran.compiler.empty() ? "" : ", " + ran.compiler);
}

const char* outcome_name(Outcome outcome) {
  return outcome == Outcome::wrong ? "wrong" : outcome == Outcome::crash ? "crash" : "timeout";
}

std::string core_line(const Core& core) {
  return fmt::format("{} ({})", core.name.empty() ? "unknown core" : core.name, identity(core));
}

void print_lead(const ReportCell& cell) {
  if (!cell.has_choice()) {
    fmt::print("  best       unknown: the baseline has no record\n");
    return;
  }
  const ReportCandidate& best = cell.candidates[0];
  fmt::print("  best       {}\n", settings(best.evidence.run));
  const ReportCandidate* next = cell.next();
  if (next == nullptr) {
    fmt::print("  next       {}\n", cell.candidates.size() == 1
                                        ? "nothing else was measured"
                                        : "unknown: nothing else was measured often enough");
    return;
  }
  const Estimate ahead = slower(*next, best);
  fmt::print("  next       {}\n", settings(next->evidence.run));
  fmt::print("  lead       {:.3f} times as fast, 95 %: {:.3f} to {:.3f}: {}\n", std::exp(ahead.log),
             std::exp(ahead.low()), std::exp(ahead.log + ahead.width),
             ahead.low() > 0 ? "sure" : "not sure");
}

void print_cell(const Core& core, const ReportProblem& of, const ReportCell& cell) {
  const Problem& p = of.problem;
  fmt::print("{}: {}, n {}, k {}{}, m {}, {}, {}\n", core_line(core), p.family, p.n, p.k,
             p.block == 0 ? "" : fmt::format(", blocks of {} with {}", p.block, p.scales), cell.m,
             cell.regime == Regime::hot ? "hot" : "streamed", counted_text(of.threads, "thread"));
  print_lead(cell);
  if (const size_t noisy = cell.candidates[0].evidence.noisy; noisy > 0) {
    fmt::print("  noisy      {} of the best one\n", counted_text(noisy, "record"));
  }
  if (cell.left_out > 0) {
    fmt::print("  left out   {}: the kernel failed, or against another baseline\n",
               counted_text(cell.left_out, "record"));
  }
}

void print_core(const ReportCore& core) {
  for (const ReportProblem& problem : core.problems) {
    for (const ReportCell& cell : problem.cells) print_cell(core.core, problem, cell);
  }
  if (!core.failures.empty()) fmt::print("{}: failed, and chosen nowhere\n", core_line(core.core));
  for (const Record* failed : core.failures) {
    fmt::print("  {:<10} {}{}\n", outcome_name(failed->outcome), failed->ran.kernel,
               failed->detail.empty() ? "" : ": " + failed->detail);
  }
}

void print_all(const std::vector<Record>& records) {
  for (const ReportCore& core : report_model(records)) print_core(core);
}

int best(const std::vector<std::string>& files) {
  const std::vector<Record> own = read_all_records(files);
  print_all(own);
  std::vector<Record> below = layered(own, of_same_cores(own, shipped_records()));
  below.erase(below.begin(), below.begin() + static_cast<std::ptrdiff_t>(own.size()));
  if (below.empty()) return 0;
  fmt::print("\nNot measured here, from the records that ship:\n");
  print_all(below);
  return 0;
}

int regret(const std::vector<std::string>& files) {
  const Places places = find_places("");
  const FactsOf facts_of = facts_from_specs(spec_inputs({}, places), places.templates);
  fmt::print("{}", regret_text(regrets(read_all_records(files), facts_of)));
  return 0;
}

CLI::App* add(CLI::App* records, const char* name, const char* about, const char* examples,
              std::vector<std::string>& files) {
  CLI::App* command = add_command(*records, name, about, examples);
  command->add_option("FILE", files, "Files of records, a line each")->required();
  return command;
}

}  // namespace

void add_records(CLI::App& app, RecordsOptions& options, int& status) {
  CLI::App* records = add_command(app, "records", "Check, merge and compare measurements.",
                                  "  tilewright records check phone.jsonl\n"
                                  "  tilewright records merge phone.jsonl desk.jsonl -o all.jsonl\n"
                                  "  tilewright records best all.jsonl\n"
                                  "  tilewright records regret all.jsonl\n"
                                  "\nEach has --help with more.");
  records->require_subcommand(1);
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
  add_value(merging, "-o,--out", options.out, "FILE",
            "File to write: a new one or one of the inputs")
      ->required();
  merging->callback([&] { status = merge(options.files, options.out); });
  CLI::App* shortening = add(
      records, "shorten",
      "Write a new file with what choices rest on: of each problem and core the baseline and the "
      "best of each layout, without samples.",
      "  tilewright records shorten phone.jsonl -o short.jsonl    for others, or to ship",
      options.files);
  add_value(shortening, "-o,--out", options.out, "FILE", "File to write, which must not exist")
      ->required()
      ->check(CLI::NonexistentPath);
  shortening->callback([&] { status = shorten(options.files, options.out); });
  add(records, "best",
      "Show the fastest kernel per core, problem, regime and threads, by how much and how sure; "
      "and what crashed or was wrong. Then, for the same cores, what ships and the files lack.",
      "  tilewright records best phone.jsonl\n"
      "  tilewright records best phone.jsonl desk.jsonl",
      options.files)
      ->callback([&] { status = best(options.files); });
  add(records, "regret",
      "Show what choosing loses where it has no records of the very thing: of each rung its time / "
      "the least time, over all cells. A cell is a problem, a number of rows and a regime on one "
      "kind of core; a rung knows nothing of its problem, those about other cores nothing of its "
      "core.",
      "  tilewright records regret phone.jsonl\n"
      "  tilewright records regret phone.jsonl desk.jsonl    what each says about the other's core",
      options.files)
      ->callback([&] { status = regret(options.files); });
}

}  // namespace tw
