// Does a row of the instruction table say what some operations of a basic block say?
#pragma once

#include <span>
#include <unordered_map>
#include <vector>

#include "ir/program.h"

namespace tw {

/// A basic block as selection sees it.
struct Block {
  const Program* program = nullptr;
  std::vector<const Op*> ops;
  std::unordered_map<Value, int> definition;  ///< value -> index of its operation here
  std::unordered_map<OpCode, std::vector<int>> by_code;
  std::vector<char> taken;                 ///< operations that are selected already
  const std::vector<int>* uses = nullptr;  ///< per value, in the whole Program
};

/// A row laid over operations.
struct Match {
  const Row* row = nullptr;
  std::vector<Value> operands;     ///< as Row::operands
  std::vector<Length> immediates;  ///< as Row::immediates
  std::vector<char> immediate_set;
  std::vector<int> nodes;  ///< index of the operation of each node of Row::means
  int literals = 0;        ///< attributes that the row fixes: more is more special
};

/// Nodes of a row of which the result does not feed another node.
std::vector<int> roots(const Row& row);

/// Lays `row` over the block so that its root `root` is operation `at` and everything else is
/// earlier and not taken. Inner nodes have this one use only. Values must be right; where the row
/// would stand and what it would pass is for the caller to judge.
bool match(const Block& block, const Row& row, int root, int at, Match& found);

}  // namespace tw
