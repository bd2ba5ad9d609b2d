#include "emit/c_sharing.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "emit/visitor.h"

namespace tw {
namespace {

/// Sets of values that share a variable.
class Sharing {
 public:
  Sharing(const Program& program, const CValues& values, const Lives& lives)
      : program_(program), values_(values), lives_(lives), set_(program.values.size()) {
    std::iota(set_.begin(), set_.end(), 0);
    members_.resize(program.values.size());
    for (size_t v = 0; v < members_.size(); ++v) members_[v] = {static_cast<Value>(v)};
  }

  void merge(Value a, Value b) {
    if (values_.form[at(a)] != CForm::variable || values_.form[at(b)] != CForm::variable) return;
    if (a == program_.args || b == program_.args) return;
    if (!(program_.type(a) == program_.type(b))) return;
    if (program_.type(a).kind == Kind::scalar && values_.scalar[at(a)] != values_.scalar[at(b)]) {
      return;
    }
    const int x = set_[at(a)];
    const int y = set_[at(b)];
    if (x == y || overlap(members_[at(x)], members_[at(y)])) return;
    std::vector<Value> all = members_[at(x)];
    all.insert(all.end(), members_[at(y)].begin(), members_[at(y)].end());
    if (!one_declaration(all)) return;
    for (Value v : all) set_[at(v)] = x;
    members_[at(x)] = std::move(all);
    members_[at(y)].clear();
  }

  /// The set of `v`, by number.
  [[nodiscard]] int set_of(Value v) const { return set_[at(v)]; }
  [[nodiscard]] const std::vector<std::vector<Value>>& sets() const { return members_; }

 private:
  [[nodiscard]] bool overlap(const std::vector<Value>& a, const std::vector<Value>& b) const {
    for (Value v : a) {
      for (Value w : b) {
        for (const Life& x : lives_.of[at(v)]) {
          for (const Life& y : lives_.of[at(w)]) {
            if (x.begin < y.end && y.begin < x.end) return true;
          }
        }
      }
    }
    return false;
  }

  /// The first of them is declared where all others can see it.
  [[nodiscard]] bool one_declaration(const std::vector<Value>& all) const {
    const Value first = *std::min_element(all.begin(), all.end(), [&](Value a, Value b) {
      return lives_.of[at(a)][0].begin < lives_.of[at(b)][0].begin;
    });
    const int home = lives_.region[at(first)];
    return std::all_of(all.begin(), all.end(), [&](Value v) {
      int region = lives_.region[at(v)];
      while (region != -1 && region != home) region = lives_.parents[at(region)];
      return region == home;
    });
  }

  const Program& program_;
  const CValues& values_;
  const Lives& lives_;
  std::vector<int> set_;
  std::vector<std::vector<Value>> members_;
};

}  // namespace

Votes count_votes(const Program& program, const CValues& values) {
  Votes votes(program.values.size());
  std::map<const Region*, int64_t> weights{{&program.body, 1}};
  Visitor visitor;
  visitor.loop = [&](const Loop& loop, const Region& region) {
    weights[&loop.body] = weights[&region] * 8;
  };
  visitor.branch = [&](const If& branch, const Region& region) {
    weights[&branch.then_body] = weights[&branch.else_body] = weights[&region];
  };
  visitor.op = [&](const Op& op, const Region& region) {
    if (is_plain_c(op.code)) return;
    if (!op.results.empty() && values.form[at(op.results[0])] == CForm::unused) return;
    const Row& row = c_row(program, op);
    const bool computes = info(op.code).args.find('v') != std::string_view::npos;
    size_t argument = 0;
    for (const Operand& operand : row.operands) {
      const Value v = operand.is_result ? op.results[0] : op.args[argument++];
      if (operand.kind == Kind::scalar) continue;
      // When votes are equal, what computes a value decides; what loads it follows its use.
      const int64_t bonus = !operand.is_result ? 0 : computes ? 1 : -1;
      votes[at(v)][c_class(row, operand)] += 2 * weights[&region] + bonus;
    }
  };
  visitor.visit(program.body);
  return votes;
}

std::string elected(const std::map<std::string, int64_t>& votes) {
  const auto best = std::max_element(
      votes.begin(), votes.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  return best == votes.end() ? "" : best->first;
}

std::vector<std::vector<Value>> share_variables(const Program& program, const CValues& values,
                                                const Votes& votes, const Lives& lives) {
  Sharing sharing(program, values, lives);
  Visitor visitor;
  visitor.loop = [&](const Loop& loop, const Region&) {
    for (size_t i = 0; i < loop.params.size(); ++i) sharing.merge(loop.params[i], loop.results[i]);
    for (size_t i = 0; i < loop.params.size(); ++i) sharing.merge(loop.params[i], loop.yields[i]);
  };
  visitor.visit(program.body);
  visitor.loop = [&](const Loop& loop, const Region&) {
    for (size_t i = 0; i < loop.params.size(); ++i) sharing.merge(loop.inits[i], loop.params[i]);
  };
  auto is_accumulator = [&](Value v) { return program.values[at(v)].role == Role::accumulator; };
  std::map<std::pair<const Region*, std::string>, std::vector<Value>> named;
  visitor.op = [&](const Op& op, const Region& region) {
    if (op.results.empty()) return;
    const Value result = op.results[0];
    for (Value arg : op.args) {
      if (is_accumulator(arg) && is_accumulator(result)) sharing.merge(arg, result);
    }
    const std::string& hint = program.values[at(result)].name;
    if (hint.empty() || values.form[at(result)] != CForm::variable) return;
    std::vector<Value>& earlier = named[{&region, hint}];
    for (Value other : earlier) {
      if (elected(votes[at(other)]) == elected(votes[at(result)])) sharing.merge(other, result);
    }
    const bool alone = std::none_of(earlier.begin(), earlier.end(), [&](Value other) {
      return sharing.set_of(other) == sharing.set_of(result);
    });
    if (alone) earlier.push_back(result);
  };
  visitor.visit(program.body);
  return sharing.sets();
}

}  // namespace tw
