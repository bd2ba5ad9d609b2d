#include "tuner/shorten.h"

#include <set>
#include <string>

#include "tuner/evidence.h"

namespace tw::tuner {
namespace {

/// Identities of the best configuration of each layout: weights are packed once for several cells.
std::set<std::string> leaders(const CellEvidence& cell) {
  std::set<std::string> found;
  for (const Evidence& e : cell.configurations) {
    found.insert(identity(best_of(cell, e.run.layout)->run));
  }
  return found;
}

std::vector<const Record*> shortened_cell(const std::vector<const Record*>& records) {
  std::vector<const Record*> measured, kept;
  std::set<uint64_t> failed;
  for (const Record* r : records) {
    if (r->outcome == Outcome::ok) {
      measured.push_back(r);
    } else if (failed.insert(r->ran.hash).second) {
      kept.push_back(r);
    }
  }
  const CellEvidence cell = cell_evidence(measured);
  const std::set<std::string> wanted = leaders(cell);
  bool has_baseline = false;
  for (const Record* r : measured) {
    if (r->ratio.rounds > 0) {
      if (r->baseline == cell.baseline && wanted.count(identity(r->ran)) != 0) kept.push_back(r);
    } else if (!has_baseline && identity(r->ran) == cell.baseline) {
      kept.push_back(r);
      has_baseline = true;
    }
  }
  return kept;
}

}  // namespace

std::vector<Record> shortened(const std::vector<Record>& records) {
  std::vector<Record> kept;
  for (const std::vector<const Record*>& cell : cells_of(records)) {
    for (const Record* r : shortened_cell(cell)) {
      kept.push_back(*r);
      kept.back().ns.samples.clear();
    }
  }
  return kept;
}

}  // namespace tw::tuner
