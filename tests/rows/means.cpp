#include "rows/means.h"

#include <stdexcept>

#include "emit/c_values.h"
#include "ir/typing.h"

namespace tw::test {

namespace {

/// Of an operation that touches memory; null: of another one.
const MeansArg* address_of(const MeansNode& node) {
  const OpCode code = node.code;
  if (!reads_memory(code) && !writes_memory(code) && !prefetches(code) && code != OpCode::arg) {
    return nullptr;
  }
  return &node.args[info(code).args.find('s')];
}

/// Of a sum that is an address, argument `i`.
std::string of_sum(const Row& row, const MeansArg& address, size_t i) {
  const MeansNode& sum = row.means[static_cast<size_t>(address.node)];
  if (sum.code != OpCode::iadd) throw std::logic_error(row.name + ": no sum is its address");
  return sum.args[i].operand;
}

}  // namespace

std::string base_of(const Row& row, const MeansNode& node) {
  const MeansArg* const address = address_of(node);
  if (address == nullptr) return {};
  return address->node < 0 ? address->operand : of_sum(row, *address, 0);
}

std::string distance_of(const Row& row, const MeansNode& node) {
  const MeansArg* const address = address_of(node);
  return address == nullptr || address->node < 0 ? "" : of_sum(row, *address, 1);
}

Length number(const RowUse& use, const std::string& immediate) {
  if (immediate.empty()) return 0;
  for (size_t i = 0; i < use.immediates.size(); ++i) {
    if (use.row->immediates[i].name == immediate) return use.immediates[i];
  }
  throw std::logic_error(to_string(use) + ": no immediate " + immediate);
}

Length argument_bytes(const Row& row, const Isa& isa) {
  const Length own = row.bytes == Length{} ? isa.vector_bytes : row.bytes;
  for (const MeansNode& node : row.means) {
    if (!info(node.code).takes('v')) continue;
    if (info(node.code).result != 'v') continue;
    const std::vector<Type> args(info(node.code).args.size(), Type{Kind::vector, own});
    const Type made = result_type(node.code, node.bits, {}, args, isa);
    if (made.bytes.at({}) > own.at({})) return own.divided(made.bytes.at({}) / own.at({}));
  }
  return own;
}

int lane_bits(const Row& row, const std::string& predicate) {
  for (const MeansNode& node : row.means) {
    if (node.result == predicate) return node.bits;
    for (const MeansArg& arg : node.args) {
      if (arg.operand != predicate) continue;
      if (node.bits != 0) return node.bits;
      const OpInfo& about = info(node.code);
      return 8 * about.types[about.args.find('v')]->bytes;
    }
  }
  throw std::logic_error(row.name + ": no predicate " + predicate);
}

int float_bytes(OpCode code) {
  const OpInfo& about = info(code);
  if (about.result == '-') return 0;
  const Element made = about.types[about.args.size()]->element;
  const bool halves = made == Element::f16 && about.types[0]->element == Element::f16;
  return halves ? 2 : made == Element::f32 ? 4 : 0;
}

bool makes_address(const MeansNode& node, const std::map<std::string, bool>& addresses) {
  if (info(node.code).result != 's') return false;
  const auto is_address = [&](const MeansArg& arg) { return addresses.count(arg.operand) > 0; };
  if (node.code == OpCode::arg) {
    const auto field = static_cast<ArgField>(node.imm);
    return node.imm_name.empty() && field == ArgField::clamp;
  }
  return node.code == OpCode::iadd_imm && is_address(node.args[0]);
}

bool is_plain(const Row& row) {
  if (row.means.size() != 1 || row.means[0].code == OpCode::arg) return false;
  return row.c.empty() && is_plain_c(row.means[0].code);
}

}  // namespace tw::test
