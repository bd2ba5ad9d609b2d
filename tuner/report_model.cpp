#include "tuner/report_model.h"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace tw::tuner {
namespace {

/// The newest limits of a configuration that records know.
Limits limits_of(const std::vector<const Record*>& records, const std::string& id) {
  Limits limits;
  for (const Record* r : records) {
    if (identity(r->ran) != id) continue;
    if (r->peak_gmacs > 0) limits.peak_gmacs = r->peak_gmacs;
    if (r->read_gbs > 0) limits.read_gbs = r->read_gbs;
    if (r->rhs_bytes > 0) limits.rhs_bytes = r->rhs_bytes;
  }
  return limits;
}

LeastTime least_time(const Limits& limits, double macs, Regime regime) {
  LeastTime least;
  if (limits.peak_gmacs > 0) least.ns = macs / limits.peak_gmacs;
  if (regime == Regime::hot || limits.read_gbs == 0 || limits.rhs_bytes == 0) return least;
  const double reading = static_cast<double>(limits.rhs_bytes) / limits.read_gbs;
  return reading > least.ns ? LeastTime{reading, true} : least;
}

void sort_candidates(std::vector<ReportCandidate>& candidates, const std::string& winner) {
  const auto rank = [&](const ReportCandidate& c) {
    return std::tuple(identity(c.evidence.run) != winner, !c.has_interval(),
                      -c.evidence.faster.log);
  };
  std::stable_sort(
      candidates.begin(), candidates.end(),
      [&](const ReportCandidate& a, const ReportCandidate& b) { return rank(a) < rank(b); });
}

ReportCell cell_of(const std::vector<const Record*>& all, const std::set<uint64_t>& failed) {
  std::vector<const Record*> usable;
  for (const Record* r : all) {
    if (r->outcome == Outcome::ok && failed.count(r->ran.hash) == 0) usable.push_back(r);
  }
  const Problem& p = all[0]->problem;
  ReportCell cell;
  cell.m = p.m;
  cell.regime = all[0]->regime;
  cell.macs = static_cast<double>(p.m) * static_cast<double>(p.n) * static_cast<double>(p.k);
  const CellEvidence found = cell_evidence(usable);
  const Evidence* winner = best_of(found, 0);
  if (winner == nullptr) return cell;
  for (const Evidence& e : found.configurations) {
    ReportCandidate c{e, found.baseline_ns / std::exp(e.faster.log), {}, {}};
    c.limits = limits_of(usable, identity(e.run));
    c.least = least_time(c.limits, cell.macs, cell.regime);
    cell.candidates.push_back(c);
  }
  sort_candidates(cell.candidates, identity(winner->run));
  for (size_t i = 0; i < cell.candidates.size(); ++i) {
    if (identity(cell.candidates[i].evidence.run) == found.baseline) cell.baseline = i;
  }
  for (const Record* r : all) {
    const bool baseline = r->ratio.rounds == 0 && identity(r->ran) == found.baseline;
    const bool compared = r->ratio.rounds > 0 && r->baseline == found.baseline;
    const bool counts = failed.count(r->ran.hash) == 0 && (baseline || compared);
    if (r->outcome == Outcome::ok && !counts) ++cell.left_out;
  }
  return cell;
}

/// Else a new one at the end.
ReportProblem& problem_of(ReportCore& core, const Record& record) {
  const Problem& p = record.problem;
  for (ReportProblem& known : core.problems) {
    const Problem& q = known.problem;
    if (q.family == p.family && q.n == p.n && q.k == p.k && q.block == p.block &&
        q.scales == p.scales && known.threads == record.threads) {
      return known;
    }
  }
  return core.problems.emplace_back(ReportProblem{p, record.threads, {}});
}

ReportCore& core_of(std::vector<ReportCore>& cores, const Record& record) {
  const std::string id = identity(record.core);
  for (ReportCore& known : cores) {
    if (identity(known.core) == id) return known;
  }
  ReportCore made;
  made.core = record.core;
  return cores.emplace_back(std::move(made));
}

}  // namespace

bool ReportCandidate::has_interval() const {
  return evidence.rounds == 0 || evidence.rounds >= kLeastRounds;
}

const ReportCandidate* ReportCell::next() const {
  return candidates.size() > 1 && candidates[1].has_interval() ? &candidates[1] : nullptr;
}

std::vector<ReportCore> report_model(const std::vector<Record>& records) {
  std::vector<ReportCore> cores;
  for (const Record& r : records) {
    ReportCore& core = core_of(cores, r);
    core.records.push_back(&r);
    if (r.outcome != Outcome::ok) core.failures.push_back(&r);
    if (r.peak_gmacs > 0) core.peaks[r.ran.isa] = r.peak_gmacs;
    if (r.read_gbs > 0) core.read_gbs = r.read_gbs;
  }
  for (const auto& of_cell : cells_of(records)) {
    ReportCore& core = core_of(cores, *of_cell[0]);
    ReportCell cell = cell_of(of_cell, failed_kernels(records, identity(core.core)));
    if (!cell.candidates.empty()) problem_of(core, *of_cell[0]).cells.push_back(std::move(cell));
  }
  for (ReportCore& core : cores) {
    for (ReportProblem& problem : core.problems) {
      std::stable_sort(problem.cells.begin(), problem.cells.end(),
                       [](const ReportCell& a, const ReportCell& b) {
                         return std::tuple(a.m, a.regime) < std::tuple(b.m, b.regime);
                       });
    }
  }
  return cores;
}

Estimate slower(const ReportCandidate& other, const ReportCandidate& than) {
  const Estimate &a = other.evidence.faster, &b = than.evidence.faster;
  return {b.log - a.log, std::hypot(a.width, b.width)};
}

bool is_tie(const Estimate& difference) {
  return std::abs(difference.log) <= difference.width;
}

}  // namespace tw::tuner
