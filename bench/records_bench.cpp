// What records change: the workload as the plan alone would run it, and as each file of records
// has it run, in interleaved rounds at the full shapes.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <random>

#include "benches.h"
#include "command/job_matmuls.h"
#include "measure/planned_matmul.h"
#include "tuner/device_text.h"
#include "tuner/record_file.h"

namespace tw::bench {
namespace {

using tuner::Calls;
using tuner::Choice;
using tuner::Wanted;

struct Chooser {
  std::string name;
  std::vector<tuner::Record> records;  ///< empty: the plan alone
};

/// One number of rows of one matrix: how often, and seconds of a call by chooser and round.
struct Measured {
  double calls = 0;
  std::vector<std::vector<double>> seconds;
};

constexpr size_t name_part = 40;  // of a file's name: its end is printed

Chooser chooser_of(const std::string& path) {
  tuner::RecordFile file = tuner::read_records(path);
  if (file.records.empty()) fail(fmt::format("{}: no record in it", path));
  const std::string name = path.size() > name_part ? path.substr(path.size() - name_part) : path;
  return {name, std::move(file.records)};
}

/// Any layout of the weights' kind: random weights are made for it.
const tw_layout& layout_of(const tw_device& device, const Wanted& wanted) {
  const tw_mix mix{1, 1};
  tw_matmul matmul = tuner::matmul_of(wanted);
  matmul.mix = &mix;
  matmul.mix_count = 1;
  tw_plan* plan = nullptr;
  require(tw_plan_create(&device, &matmul, &plan), wanted.family);
  const tw_layout* layout = tw_plan_rhs_layout(plan);
  tw_plan_destroy(plan);
  return *layout;
}

/// Everything that m rows run with; choosers for whom it is the same share a contender.
std::string in_effect(const PlannedMatmul& matmul, size_t m) {
  std::string text;
  for (const tw_segment& s : matmul.segments(m)) text += fmt::format("{} ", s.kernel->name);
  const tw_tuning t = matmul.tuning(m);
  const size_t prefetch = t.rhs_prefetch == TW_PREFETCH_OFF ? 0 : t.rhs_prefetch;
  return text +
         fmt::format("{}x{} {} {}", t.n_block, t.m_block, static_cast<int>(t.order), prefetch);
}

/// Of a chooser's calls to the first one's, in the rounds named; none: in all of them.
std::vector<double> ratios(const Measured& measured, size_t chooser,
                           const std::vector<size_t>& rounds) {
  const std::vector<double>&own = measured.seconds[chooser], &first = measured.seconds[0];
  std::vector<double> found;
  for (size_t i = 0; i < own.size(); ++i) {
    const size_t r = rounds.empty() ? i : rounds[i];
    found.push_back(own[r] / first[r]);
  }
  return found;
}

/// Seconds of all calls: each row's ratio to the first chooser, which its neighbors in time give,
/// times what the first one took. `draw` names the rounds of a row.
template <class Draw>
double total(const std::vector<Measured>& rows, size_t chooser, Draw&& draw) {
  double sum = 0;
  for (const Measured& row : rows) {
    sum += row.calls * median(row.seconds[0]) * median(ratios(row, chooser, draw(row)));
  }
  return sum;
}

/// One weight matrix as every chooser has it run.
class Matrix {
 public:
  Matrix(const Session& session, const tuner::Core& core, const std::vector<Chooser>& choosers,
         const tuner::JobMatmul& matmul)
      : matmul_(matmul),
        weights_(random_weights(matmul.wanted.n, matmul.wanted.k,
                                layout_of(session.device, matmul.wanted))) {
    const bool hot = matmul.wanted.regime == tuner::Regime::hot;
    for (const Chooser& chooser : choosers) {
      const Choice choice = tuner::choose(chooser.records, session.device, core, matmul.wanted);
      MatmulOptions options;
      options.family = matmul.wanted.family.c_str();
      options.rotate_bytes = hot ? 0 : session.rotate_bytes;
      options.rhs_layout = choice.layout;
      options.settings = tuner::settings_of(choice);
      const auto known = packed_.find(choice.layout);
      if (known != packed_.end()) options.packed = known->second;
      plans_.push_back(std::make_unique<PlannedMatmul>(session.device, weights_, options));
      packed_[choice.layout] = plans_.back()->packed();
    }
  }

  /// Prints the row.
  Measured run(const Calls& calls, const Effort& effort) {
    const auto activations = std::make_shared<Activations>(calls.m, weights_);
    std::vector<Contender> contenders;
    std::vector<size_t> contender_of;
    std::map<std::string, size_t> known;
    for (const auto& plan : plans_) {
      plan->prepare(activations);
      const auto [entry, is_new] = known.try_emplace(in_effect(*plan, calls.m), contenders.size());
      contender_of.push_back(entry->second);
      if (!is_new) continue;
      PlannedMatmul* matmul = plan.get();
      contenders.push_back({[matmul] {
                              matmul->pack_lhs();
                              matmul->run();
                            },
                            matmul->macs()});
    }
    Race race(std::move(contenders), effort);
    for (int r = 0; r < effort.rounds; ++r) race.round();
    for (const auto& plan : plans_) {
      plan->spoil_output();
      plan->run();
      plan->check();
    }
    Measured measured{calls.calls * matmul_.count, {}};
    for (const size_t c : contender_of) measured.seconds.push_back(race.samples()[c].seconds);
    fmt::print("{:<16} {:>6} {:>5} {:>4} {:>6.0f} {:>10.1f}", matmul_.name, weights_.n, weights_.k,
               calls.m, measured.calls, 1e6 * median(measured.seconds[0]));
    for (size_t c = 1; c < plans_.size(); ++c) {
      fmt::print(" {:>7.3f}", median(ratios(measured, c, {})));
    }
    fmt::print("  {}\n", in_effect(*plans_.back(), calls.m));
    std::fflush(stdout);
    return measured;
  }

 private:
  const tuner::JobMatmul& matmul_;
  Weights weights_;
  std::map<uint64_t, std::shared_ptr<PackedWeights>> packed_;  ///< by layout
  std::vector<std::unique_ptr<PlannedMatmul>> plans_;          ///< by chooser
};

void print_head(const std::vector<Chooser>& choosers) {
  fmt::print("\nThe workload as chosen by\n");
  for (size_t c = 0; c < choosers.size(); ++c) {
    fmt::print("  {}: {}\n", c, choosers[c].name);
  }
  fmt::print(
      "\nMicroseconds of one multiplication, packing of its activations included: median of "
      "interleaved rounds;\nthe others as ratios to the first, of the same rounds\n"
      "{:<16} {:>6} {:>5} {:>4} {:>6} {:>10}",
      "layers", "N", "K", "M", "calls", 0);
  for (size_t c = 1; c < choosers.size(); ++c) fmt::print(" {:>7}", c);
  fmt::print("  what the last one runs\n");
}

/// With the interval that holds 95 % of what other draws of the same rounds would have given.
void print_totals(const std::vector<Chooser>& choosers, const std::vector<Measured>& rows) {
  constexpr size_t draws = 400;
  std::mt19937 random(1);
  const auto all = [](const Measured&) { return std::vector<size_t>(); };
  const auto some = [&](const Measured& row) {
    std::vector<size_t> rounds(row.seconds[0].size());
    std::uniform_int_distribution<size_t> any(0, rounds.size() - 1);
    for (size_t& r : rounds) r = any(random);
    return rounds;
  };
  const double first = total(rows, 0, all);
  fmt::print("\nAll calls; ratio to the first\n  {:<{}} {:>9.4f} s\n", choosers[0].name, name_part,
             first);
  for (size_t c = 1; c < choosers.size(); ++c) {
    const double own = total(rows, c, all);
    std::vector<double> drawn;
    for (size_t i = 0; i < draws; ++i) drawn.push_back(total(rows, c, some) / first);
    std::sort(drawn.begin(), drawn.end());
    fmt::print("  {:<{}} {:>9.4f} s   {:.4f} ({:.4f} to {:.4f})\n", choosers[c].name, name_part,
               own, own / first, drawn[draws / 40], drawn[draws - 1 - draws / 40]);
  }
}

}  // namespace

void compare_records(const Session& session, const Workload& workload,
                     const std::vector<std::string>& paths) {
  std::vector<Chooser> choosers = {{"the cost model", {}}};
  for (const std::string& path : paths) choosers.push_back(chooser_of(path));
  const size_t cluster = tuner::cluster_of(session.device, session.cpu);
  const tuner::Core core = tuner::core_of(session.device, cluster);
  print_head(choosers);
  std::vector<Measured> rows;
  for (const tuner::JobMatmul& matmul : job_matmuls(workload)) {
    Matrix matrix(session, core, choosers, matmul);
    for (const Calls& calls : matmul.wanted.mix) rows.push_back(matrix.run(calls, session.effort));
  }
  print_totals(choosers, rows);
}

}  // namespace tw::bench
