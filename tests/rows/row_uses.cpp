// Which numbers a row's immediates take in tests.
#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "rows/means.h"
#include "rows/row_program.h"

namespace tw::test {
namespace {

int64_t largest(const Immediate& field) {
  const int bits = field.is_signed ? field.bits - 1 : field.bits;
  return bits >= 63 ? INT64_MAX : (int64_t{1} << bits) - 1;
}

/// Both ends of the field, and values at which other limits may lie: of lanes, shifts, encodings.
std::vector<Length> candidates(const Immediate& field) {
  std::vector<int64_t> values = {0, 1, 2, 3, 5, 7, 8, 15, 16, 31, 32, 63, 64, 85, 127, 228, 255};
  const int64_t last = largest(field);
  values.insert(values.end(), {last / 2, last - 1, last});
  if (field.is_signed) values.insert(values.end(), {-1, -2, -64, -last, -last - 1});
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  std::vector<Length> legal;
  for (int64_t value : values) {
    if (field.fits(field.unit() * value)) legal.push_back(field.unit() * value);
  }
  return legal;
}

/// Is there a row for these very numbers, which then does not mean what this one would?
bool is_special(const RowUse& use) {
  const auto says = [&](const Row& other) {
    bool more = false;
    for (size_t i = 0; i < use.row->means.size(); ++i) {
      const MeansNode& node = use.row->means[i];
      const MeansNode& its = other.means[i];
      if (its.code != node.code || its.bits != node.bits) return false;
      if (!its.imm_name.empty() || node.imm_name.empty()) continue;
      if (its.imm != node.imm + number(use, node.imm_name).fixed) return false;
      more = true;
    }
    return more;
  };
  return std::any_of(use.isa->rows.begin(), use.isa->rows.end(), [&](const Row& other) {
    return other.means.size() == use.row->means.size() && says(other);
  });
}

bool is_legal(const RowUse& use) {
  try {
    const RowProgram program = row_program(use, false);
    return verify(program.selected).empty();
  } catch (const std::logic_error&) {  // the operation does not take this number
    return false;
  }
}

/// A few out of many: the ends and every n-th.
void thin(std::vector<RowUse>& uses) {
  constexpr size_t most = 10;
  if (uses.size() <= most) return;
  std::vector<RowUse> few;
  for (size_t i = 0; i < most; ++i) few.push_back(uses[i * (uses.size() - 1) / (most - 1)]);
  uses = std::move(few);
}

}  // namespace

std::string to_string(const RowUse& use) {
  std::string file = use.row->where.file;
  const size_t slash = file.rfind('/');
  if (slash != std::string::npos) file.erase(0, slash + 1);
  std::string text = fmt::format("{} ({}:{})", use.row->name, file, use.row->where.line);
  for (size_t i = 0; i < use.immediates.size(); ++i) {
    text += fmt::format(" {}={}", use.row->immediates[i].name, to_string(use.immediates[i]));
  }
  return text;
}

std::vector<RowUse> row_uses(const Isa& isa, const Row& row) {
  std::vector<RowUse> all = {{&isa, &row, {}}};
  for (const Immediate& field : row.immediates) {
    std::vector<RowUse> next;
    for (const RowUse& use : all) {
      for (const Length value : candidates(field)) {
        next.push_back(use);
        next.back().immediates.push_back(value);
      }
    }
    all = std::move(next);
  }
  std::erase_if(all, [](const RowUse& use) { return !is_legal(use) || is_special(use); });
  thin(all);
  if (all.empty()) {
    throw std::runtime_error(fmt::format("{}: no legal immediates", to_string({&isa, &row, {}})));
  }
  return all;
}

}  // namespace tw::test
