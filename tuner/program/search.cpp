#include "tuner/program/search.h"

#include <fmt/format.h>

#include <algorithm>
#include <list>
#include <nlohmann/json.hpp>

#include "measure/machine.h"
#include "tuner/program/cell.h"

namespace tw::tuner {
namespace {

constexpr double kHopeless = 4;        // times slower than the best by the cost model: not tried
constexpr double kLayoutMargin = 0.1;  // of the total time: layouts that far behind are given up
constexpr size_t kMany = 1000;         // rounds: until time or separation ends a race
constexpr size_t kFinalRounds = 101;   // of a race that is short of time anyway
constexpr double kScreening = 0.4;     // of a cell's time
constexpr int kPasses = 3;             // over the neighborhoods of the best

/// One child's work, stage by stage.
class Search {
 public:
  Search(const SearchInput& input, Watch& watch, const Emit& emit)
      : input_(input), watch_(watch), emit_(emit), shape_(input), start_(measure::now()) {}

  void run() {
    for (const Calls& c : by_weight()) screen(c);
    if (cells_.empty()) return;
    choose_layouts();
    for (Cell& cell : cells_) {
      if (input_.exhaustive) {
        try_everything(cell);
      } else {
        refine(cell);
      }
      cell.report();
      ++done_;
      progress(cell.m(), 0);
    }
  }

 private:
  /// The rows that need measuring, those that most time goes to first.
  std::vector<Calls> by_weight() {
    std::vector<std::pair<double, Calls>> weighted;
    for (const Calls& c : input_.matmul.wanted.mix) {
      if (input_.known.count(c.m) != 0) continue;
      // A row costs a pass over the weights, at least; sixteen rows are about as long.
      const double rows = std::max(16.0, static_cast<double>(c.m));
      weights_[c.m] = c.calls * rows;
      total_weight_ += weights_[c.m];
      weighted.push_back({c.calls * rows, c});
    }
    std::stable_sort(weighted.begin(), weighted.end(),
                     [](const auto& a, const auto& b) { return a.first > b.first; });
    std::vector<Calls> mix;
    for (const auto& [weight, calls] : weighted) mix.push_back(calls);
    return mix;
  }

  [[nodiscard]] double elapsed() const { return measure::now() - start_; }
  [[nodiscard]] bool endless() const { return input_.seconds < 0; }
  /// A cell's part of the seconds: half by its weight, half as all others have.
  [[nodiscard]] double seconds_of(size_t m) const {
    if (endless()) return 1e9;
    const double share = weights_.at(m) / total_weight_;
    return input_.seconds * (share + 1 / static_cast<double>(weights_.size())) / 2;
  }

  /// When the refining of those rows must end, so that the ones after it have their part.
  [[nodiscard]] double end_of(size_t m) const {
    if (endless()) return elapsed() + 1e9;
    double later = 0;
    for (const Cell& cell : cells_) later = cell.m() == m ? 0 : later + seconds_of(cell.m());
    return input_.seconds - later * (1 - kScreening);
  }

  /// `part` of the cell at hand is done.
  void progress(size_t m, double part) {
    emit_(nlohmann::json{{"event", "progress"},
                         {"done", (done_ + part) / static_cast<double>(cells_.size())},
                         {"text", fmt::format("{} {}x{}, {} rows", input_.matmul.name,
                                              input_.matmul.wanted.n, input_.matmul.wanted.k, m)}}
              .dump());
  }

  /// All kernels with what the plan sets for them.
  void screen(const Calls& calls) {
    if (!endless() && elapsed() > input_.seconds / 2) return;  // these rows: another time
    const Wanted& wanted = input_.matmul.wanted;
    Cell& cell = cells_.emplace_back(input_, shape_, calls.m, watch_, emit_);
    cell.enter(planned_candidate(input_.device, wanted, calls.m));
    const double part = seconds_of(calls.m) * kScreening;
    enter(cell, kernel_candidates(input_.device, wanted, calls.m, kHopeless), part / 2);
    cell.race(3, part / 4, false);
    cell.drop(0.25, 8);
    cell.race(4, part / 4, false);
    cell.drop(0.15, 6);
  }

  /// Weights are packed once: the layout must do for all rows.
  void choose_layouts() {
    std::map<uint64_t, double> totals;
    std::map<uint64_t, size_t> cells;
    for (const Cell& cell : cells_) {
      for (const auto& [layout, ns] : cell.layout_times()) {
        totals[layout] += ns * calls_of(cell.m());
        ++cells[layout];
      }
    }
    double least = 1e300;
    for (const auto& [layout, total] : totals) {
      if (cells[layout] == cells_.size()) least = std::min(least, total);
    }
    std::vector<uint64_t> kept;
    for (const auto& [layout, total] : totals) {
      if (cells[layout] == cells_.size() && total <= least * (1 + kLayoutMargin)) {
        kept.push_back(layout);
      }
    }
    for (Cell& cell : cells_) cell.keep_layouts(kept);
  }

  [[nodiscard]] double calls_of(size_t m) const {
    for (const Calls& c : input_.matmul.wanted.mix) {
      if (c.m == m) return c.calls;
    }
    return 0;
  }

  /// From the best kernels to what lies near them, the prefetch distance first, then the blocks,
  /// until the best one's neighborhood is known; what time is left separates the winners.
  void refine(Cell& cell) {
    const Wanted& wanted = input_.matmul.wanted;
    const double end = end_of(cell.m());
    const double part = (end - elapsed()) * 0.15;
    cell.drop(0.08, 4);
    for (int pass = 0; pass < kPasses; ++pass) {
      const size_t tried = cell.tried();
      for (const Candidate& c : cell.best(2)) {
        enter(cell, decode_neighbors(input_.device, c, wanted, cell.m()), part / 2);
        enter(cell, prefetch_neighbors(c, wanted), part / 2);
      }
      cell.race(3, part, false);
      cell.drop(0.06, 5);
      enter(cell, block_neighbors(cell.best(1)[0], wanted, cell.m()), part);
      cell.race(3, part, false);
      cell.drop(0.05, 5);
      if (cell.tried() == tried || elapsed() + 2 * part > end) break;
    }
    cell.race(5, part, false);
    cell.drop(0.02, 3);
    cell.race(endless() ? kMany : kFinalRounds, end - elapsed(), true);
  }

  /// The first of them, as many as there is time for.
  static void enter(Cell& cell, const std::vector<Candidate>& candidates, double seconds) {
    const double end = measure::now() + seconds;
    for (const Candidate& c : candidates) {
      if (measure::now() > end) return;
      cell.enter(c);
    }
  }

  /// Every kernel with every distance and all blocks of each, in batches that the best survive.
  void try_everything(Cell& cell) {
    const Wanted& wanted = input_.matmul.wanted;
    std::vector<Candidate> all;
    for (const Candidate& kernel : kernel_candidates(input_.device, wanted, cell.m(), kHopeless)) {
      std::vector<Candidate> distances = prefetch_neighbors(kernel, wanted);
      distances.push_back(kernel);
      for (const Candidate& c : decode_neighbors(input_.device, kernel, wanted, cell.m())) {
        distances.push_back(c);
      }
      for (const Candidate& distance : distances) {
        all.push_back(distance);
        for (const Candidate& c : block_neighbors(distance, wanted, cell.m())) all.push_back(c);
      }
    }
    constexpr size_t batch = 12;
    for (size_t i = 0; i < all.size(); i += batch) {
      for (size_t j = i; j < std::min(i + batch, all.size()); ++j) cell.enter(all[j]);
      cell.race(5, 1e9, false);
      cell.drop(0.06, 6);
      progress(cell.m(), static_cast<double>(i) / static_cast<double>(all.size()));
    }
    cell.race(11, 1e9, false);
    cell.drop(0.02, 4);
    cell.race(101, 1e9, true);
  }

  const SearchInput& input_;
  Watch& watch_;
  const Emit& emit_;
  Shape shape_;
  double start_;
  std::list<Cell> cells_;
  std::map<size_t, double> weights_;
  double total_weight_ = 0;
  double done_ = 0;  ///< cells
};

Candidate candidate_of(const Configuration& run) {
  Candidate candidate;
  candidate.kernel = tw_find_kernel(run.kernel.c_str());
  if (candidate.kernel == nullptr) measure::fail(fmt::format("no kernel {}", run.kernel));
  candidate.tuning = {run.n_block, run.m_block, run.prefetch == 0 ? TW_PREFETCH_OFF : run.prefetch,
                      run.order == "rows" ? TW_ROWS_FIRST : TW_COLUMNS_FIRST, decode_of(run)};
  return candidate;
}

}  // namespace

void search(const SearchInput& input, Watch& watch, const Emit& emit) {
  Search(input, watch, emit).run();
}

void confirm(const SearchInput& input, const std::vector<Pair>& pairs, Watch& watch,
             const Emit& emit) {
  Shape shape(input);
  const double start = measure::now();
  for (size_t i = 0; i < pairs.size(); ++i) {
    Cell cell(input, shape, pairs[i].m, watch, emit);
    cell.enter(candidate_of(pairs[i].first));
    cell.enter(candidate_of(pairs[i].second));
    const double left = input.seconds - (measure::now() - start);
    cell.race(15, left / static_cast<double>(pairs.size() - i), false);
    cell.report();
  }
}

}  // namespace tw::tuner
