#include "faults/mutants.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "ir/text.h"
#include "schedule/liveness.h"

namespace tw::test {
namespace {

/// Calls f(Op&), f(Loop&) and f(If&) in program order, outer ones first.
template <typename Part, typename F>
void for_each(Part& region, F&& f) {
  for (auto& node : region.nodes) {
    if (auto* op = std::get_if<Op>(&node)) {
      f(*op);
    } else if (auto* loop = std::get_if<std::unique_ptr<Loop>>(&node)) {
      f(**loop);
      for_each((*loop)->body, f);
    } else {
      auto& branch = *std::get<std::unique_ptr<If>>(node);
      f(branch);
      for_each(branch.then_body, f);
      for_each(branch.else_body, f);
    }
  }
}

/// Applies `change` to the `index`th node of that type.
template <typename T>
std::function<void(Program&)> at_node(size_t index, std::function<void(T&)> change) {
  return [=](Program& program) {
    size_t at = 0;
    for_each(program.body, [&](auto& node) {
      if constexpr (std::is_same_v<std::decay_t<decltype(node)>, T>) {
        if (at++ == index) change(node);
      }
    });
  };
}

bool drop(Region& region, size_t& index) {
  for (auto node = region.nodes.begin(); node != region.nodes.end(); ++node) {
    if (std::holds_alternative<Op>(*node)) {
      if (index-- != 0) continue;
      region.nodes.erase(node);
      return true;
    }
    if (auto* loop = std::get_if<std::unique_ptr<Loop>>(&*node)) {
      if (drop((*loop)->body, index)) return true;
    } else {
      auto& branch = *std::get<std::unique_ptr<If>>(*node);
      if (drop(branch.then_body, index) || drop(branch.else_body, index)) return true;
    }
  }
  return false;
}

bool writes(const Op& op) {
  if (op.row == nullptr) return writes_memory(op.code);
  return std::any_of(op.row->means.begin(), op.row->means.end(),
                     [](const MeansNode& node) { return writes_memory(node.code); });
}

/// Which values have an effect on what is stored.
class Reach {
 public:
  explicit Reach(const Program& program) : reaches_(program.values.size()) {
    size_t before = 1;
    for (size_t count = 0; count != before;) {
      before = count;
      for_each(program.body, [&](const auto& node) { see(node); });
      count = static_cast<size_t>(std::count(reaches_.begin(), reaches_.end(), true));
    }
  }
  [[nodiscard]] bool of(Value v) const { return reaches_[static_cast<size_t>(v)]; }
  [[nodiscard]] bool of(const Op& op) const {
    return writes(op) ||
           std::any_of(op.results.begin(), op.results.end(), [&](Value v) { return of(v); });
  }

 private:
  void mark(Value v) { reaches_[static_cast<size_t>(v)] = true; }
  void see(const Op& op) {
    if (!of(op)) return;
    for (Value v : op.args) mark(v);
  }
  void see(const Loop& loop) {
    mark(loop.count);
    for (size_t i = 0; i < loop.params.size(); ++i) {
      if (!of(loop.params[i]) && !of(loop.results[i])) continue;
      mark(loop.inits[i]);
      mark(loop.yields[i]);
    }
  }
  void see(const If& branch) {
    mark(branch.a);
    mark(branch.b);
  }
  std::vector<bool> reaches_;
};

/// Equal numbers for values that are made by the same operations from the same values. (All that
/// kernels load stands in memory that they do not write.)
std::vector<int> value_numbers(const Program& program) {
  std::vector<int> number(program.values.size());
  for (size_t v = 0; v < number.size(); ++v) number[v] = static_cast<int>(v);
  std::map<std::string, int> known;
  for_each(program.body, [&](const auto& node) {
    if constexpr (std::is_same_v<std::decay_t<decltype(node)>, Op>) {
      if (node.results.size() != 1) return;
      std::string key = fmt::format("{} {} {} {}", info(node.code).name, node.bits,
                                    to_string(node.offset), node.imm);
      for (Value v : node.args) key += fmt::format(" {}", number[static_cast<size_t>(v)]);
      int& mine = number[static_cast<size_t>(node.results[0])];
      mine = known.emplace(key, mine).first->second;
    }
  });
  return number;
}

bool exchangeable(OpCode code) {
  static const std::set<OpCode> others = {OpCode::fmin, OpCode::fmax, OpCode::dot2_s16};
  return info(code).facts.commutes || others.count(code) > 0;
}

std::optional<OpCode> other_operation(OpCode code) {
  static const std::map<OpCode, OpCode> pairs = {
      {OpCode::add, OpCode::sub},           {OpCode::sub, OpCode::add},
      {OpCode::mul, OpCode::add},           {OpCode::and_, OpCode::or_},
      {OpCode::sar, OpCode::shr},           {OpCode::fadd, OpCode::fsub},
      {OpCode::fmul, OpCode::fadd},         {OpCode::fmin, OpCode::fmax},
      {OpCode::fmax, OpCode::fmin},         {OpCode::fminimum, OpCode::fmaximum},
      {OpCode::fmaximum, OpCode::fminimum}, {OpCode::uzp_even, OpCode::uzp_odd},
      {OpCode::uzp_odd, OpCode::uzp_even},  {OpCode::iadd, OpCode::isub},
      {OpCode::isub, OpCode::iadd},         {OpCode::ishl, OpCode::ishr},
      {OpCode::ishr, OpCode::ishl}};
  const auto at = pairs.find(code);
  return at == pairs.end() ? std::nullopt : std::optional(at->second);
}

class Planter {
 public:
  explicit Planter(const Program& program)
      : program_(program), reach_(program), number_(value_numbers(program)) {}

  std::vector<Mutant> run() {
    region(program_.body);
    return std::move(all_);
  }

 private:
  void region(const Region& region) {
    const size_t outer = visible_.size();
    for (const Node& node : region.nodes) {
      std::visit([this](const auto& it) { visit(it); }, node);
    }
    visible_.resize(outer);
  }

  void visit(const Op& op) {
    const size_t index = ops_++;
    if (reach_.of(op)) at(op, index);
    visible_.insert(visible_.end(), op.results.begin(), op.results.end());
  }

  void add(const char* kind, const Op& op, size_t index, std::function<void(Op&)> change) {
    all_.push_back({kind, text(op), at_node<Op>(index, std::move(change))});
  }
  [[nodiscard]] std::string text(const Op& op) const {
    std::string words(info(op.code).name);
    for (Value v : op.args) words += " " + program_.values[static_cast<size_t>(v)].name;
    if (!op.results.empty()) {
      words += " -> " + program_.values[static_cast<size_t>(op.results[0])].name;
    }
    return words;
  }

  void at(const Op& op, size_t index) {
    if (info(op.code).has('o')) {
      const bool is_access = reads_memory(op.code) || writes_memory(op.code);
      add(is_access ? "wrong offset" : "wrong immediate", op, index,
          [](Op& it) { it.offset += 4; });
    }
    if (info(op.code).has('i')) {
      add("wrong immediate", op, index, [](Op& it) { it.imm += it.imm > 0 ? -1 : 1; });
    }
    if (const std::optional<OpCode> other = other_operation(op.code)) {
      add("wrong operation", op, index, [other](Op& it) { it.code = *other; });
    }
    if (op.args.size() >= 2 && !exchangeable(op.code) && differ(op.args[0], op.args[1])) {
      add("arguments exchanged", op, index, [](Op& it) { std::swap(it.args[0], it.args[1]); });
    }
    if (op.code == OpCode::fma && differ(op.args[1], op.args[2])) {
      add("arguments exchanged", op, index, [](Op& it) { std::swap(it.args[1], it.args[2]); });
    }
    for (size_t i = 0; i < op.args.size(); ++i) {
      const Value other = mistaken_for(op.args[i]);
      if (other == no_value) continue;
      add("wrong argument", op, index, [i, other](Op& it) { it.args[i] = other; });
    }
    if (writes_memory(op.code)) {
      all_.push_back({"dropped store", text(op), [index](Program& program) {
                        size_t left = index;
                        drop(program.body, left);
                      }});
    }
  }

  [[nodiscard]] bool differ(Value a, Value b) const {
    return program_.type(a) == program_.type(b) &&
           number_[static_cast<size_t>(a)] != number_[static_cast<size_t>(b)];
  }
  /// The last value made before of that type that holds something else.
  [[nodiscard]] Value mistaken_for(Value v) const {
    const auto at = std::find_if(visible_.rbegin(), visible_.rend(),
                                 [&](Value other) { return differ(v, other); });
    return at == visible_.rend() ? no_value : *at;
  }

  void visit(const std::unique_ptr<Loop>& loop) {
    const size_t index = loops_++;
    for (size_t i = 0; i + 1 < loop->params.size(); ++i) {
      if (!differ(loop->yields[i], loop->yields[i + 1])) continue;
      if (!reach_.of(loop->params[i]) && !reach_.of(loop->results[i])) continue;
      all_.push_back({"loop variables exchanged", loop->label, at_node<Loop>(index, [i](Loop& it) {
                        std::swap(it.yields[i], it.yields[i + 1]);
                      })});
    }
    for (size_t i = 0; i < loop->params.size(); ++i) {
      if (!reach_.of(loop->params[i]) && !reach_.of(loop->results[i])) continue;
      if (loop->yields[i] == loop->params[i]) continue;
      all_.push_back(
          {"not advanced",
           loop->label + " " + program_.values[static_cast<size_t>(loop->params[i])].name,
           at_node<Loop>(index, [i](Loop& it) { it.yields[i] = it.params[i]; })});
    }
    const size_t outer = visible_.size();
    visible_.insert(visible_.end(), loop->params.begin(), loop->params.end());
    region(loop->body);
    visible_.resize(outer);
    visible_.insert(visible_.end(), loop->results.begin(), loop->results.end());
  }

  void visit(const std::unique_ptr<If>& branch) {
    const size_t index = ifs_++;
    all_.push_back({"wrong branch", std::string(tw::name(branch->compare)),
                    at_node<If>(index, [](If& it) { std::swap(it.then_body, it.else_body); })});
    region(branch->then_body);
    region(branch->else_body);
  }

  const Program& program_;
  Reach reach_;
  std::vector<int> number_;
  std::vector<Value> visible_;
  std::vector<Mutant> all_;
  size_t ops_ = 0, loops_ = 0, ifs_ = 0;
};

}  // namespace

std::vector<Mutant> mutants(const Program& program) {
  return Planter(program).run();
}

std::vector<Mutant> register_mutants(const Program& program) {
  const Liveness live = liveness(program);
  const Reach reach(program);
  const std::vector<int> files = register_files(program);
  const auto size = static_cast<Value>(program.values.size());
  std::vector<Mutant> all;
  for (Value v = 0; v < size; ++v) {
    const auto i = static_cast<size_t>(v);
    if (program.registers[i] < 0 || live.of[i].empty() || !reach.of(v)) continue;
    for (Value step = 1; step < size; ++step) {
      const auto j = static_cast<size_t>((v + step) % size);
      if (files[i] != files[j] || program.registers[j] < 0 ||
          program.registers[i] == program.registers[j] || !overlap(live.of[i], live.of[j]) ||
          !reach.of(static_cast<Value>(j))) {
        continue;
      }
      const int taken = program.registers[j];
      all.push_back({"register of a live value",
                     program.values[i].name + " in that of " + program.values[j].name,
                     [i, taken](Program& it) { it.registers[i] = taken; }});
      break;
    }
  }
  return all;
}

}  // namespace tw::test
