#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <thread>

#include "command/job_matmuls.h"
#include "command/sweep.h"
#include "command/tune.h"
#include "emit/write_tree.h"
#include "spec/workload_reader.h"
#include "tuner/child.h"
#include "tuner/record_file.h"
#include "tuner/report_model.h"
#include "tuner/report_text.h"
#include "tuner/shell.h"
#include "tuner/target.h"

namespace tw {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

/// The model's best of each number of rows with every kind of prefetch, and what ships.
std::vector<SweepPoint> rivals(const Sweep& all, const Shipped& shipped, size_t count) {
  std::vector<SweepPoint> points;
  for (const Swept& swept : all.fit) {
    if (shipped.count(swept.kernel) != 0) points.push_back(swept.point);
  }
  for (const int64_t m : sweep_rows) {
    const std::vector<const Swept*> best = best_tiles(all, m);
    for (size_t i = 0; i < std::min(count, best.size()); ++i) {
      SweepPoint point = best[i]->point;
      for (const Prefetch prefetch : prefetches_of_weights) {
        if (prefetch == Prefetch::far && best[i]->rows == 1) continue;  // nobody comes back
        point.knobs.prefetch = prefetch;
        points.push_back(point);
      }
    }
  }
  return points;
}

void write_rivals(const SweepAim& aim, const Sweep& chosen, const Places& places,
                  const fs::path& folder) {
  std::string spec = "# What was measured last.\n" + spec_head(aim.family);
  for (const Swept& swept : chosen.fit) spec += entry_text(aim, swept.point);
  write_file(folder / "best.yaml", spec);
  const Origin origin{TILEWRIGHT_VERSION, "tilewright sweep --measure"};
  write_tree(
      folder / "best",
      generate_tree({{folder / "best.yaml", "best.yaml"}}, {places.templates, origin, ""}).files);
}

/// Lines are progress; of a failure they are the message.
void run_tool(const tuner::Words& words, Progress& progress, double from) {
  std::string said;
  const auto keep = [&](const std::string& line) {
    said += line + "\n";
    progress.show(from, line.substr(0, 60));
  };
  const tuner::Exit exit = tuner::run_and_read(words, "", keep, keep);
  if (exit.status == 0) return;
  progress.end();
  throw std::runtime_error(
      fmt::format("{}`{}` ended with status {}", said, fmt::join(words, " "), exit.status));
}

/// The tuner's program with these kernels. Where it is built again only kernels are compiled anew.
std::string build_program(const Places& places, const SweepFolder& folder) {
  const std::string source = places.generated.parent_path().string();
  const std::string build = fs::absolute(folder.root / "program").string();
  const std::string kernels = fs::absolute(folder.folder / "best").string();
  const unsigned jobs = std::max(1U, std::thread::hardware_concurrency());
  Progress progress(-1);
  const auto cmake = [&](const tuner::Words& words, double from) {
    run_tool(tuner::shell_words("exec cmake", words), progress, from);
  };
  cmake({"-S", source, "-B", build, "-DCMAKE_BUILD_TYPE=Release",
         "-DTILEWRIGHT_GENERATED=" + kernels, "-DTILEWRIGHT_GENERATOR=OFF",
         "-DTILEWRIGHT_TESTS=OFF", "-DTILEWRIGHT_EXAMPLES=OFF", "-DTILEWRIGHT_BENCH=OFF"},
        0);
  cmake({"--build", build, "--target", "tilewright_tuner", "--parallel", std::to_string(jobs)},
        0.1);
  progress.end();
  return (fs::path(build) / "tuner/program/tilewright_tuner").string();
}

/// What plans call a block of the weights.
int plan_block(const SweepAim& aim) {
  return std::max(aim.block, aim.family.rhs->super_block);
}

Workload usual_shapes(const SweepAim& aim) {
  Workload workload;
  Matmul matmul{"usual", aim.family.name, 4096, 2048, 1, plan_block(aim), ""};
  if (aim.block != 0) matmul.scales = name(aim.scales);
  workload.matmuls = {matmul};
  for (const int64_t m : sweep_rows) workload.rows.push_back({m, 1});
  return workload;
}

/// Each shape has its part of the time: what takes longest is not what matters most here.
class Races {
 public:
  Races(std::string program, std::string file, size_t shapes, double budget)
      : program_(std::move(program)),
        file_(std::move(file)),
        shapes_(static_cast<double>(shapes)),
        budget_(budget),
        progress_(budget) {}

  void run(const tuner::JobMatmul& shape) {
    tuner::Job job;
    job.matmuls = {shape};
    job.budget = budget_ / shapes_;
    try {
      tuner::run_on_target({}, program_, to_text(job), [&](const std::string& l) { take(l); });
    } catch (const tuner::TargetError& lost) {
      progress_.end();
      throw std::runtime_error(
          fmt::format("{}\n{}: {} records of this run, which `tilewright "
                      "records best` shows",
                      lost.what, file_, records_.size()));
    }
    done_ += 1 / shapes_;
  }

  [[nodiscard]] std::vector<tuner::Record> records() {
    progress_.end();
    return records_;
  }

 private:
  void take(const std::string& line) {
    const json event = json::parse(line);
    if (!event.contains("event")) {
      records_.push_back(tuner::from_line(line));
      tuner::append_record(file_, records_.back());
    } else if (event["event"] == "progress") {
      progress_.show(done_ + event.at("done").get<double>() / shapes_,
                     event.at("text").get<std::string>());
    }
  }

  std::string program_, file_;
  double shapes_, budget_, done_ = 0;
  Progress progress_;
  std::vector<tuner::Record> records_;
};

/// Where the model sees a kernel among those that were measured, from 1.
size_t model_place(const Sweep& chosen, const std::string& kernel, int64_t m) {
  const auto own = std::find_if(chosen.fit.begin(), chosen.fit.end(),
                                [&](const Swept& swept) { return swept.kernel == kernel; });
  if (own == chosen.fit.end()) return 0;
  return 1 + static_cast<size_t>(
                 std::count_if(chosen.fit.begin(), chosen.fit.end(), [&](const Swept& other) {
                   return cycles_per_mac(other, m) < cycles_per_mac(*own, m);
                 }));
}

/// Its speed / that of `winner`, with the 95 % interval or how few rounds there were.
std::string speed_text(const tuner::ReportCandidate& candidate,
                       const tuner::ReportCandidate& winner) {
  const tuner::Estimate behind = slower(candidate, winner);
  const std::string sure =
      &candidate == &winner ? ""
      : candidate.has_interval()
          ? fmt::format("{:.3f} to {:.3f}", std::exp(-behind.log - behind.width),
                        std::exp(-behind.log + behind.width))
          : tuner::counted_text(candidate.evidence.rounds, "round");
  return fmt::format("{:>9.3f} {:>16}", std::exp(-behind.log), sure);
}

/// The best configuration of each kernel, the winner first, then those that are sure.
std::string cell_text(const tuner::Problem& p, const tuner::ReportCell& cell, const Sweep& chosen,
                      const Shipped& shipped) {
  std::string text = fmt::format(
      "\nn {}, k {}, {}, {}: time of the winner / time of this\n{:>9} {:>16} {:>7}  {}\n", p.n, p.k,
      tuner::counted_text(cell.m, "row"),
      cell.regime == tuner::Regime::hot ? "weights in the caches" : "weights from memory",
      "measured", "95 %", "model", "kernel");
  std::set<std::string> seen;
  for (const tuner::ReportCandidate& candidate : cell.candidates) {
    const std::string& kernel = candidate.evidence.run.kernel;
    if (!seen.insert(kernel).second) continue;
    text += fmt::format("{} {:>7}  {}{}\n", speed_text(candidate, cell.candidates.front()),
                        model_place(chosen, kernel, static_cast<int64_t>(cell.m)),
                        tuner::short_kernel(kernel, p.family),
                        shipped.count(kernel) != 0 ? "  (ships)" : "");
  }
  return text;
}

std::string core_report(const tuner::ReportCore& core, const Sweep& chosen,
                        const Shipped& shipped) {
  std::string text;
  for (const tuner::ReportProblem& problem : core.problems) {
    for (const tuner::ReportCell& cell : problem.cells) {
      text += cell_text(problem.problem, cell, chosen, shipped);
    }
  }
  for (const tuner::Record* failed : core.failures) {
    text += fmt::format("   failed {}: {}\n", failed->ran.kernel, failed->detail);
  }
  return text;
}

}  // namespace

std::vector<tuner::JobMatmul> measured_shapes(const SweepOptions& options, const SweepAim& aim,
                                              const Places& places) {
  if (places.generated.empty()) {
    throw std::runtime_error(
        "--measure compiles the tuner's program: the command of a source tree can do so, an "
        "installed one has no sources");
  }
  const Workload workload =
      options.workload.empty() ? usual_shapes(aim) : read_workload(options.workload);
  std::vector<tuner::JobMatmul> shapes;
  for (const tuner::JobMatmul& matmul : job_matmuls(workload)) {
    const tuner::Wanted& wanted = matmul.wanted;
    const bool same = wanted.family == aim.family.name &&
                      wanted.block == static_cast<size_t>(plan_block(aim)) &&
                      (aim.block == 0 || wanted.scales == name(aim.scales));
    for (const tuner::Calls& calls : wanted.mix) {
      if (!same) continue;
      tuner::JobMatmul one = matmul;
      one.wanted.mix = {calls};
      for (const tuner::Regime regime : {tuner::Regime::streamed, tuner::Regime::hot}) {
        one.wanted.regime = regime;
        shapes.push_back(one);
      }
    }
  }
  if (shapes.empty()) {
    throw std::runtime_error(fmt::format("{}: no matrix of {}", options.workload, aim.family.name));
  }
  return shapes;
}

void measure_sweep(const SweepOptions& options, const SweepAim& aim,
                   const std::vector<tuner::JobMatmul>& shapes, const Sweep& all,
                   const CoreModel& core, IsaLibrary& isas, const Places& places,
                   const SweepFolder& folder, const Shipped& shipped) {
  const Sweep chosen = sweep(aim, rivals(all, shipped, static_cast<size_t>(options.measure)), core,
                             isas, [](double) {});
  write_rivals(aim, chosen, places, folder.folder);
  const std::string program = build_program(places, folder);
  const std::string file = (folder.folder / "records.jsonl").string();
  Races races(program, file, shapes.size(), options.budget);
  for (const tuner::JobMatmul& shape : shapes) races.run(shape);
  const std::vector<tuner::Record> records = races.records();
  for (const tuner::ReportCore& core_of : tuner::report_model(records)) {
    fmt::print("{}", core_report(core_of, chosen, shipped));
  }
  fmt::print("\n{}: {} new records\n", shown(file), records.size());
}

}  // namespace tw
