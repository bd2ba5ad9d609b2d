#include "spill/loops.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>
#include <stdexcept>

namespace tw::spill {
namespace {

enum class Flow { next, branch, jump, leave };

bool is_one_of(const std::string& word, std::initializer_list<const char*> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

/// Mnemonics of x86 and 64-bit Arm; none means two things.
Flow flow_of(const Instruction& instruction) {
  const std::string& m = instruction.mnemonic;
  if (is_one_of(m, {"ret", "retq", "ud2", "brk", "udf"})) return Flow::leave;
  if (is_one_of(m, {"jmp", "b", "br"})) return Flow::jump;
  if (m[0] == 'j' || m.starts_with("b.") || is_one_of(m, {"cbz", "cbnz", "tbz", "tbnz"})) {
    return Flow::branch;
  }
  return Flow::next;
}

struct Block {
  size_t begin = 0, end = 0;  ///< instructions
  std::vector<size_t> next;
  std::vector<size_t> before;
};

class Graph {
 public:
  explicit Graph(const std::vector<Instruction>& function) : function_(function) {
    for (size_t i = 0; i < function.size(); ++i) at_[function[i].address] = i;
    make_blocks();
    find_dominators();
  }

  [[nodiscard]] std::vector<Loop> loops() const {
    std::map<size_t, std::set<size_t>> bodies;  // of blocks, by head
    for (size_t b = 0; b < blocks_.size(); ++b) {
      for (const size_t head : blocks_[b].next) {
        if (reached_[b] && dominators_[b].contains(head)) add_body(head, b, bodies[head]);
      }
    }
    std::vector<Loop> found;
    for (const auto& [head, body] : bodies) {
      found.emplace_back();
      for (const size_t b : body) {
        for (size_t i = blocks_[b].begin; i < blocks_[b].end; ++i) found.back().push_back(i);
      }
    }
    return found;
  }

 private:
  [[nodiscard]] size_t target(const Instruction& jump) const {
    const std::string text = jump.operands.empty() ? "" : jump.operands.back();
    const auto found = at_.find(std::strtoull(text.c_str(), nullptr, 16));
    if (!text.starts_with("0x") || found == at_.end()) {
      throw std::runtime_error("cannot follow \"" + jump.mnemonic + " " + text + "\"");
    }
    return found->second;
  }

  void make_blocks() {
    std::set<size_t> begins = {0};
    for (size_t i = 0; i < function_.size(); ++i) {
      const Flow flow = flow_of(function_[i]);
      if (flow == Flow::next) continue;
      begins.insert(i + 1);
      if (flow != Flow::leave) begins.insert(target(function_[i]));
    }
    begins.erase(function_.size());
    std::map<size_t, size_t> block_at;
    for (const size_t begin : begins) {
      if (!blocks_.empty()) blocks_.back().end = begin;
      block_at[begin] = blocks_.size();
      blocks_.push_back({begin, function_.size(), {}, {}});
    }
    for (size_t b = 0; b < blocks_.size(); ++b) {
      const size_t end = blocks_[b].end;
      const Flow flow = flow_of(function_[end - 1]);
      const bool falls = flow == Flow::next || flow == Flow::branch;
      if (falls && end < function_.size()) connect(b, b + 1);
      if (flow == Flow::branch || flow == Flow::jump) {
        connect(b, block_at.at(target(function_[end - 1])));
      }
    }
  }

  void connect(size_t from, size_t to) {
    blocks_[from].next.push_back(to);
    blocks_[to].before.push_back(from);
  }

  void find_dominators() {
    reached_.assign(blocks_.size(), false);
    std::vector<size_t> work = {0};
    std::set<size_t> all;
    while (!work.empty()) {
      const size_t b = work.back();
      work.pop_back();
      if (reached_[b]) continue;
      reached_[b] = true;
      all.insert(b);
      work.insert(work.end(), blocks_[b].next.begin(), blocks_[b].next.end());
    }
    dominators_.assign(blocks_.size(), all);
    dominators_[0] = {0};
    for (bool changed = true; changed;) {
      changed = false;
      for (const size_t b : all) {
        if (b == 0) continue;
        std::set<size_t> common = all;
        for (const size_t p : blocks_[b].before) {
          if (!reached_[p]) continue;
          std::erase_if(common, [&](size_t d) { return !dominators_[p].contains(d); });
        }
        common.insert(b);
        if (common == dominators_[b]) continue;
        dominators_[b] = std::move(common);
        changed = true;
      }
    }
  }

  void add_body(size_t head, size_t last, std::set<size_t>& body) const {
    body.insert(head);
    std::vector<size_t> work = {last};
    while (!work.empty()) {
      const size_t b = work.back();
      work.pop_back();
      if (!body.insert(b).second) continue;
      for (const size_t p : blocks_[b].before) {
        if (reached_[p]) work.push_back(p);
      }
    }
  }

  const std::vector<Instruction>& function_;
  std::map<uint64_t, size_t> at_;  ///< address -> instruction
  std::vector<Block> blocks_;
  std::vector<bool> reached_;
  std::vector<std::set<size_t>> dominators_;
};

}  // namespace

bool is_call(const Instruction& instruction) {
  return is_one_of(instruction.mnemonic, {"call", "callq", "bl", "blr"});
}

std::vector<Loop> find_loops(const std::vector<Instruction>& function) {
  return function.empty() ? std::vector<Loop>{} : Graph(function).loops();
}

}  // namespace tw::spill
