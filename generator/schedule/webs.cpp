#include "schedule/webs.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <stdexcept>
#include <unordered_map>

#include "ir/row_use.h"
#include "schedule/coalesce.h"
#include "schedule/insert.h"
#include "schedule/rows.h"

namespace tw {
namespace {

RegisterSet all_registers(const Isa& isa, int file) {
  const int count = isa.files[static_cast<size_t>(file)].count();
  return ~RegisterSet() >> static_cast<size_t>(most_registers - count);
}

RegisterSet allowed_registers(const Isa& isa, const Operand& operand, int file) {
  if (operand.allowed.empty()) return all_registers(isa, file);
  RegisterSet set;
  for (int r : operand.allowed) set.set(static_cast<size_t>(r));
  return set;
}

/// Where a copy is wanted.
struct Site {
  enum Kind { argument, result, init, yield, param, count } kind = argument;
  Op* op = nullptr;
  Loop* loop = nullptr;
  size_t index = 0;
};

/// A candidate for coalescing: two values that want one register; a copy of `b` at `site` if they
/// cannot have it.
struct Candidate {
  Value a = no_value;
  Value b = no_value;
  Site site;
  int depth = 0;  ///< loops around it; hot ones count most: copies belong elsewhere
};

class Gatherer {
 public:
  Gatherer(Program& program, const std::vector<char>& copied)
      : program_(program),
        isa_(*program.isa),
        copied_(copied),
        webs_{{}, {}, {}, liveness(program)},
        sets_(webs_.live.of) {}

  /// Fills webs; leaves the places that need copies in sites().
  void run() {
    file_.assign(program_.values.size(), -1);
    webs_.webs.resize(program_.values.size());
    collect(program_.body, 0);
    constrain_rest();
    apply_clobbers();
    // What was copied for a candidate serves it first; the others get copies of their own.
    for (Candidate& it : candidates_) {
      if (copied_[static_cast<size_t>(it.b)]) it.depth = most_depth;
    }
    std::stable_sort(candidates_.begin(), candidates_.end(),
                     [](const Candidate& a, const Candidate& b) { return a.depth > b.depth; });
    for (const Candidate& it : candidates_) {
      if (!join(it.a, it.b)) want_copy(it.site);
    }
    // A copy whose two sides share a register goes away.
    for (const auto& [to, from] : copies_) join(to, from);
    for (const auto& [op, depth] : tuple_ops_) group(*op);
    compact();
  }

  Webs& webs() { return webs_; }
  const std::vector<Site>& sites() const { return sites_; }

 private:
  static constexpr int hot_depth = 100;
  static constexpr int most_depth = 1000;

  void want_copy(const Site& site) { sites_.push_back(site); }

  /// A value enters an operand; false if it cannot.
  bool constrain(Value v, int file, const RegisterSet& allowed) {
    Web& w = webs_.webs[static_cast<size_t>(v)];
    int& known = file_[static_cast<size_t>(v)];
    if (known < 0) {
      known = w.file = file;
      w.allowed = allowed;
      return true;
    }
    if (known != file || (w.allowed & allowed).none()) return false;
    w.allowed &= allowed;
    return true;
  }

  void collect(Region& region, int depth) {
    for (Node& node : region.nodes) {
      if (auto* op = std::get_if<Op>(&node)) {
        collect(*op, depth);
      } else if (auto* loop = std::get_if<std::unique_ptr<Loop>>(&node)) {
        collect(**loop, depth);
      } else {
        for_each_region(node, [&](Region& branch) { collect(branch, depth); });
      }
    }
  }

  void collect(Op& op, int depth) {
    if (op.row == nullptr) return;
    if (is_copy(*op.row)) copies_.emplace_back(op.results[0], op.args[0]);
    for (size_t i = 0; i < op.row->operands.size(); ++i) {
      const Operand& operand = op.row->operands[i];
      const int file = file_index(isa_, operand);
      if (file < 0) {
        throw std::runtime_error(fmt::format("{}: row {} uses a register file that {} lacks",
                                             program_.name, op.row->name, isa_.name));
      }
      const Value v = operand_value(op, i);
      if (!constrain(v, file, allowed_registers(isa_, operand, file))) {
        want_copy(operand.is_result ? Site{Site::result, &op, nullptr, i}
                                    : Site{Site::argument, &op, nullptr, i - op.results.size()});
      }
      if (!operand.tied.empty()) {
        const int tied = argument_index(*op.row, operand.tied);
        if (tied < 0) continue;
        const auto at = static_cast<size_t>(tied);
        candidates_.push_back({v, op.args[at], {Site::argument, &op, nullptr, at}, depth});
      }
    }
    if (std::any_of(op.row->operands.begin(), op.row->operands.end(),
                    [](const Operand& o) { return !o.tuple.empty(); })) {
      tuple_ops_.emplace_back(&op, depth);
    }
    if (!op.row->clobbers.empty()) clobbering_.push_back(&op);
  }

  void collect(Loop& loop, int depth) {
    if (loop.counter != no_value) {
      candidates_.push_back({loop.counter, loop.count, {Site::count, nullptr, &loop, 0}, depth});
    }
    const int inside = loop.hot ? hot_depth : depth + 1;
    for (size_t i = 0; i < loop.params.size(); ++i) {
      // A result starts where its loop ends: these two always can.
      candidates_.push_back(
          {loop.params[i], loop.results[i], {Site::init, nullptr, &loop, i}, most_depth + 1});
      const bool copied = copied_[static_cast<size_t>(loop.yields[i])] != 0;
      candidates_.push_back({loop.params[i],
                             loop.yields[i],
                             {copied ? Site::param : Site::yield, nullptr, &loop, i},
                             inside});
      candidates_.push_back(
          {loop.params[i], loop.inits[i], {Site::init, nullptr, &loop, i}, depth});
    }
    collect(loop.body, inside);
  }

  /// Values that no row mentions, and the argument's register.
  void constrain_rest() {
    for (size_t v = 0; v < program_.values.size(); ++v) {
      if (webs_.live.of[v].empty() || file_[v] >= 0) continue;
      const int file = file_index(isa_, isa_.file_of(program_.values[v].type.kind));
      if (file < 0) {
        throw std::runtime_error(fmt::format("{}: {} has no registers for {}", program_.name,
                                             isa_.name, program_.values[v].name));
      }
      constrain(static_cast<Value>(v), file, all_registers(isa_, file));
    }
    const auto& names = isa_.file_of(Kind::scalar)->views.front().second;
    const auto at = std::find(names.begin(), names.end(), isa_.convention.args_register);
    if (at == names.end()) {
      throw std::runtime_error(fmt::format("{}: no register is called {}, the args_register",
                                           isa_.name, isa_.convention.args_register));
    }
    webs_.webs[static_cast<size_t>(program_.args)].allowed &=
        RegisterSet(1) << static_cast<size_t>(at - names.begin());
  }

  void apply_clobbers() {
    for (const Op* op : clobbering_) {
      const int at = webs_.live.position.at(op);
      const Intervals there{{at, at + 2}};
      for (const std::string& clobber : op->row->clobbers) {
        const size_t colon = clobber.find(':');
        if (colon == std::string::npos) continue;
        const int file = file_index(isa_, isa_.file(clobber.substr(0, colon)));
        const auto lost = static_cast<size_t>(std::stoi(clobber.substr(colon + 1)));
        for (size_t v = 0; v < program_.values.size(); ++v) {
          Web& w = webs_.webs[v];
          if (w.file == file && overlap(webs_.live.of[v], there)) w.allowed.reset(lost);
        }
      }
    }
  }

  bool join(Value a, Value b) {
    Web& into = webs_.webs[static_cast<size_t>(sets_.set_of(a))];
    const Web& other = webs_.webs[static_cast<size_t>(sets_.set_of(b))];
    if (into.file != other.file || (into.allowed & other.allowed).none()) return false;
    if (!sets_.join(a, b)) return false;
    into.allowed &= other.allowed;
    return true;
  }

  /// Ties the webs of a row's register lists together.
  void group(Op& op) {
    for (const std::vector<Value>& list : tuples(op)) {
      for (size_t i = 1; i < list.size(); ++i) {
        if (!follow(sets_.set_of(list[0]), sets_.set_of(list[i]), static_cast<int>(i))) {
          separate(op, list[i]);
        }
      }
    }
  }

  /// Web `b` takes the register `distance` after that of web `a`.
  bool follow(int a, int b, int distance) {
    if (a == b) return false;
    Web& first = webs_.webs[static_cast<size_t>(a)];
    Web& second = webs_.webs[static_cast<size_t>(b)];
    if (first.file != second.file) return false;
    if (first.group < 0) start_group(a);
    if (second.group < 0) start_group(b);
    const int shift = first.place + distance - second.place;
    if (first.group == second.group) return shift == 0;
    std::vector<int>& into = webs_.groups[static_cast<size_t>(first.group)];
    std::vector<int>& from = webs_.groups[static_cast<size_t>(second.group)];
    for (int x : into) {
      for (int y : from) {
        const Web& one = webs_.webs[static_cast<size_t>(x)];
        const Web& other = webs_.webs[static_cast<size_t>(y)];
        if (one.place == other.place + shift && overlap(sets_.live(x), sets_.live(y))) return false;
      }
    }
    for (int y : from) {
      Web& moved = webs_.webs[static_cast<size_t>(y)];
      moved.place += shift;
      moved.group = first.group;
      into.push_back(y);
    }
    from.clear();
    return true;
  }

  void start_group(int w) {
    webs_.webs[static_cast<size_t>(w)].group = static_cast<int>(webs_.groups.size());
    webs_.groups.push_back({w});
  }

  /// The list member gets a value of its own.
  void separate(Op& op, Value v) {
    for (size_t i = 0; i < op.results.size(); ++i) {
      if (op.results[i] == v) return want_copy({Site::result, &op, nullptr, i});
    }
    for (size_t i = op.args.size(); i-- > 0;) {
      if (op.args[i] == v) return want_copy({Site::argument, &op, nullptr, i});
    }
  }

  void compact() {
    for (size_t v = 0; v < webs_.webs.size(); ++v) {
      webs_.of.push_back(sets_.set_of(static_cast<Value>(v)));
      webs_.webs[v].live = sets_.live(static_cast<int>(v));
    }
    for (std::vector<int>& group : webs_.groups) {
      int lowest = 0;
      for (int w : group) lowest = std::min(lowest, webs_.webs[static_cast<size_t>(w)].place);
      for (int w : group) webs_.webs[static_cast<size_t>(w)].place -= lowest;
    }
    for (const Liveness::Span& span : webs_.live.loops) {
      if (!span.loop->hot) continue;
      const Intervals inside{{span.head + 1, span.tail + 1}};
      for (Web& w : webs_.webs) w.hot = w.hot || overlap(w.live, inside);
    }
  }

  Program& program_;
  const Isa& isa_;
  const std::vector<char>& copied_;  ///< per value: made by a copy of ours
  Webs webs_;
  Coalescing sets_;
  std::vector<int> file_;
  std::vector<Candidate> candidates_;
  std::vector<std::pair<Op*, int>> tuple_ops_;
  std::vector<const Op*> clobbering_;
  std::vector<Site> sites_;
  std::vector<std::pair<Value, Value>> copies_;
};

/// Inserts copies at sites.
class Copier {
 public:
  Copier(Program& program, std::vector<char>& copied) : program_(program), copied_(copied) {
    for_each_op(program.body, [&](Op& op) {
      if (op.row != nullptr && op.args.empty() && op.results.size() == 1)
        repeatable_[op.results[0]] = &op;
    });
  }

  void run(const std::vector<Site>& sites) {
    for (const Site& site : sites) add(site);
    insert(program_, std::move(insertions_));
  }

 private:
  Value like(Value v) {
    copied_.push_back(1);
    return program_.add_like(v);
  }

  Op copy(Value to, Value from) {
    Op op;
    if (auto it = repeatable_.find(from); it != repeatable_.end()) {
      op = *it->second;
      op.results = {to};
      return op;
    }
    const Type& type = program_.type(from);
    const OpCode code = type.kind == Kind::vector ? OpCode::copy : OpCode::icopy;
    op.row = type.kind == Kind::vector   ? program_.isa->row_for(code, 0, type.bytes)
             : type.kind == Kind::scalar ? program_.isa->row_for(code)
                                         : nullptr;
    if (op.row == nullptr || op.row->assembly.empty()) {
      throw std::runtime_error(fmt::format("{}: {} has no instruction that copies {}",
                                           program_.name, program_.isa->name,
                                           program_.values[static_cast<size_t>(from)].name));
    }
    op.args = {from};
    op.results = {to};
    return op;
  }

  void add(const Site& site) {
    switch (site.kind) {
      case Site::argument: {
        Value& arg = site.op->args[site.index];
        const Value fresh = like(arg);
        insertions_.before[site.op].push_back(copy(fresh, arg));
        arg = fresh;
        break;
      }
      case Site::result: {
        Value& result = site.op->results[site.index];
        const Value fresh = like(result);
        insertions_.after[site.op].push_back(copy(result, fresh));
        result = fresh;
        break;
      }
      case Site::init:
        replace(site.loop->inits[site.index], insertions_.before[site.loop]);
        break;
      case Site::count:
        replace(site.loop->count, insertions_.before[site.loop]);
        break;
      case Site::yield:
        replace(site.loop->yields[site.index], insertions_.body_end[site.loop]);
        break;
      case Site::param: {
        const Value param = site.loop->params[site.index];
        const Value fresh = like(param);
        replace_uses(site.loop->body, param, fresh);
        std::replace(site.loop->yields.begin(), site.loop->yields.end(), param, fresh);
        // Copies that wait to be inserted read the parameter too.
        for (Op& op : insertions_.body_end[site.loop]) {
          std::replace(op.args.begin(), op.args.end(), param, fresh);
        }
        insertions_.body_begin[site.loop].push_back(copy(fresh, param));
        break;
      }
    }
  }

  void replace(Value& v, std::vector<Op>& into) {
    const Value fresh = like(v);
    into.push_back(copy(fresh, v));
    v = fresh;
  }

  Program& program_;
  std::vector<char>& copied_;
  std::unordered_map<Value, const Op*> repeatable_;  ///< rows without arguments, by result
  Insertions insertions_;
};

}  // namespace

bool is_copy(const Row& row) {
  return row.means.size() == 1 &&
         (row.means[0].code == OpCode::copy || row.means[0].code == OpCode::icopy);
}

Webs gather_webs(Program& program) {
  std::vector<char> copied(program.values.size(), 0);
  constexpr int rounds = 20;
  for (int round = 0; round < rounds; ++round) {
    Gatherer gatherer(program, copied);
    gatherer.run();
    if (gatherer.sites().empty()) return std::move(gatherer.webs());
    Copier(program, copied).run(gatherer.sites());
  }
  throw ScatteredOperands(
      fmt::format("{}: operands of {} want registers that no copy brings together", program.name,
                  program.isa->name));
}

}  // namespace tw
