#include "tuner/layers.h"

#include <set>
#include <string>

#include "tuner/evidence.h"

namespace tw::tuner {

std::vector<Record> layered(const std::vector<Record>& own, const std::vector<Record>& shipped) {
  std::vector<Record> both = own;
  both.insert(both.end(), shipped.begin(), shipped.end());
  std::set<const Record*> covered;
  for (const std::vector<const Record*>& cell : cells_of(both)) {
    // Own ones come first, in cells too.
    if (cell.front() >= both.data() + own.size()) continue;
    covered.insert(cell.begin(), cell.end());
  }
  std::vector<Record> all = own;
  for (size_t i = own.size(); i < both.size(); ++i) {
    if (covered.count(&both[i]) == 0) all.push_back(both[i]);
  }
  return all;
}

std::vector<Record> of_same_cores(const std::vector<Record>& own,
                                  const std::vector<Record>& shipped) {
  std::set<std::string> cores;
  for (const Record& r : own) cores.insert(identity(r.core));
  std::vector<Record> kept;
  for (const Record& r : shipped) {
    if (cores.count(identity(r.core)) != 0) kept.push_back(r);
  }
  return kept;
}

}  // namespace tw::tuner
