#include "command/tune.h"

#include <fmt/format.h>

#include <filesystem>

#include "command/commands.h"
#include "command/job_matmuls.h"
#include "command/options.h"
#include "command/places.h"
#include "command/record_layers.h"
#include "spec/workload_reader.h"
#include "tuner/job.h"
#include "tuner/record_file.h"
#include "tuner/target.h"

namespace tw {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

tuner::Target target_of(const TuneOptions& options) {
  using Kind = tuner::Target::Kind;
  if (!options.adb.empty()) return {Kind::adb, options.adb == "any" ? "" : options.adb};
  if (!options.ssh.empty()) return {Kind::ssh, options.ssh};
  if (!options.exec.empty()) return {Kind::exec, options.exec};
  return {};
}

/// The one beside this command, in a build tree or installed.
std::string own_program() {
  std::error_code error;
  const fs::path folder = fs::read_symlink("/proc/self/exe", error).parent_path();
  for (const fs::path& path :
       {folder / "tilewright_tuner", folder.parent_path() / "tuner/program/tilewright_tuner"}) {
    if (fs::exists(path, error)) return path.string();
  }
  throw UsageError(
      "the program that measures is not built: name it with --program (CMake option "
      "TILEWRIGHT_TUNER builds it)");
}

/// What came from the device so far.
struct Session {
  const TuneOptions& options;
  Progress progress;
  std::vector<json> choices;
  size_t records = 0, failed = 0;
};

void take(Session& session, const std::string& line) {
  const json event = json::parse(line, nullptr, false);
  if (event.is_discarded()) throw tuner::TargetError{"an answer that is no JSON: " + line};
  if (!event.contains("event")) {
    const tuner::Record record = tuner::from_line(line);
    tuner::append_record(session.options.records, record);
    ++session.records;
    if (record.outcome != tuner::Outcome::ok) {
      session.progress.end();
      fmt::print(stderr, "{}: {}\n", record.ran.kernel, record.detail);
      ++session.failed;
    }
  } else if (event["event"] == "progress") {
    session.progress.show(event.at("done").get<double>(), event.at("text").get<std::string>());
  } else if (event["event"] == "choice") {
    session.choices.push_back(event);
  } else if (event["event"] == "device") {
    fmt::print("{}: {}\n", to_text(target_of(session.options)),
               event.at("device").value("name", "unknown"));
  }
}

double budget_of(const std::string& text) {
  if (text == "separated") return -1;
  double seconds = -1;
  if (CLI::detail::lexical_cast(text, seconds) && seconds >= 0 && seconds < 1e9) return seconds;
  throw UsageError(
      fmt::format("--budget is '{}'; seconds from 0 on, or separated, are legal", text));
}

void check(const TuneOptions& options) {
  const int targets = !options.adb.empty() + !options.ssh.empty() + !options.exec.empty();
  if (targets > 1) throw UsageError("--adb, --ssh and --exec exclude one another");
  if (targets == 1 && options.program.empty()) {
    throw UsageError(
        "--adb, --ssh and --exec need --program: a tilewright_tuner built for that "
        "device (CMake preset arm64 makes one for 64-bit Arm)");
  }
  for (const size_t threads : options.threads) {
    if (threads == 0) throw UsageError("--threads is 0; from 1 on is legal");
  }
}

/// Of all records of the file; a budget of 0 may have made none.
void report(const TuneOptions& options) {
  std::error_code error;
  ReportOptions page{{}, options.report};
  if (fs::exists(options.records, error)) page.records = {options.records};
  write_report(page);
}

}  // namespace

int run_tune(const TuneOptions& options) {
  check(options);
  if (!options.report.empty()) check_report(options.report);
  tuner::Job job;
  job.budget = budget_of(options.budget);
  job.exhaustive = options.exhaustive;
  job.hot = options.hot;
  job.cpu = options.cpu;
  if (options.exhaustive) job.budget = -1;
  const Places places = find_places("");
  const fs::path workload = options.workload.empty() ? places.specs / "workloads/gemma2b.yaml"
                                                     : fs::path(options.workload);
  for (const size_t threads : options.threads) {
    for (tuner::JobMatmul matmul : job_matmuls(read_workload(workload))) {
      matmul.wanted.threads = threads;
      job.matmuls.push_back(std::move(matmul));
    }
  }
  for (const tuner::Record& r : shipped_records()) {
    const bool is_of_use =
        std::any_of(job.matmuls.begin(), job.matmuls.end(),
                    [&](const auto& matmul) { return is_of_weights(r.problem, matmul.wanted); });
    if (is_of_use) job.shipped.push_back(r);
  }
  std::error_code error;
  if (!options.again && fs::exists(options.records, error)) {
    job.known = read_all_records({options.records});
  }
  const std::string program = options.program.empty() ? own_program() : options.program;
  Session session{options, Progress(job.budget), {}, 0, 0};
  try {
    tuner::run_on_target(target_of(options), program, tuner::to_text(job),
                         [&](const std::string& line) { take(session, line); });
  } catch (const tuner::TargetError& lost) {
    session.progress.end();
    throw std::runtime_error(
        fmt::format("{}\n{} records of this run are in {}; the same command goes on from there",
                    lost.what, session.records, options.records));
  }
  session.progress.end();
  fmt::print("{}", choice_table(session.choices));
  fmt::print("{}: {} new records{}\n", options.records, session.records,
             session.failed > 0 ? fmt::format(", {} of failures", session.failed) : "");
  if (!options.report.empty()) report(options);
  return 0;
}

void add_tune(CLI::App& app, TuneOptions& options, int& status) {
  CLI::App* command = add_command(
      app, "tune",
      "Measure on a device which kernels are fastest for a workload, and keep the records.",
      "  tilewright tune --budget 2                                   a quick look at this "
      "machine\n"
      "  tilewright tune --workload specs/workloads/gemma2b.yaml --records mine.jsonl\n"
      "  tilewright tune --ssh me@board --program build/arm64/tuner/program/tilewright_tuner\n"
      "\nA record file grows only; what it has of this device and these kernels is not measured "
      "again.");
  add_value(command, "--workload", options.workload, "FILE",
            "Workload (default: the one of Gemma 2B that ships)");
  add_value(command, "--records", options.records, "FILE", "File that gets the records")
      ->capture_default_str();
  add_value(command, "--budget", options.budget, "SECONDS",
            "Seconds; 0: the cost model and what is known, measure nothing; separated: until "
            "every winner is sure")
      ->capture_default_str();
  command->add_flag("--exhaustive", options.exhaustive,
                    "All combinations, whatever time they take");
  command->add_flag("--hot", options.hot, "Show who wins with weights in the caches, too");
  command->add_flag("--again", options.again, "Measure what the file has, too");
  add_value(command, "--cpu", options.cpu, "N",
            "Core that measures (default: the last one of each kind, one kind after the "
            "other, which share the budget)");
  add_value(command, "--threads", options.threads, "N,...",
            "Numbers of threads that share each multiplication, each on a core of its own")
      ->delimiter(',')
      ->capture_default_str();
  add_value(command, "--adb", options.adb, "SERIAL", "Measure on that phone (any: the only one)");
  add_value(command, "--ssh", options.ssh, "HOST", "Measure on that host");
  add_value(command, "--exec", options.exec, "CMD",
            "Measure through that command: an emulator, a job scheduler");
  add_value(command, "--program", options.program, "FILE",
            "tilewright_tuner for the device (default: the one beside this command)");
  add_value(command, "--report", options.report, "FILE",
            "Page to write at the end: what `tilewright report` makes of the records");
  command->callback([&options, &status] { status = run_tune(options); });
}

}  // namespace tw
