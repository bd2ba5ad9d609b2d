#include "ir/bit_map.h"

#include <algorithm>
#include <array>
#include <bit>

#include "ir/meaning.h"
#include "ir/typing.h"

namespace tw {
namespace {

using Bytes = std::vector<uint8_t>;

/// Bits that are bit `digit` of their numbers, of which the first is `first`; or the opposite.
Bytes digits(size_t bytes, size_t first, int digit, bool opposite) {
  Bytes out(bytes);
  for (size_t i = 0; i < 8 * bytes; ++i) {
    const bool set = ((first + i) >> digit & 1) != 0;
    if (set != opposite) out[i / 8] |= static_cast<uint8_t>(1U << (i % 8));
  }
  return out;
}

/// What bits of arguments' numbers look like, for all operations on vectors of that length.
struct Patterns {
  size_t bytes;
  int width;                                             ///< of a number in a vector
  std::array<std::vector<std::array<Bytes, 2>>, 2> all;  ///< [opposite][digit][argument]

  explicit Patterns(size_t vector_bytes)
      : bytes(vector_bytes), width(std::countr_zero(8 * vector_bytes)) {
    for (int digit = 0; digit <= width; ++digit) {
      for (const bool opposite : {false, true}) {
        all[opposite ? 1 : 0].push_back(
            {digits(bytes, 0, digit, opposite), digits(bytes, 8 * bytes, digit, opposite)});
      }
    }
  }
  /// Bit i is bit `digit` of i; a number has `width` such bits, the next one is 0.
  [[nodiscard]] const Bytes& of(int digit, bool opposite) const {
    return all[opposite ? 1 : 0][static_cast<size_t>(digit)][0];
  }
};

/// Which pattern the result is when arguments hold bit `digit` of their numbers; none if it is no
/// pattern, or if opposite arguments do not give its opposite, as moved bits do.
std::optional<std::pair<int, bool>> pattern_of(const MoveOp& op, int arguments, int digit,
                                               const Patterns& patterns) {
  std::array<Bytes, 2> results;
  for (const size_t opposite : {0, 1}) {
    std::vector<const uint8_t*> args;
    for (size_t a = 0; a < static_cast<size_t>(arguments); ++a) {
      args.push_back(patterns.all[opposite][static_cast<size_t>(digit)][a].data());
    }
    try {
      results[opposite] = run_alone(op.code, op.bits, op.imm, args, patterns.bytes);
    } catch (const Fault&) {  // numbers that it does not take
      return std::nullopt;
    }
  }
  for (int i = 0; i <= patterns.width; ++i) {
    for (const bool ones : {false, true}) {
      if (ones && i < patterns.width) continue;
      if (results[0] == patterns.of(i, ones) && results[1] == patterns.of(i, !ones)) {
        return std::pair(i, ones);
      }
    }
  }
  return std::nullopt;
}

std::optional<BitMap> bit_map(const MoveOp& op, int arguments, const Patterns& patterns) {
  BitMap map;
  map.from.assign(static_cast<size_t>(patterns.width), -1);
  for (int digit = 0; digit < patterns.width + arguments - 1; ++digit) {
    const auto pattern = pattern_of(op, arguments, digit, patterns);
    if (!pattern) return std::nullopt;
    const auto [i, ones] = *pattern;
    if (ones) map.constant |= size_t{1} << digit;
    if (i == patterns.width) continue;
    int& from = map.from[static_cast<size_t>(i)];
    if (from >= 0) return std::nullopt;
    from = digit;
  }
  if (std::count(map.from.begin(), map.from.end(), -1) != 0) return std::nullopt;
  return map;
}

/// The instructions of a row of whole vectors, one for each value of its immediate.
std::vector<MoveOp> instructions(const Row& row, const Isa& isa) {
  if (row.means.size() != 1) return {};
  const MeansNode& node = row.means.front();
  const OpInfo& about = info(node.code);
  const bool whole = row.bytes == Length{} || row.bytes == isa.vector_bytes;
  const std::vector<Type> types(about.args.size(), {Kind::vector, isa.vector_bytes});
  if ((about.args != "v" && about.args != "vv") || about.result != 'v' || !whole ||
      result_type(node.code, node.bits, {}, types, isa).bytes != isa.vector_bytes) {
    return {};
  }
  if (node.imm_name.empty()) return {{node.code, node.bits, node.imm}};
  constexpr int longest = 8;  // immediates of more bits are no numbers of lanes
  for (const Immediate& immediate : row.immediates) {
    if (immediate.name != node.imm_name || immediate.bits > longest) continue;
    std::vector<MoveOp> all;
    for (int64_t i = std::max<int64_t>(immediate.least, 0); i < int64_t{1} << immediate.bits; ++i) {
      all.push_back({node.code, node.bits, i});
    }
    return all;
  }
  return {};
}

/// The bit of an argument's number that no result's bit is taken from.
int missing(const std::vector<int>& from) {
  int i = 0;
  while (std::find(from.begin(), from.end(), i) != from.end()) ++i;
  return i;
}

bool changes_nothing(const std::vector<int>& from) {
  return std::is_sorted(from.begin(), from.end()) && missing(from) == static_cast<int>(from.size());
}

}  // namespace

std::optional<BitMap> bit_map(const MoveOp& op, size_t bytes, int arguments) {
  return bit_map(op, arguments, Patterns(bytes));
}

std::vector<LaneMove> lane_moves(const Isa& isa) {
  struct Half {
    MoveOp op;
    BitMap map;
  };
  std::vector<Half> halves;
  std::vector<LaneMove> moves;
  if (!isa.vector_bytes.is_fixed() || isa.vector_bytes.fixed < 16) return moves;
  const Patterns patterns(static_cast<size_t>(isa.vector_bytes.fixed));
  for (const Row& row : isa.rows) {
    for (const MoveOp& op : instructions(row, isa)) {
      const auto arguments = static_cast<int>(info(op.code).args.size());
      const std::optional<BitMap> map = bit_map(op, arguments, patterns);
      if (!map) continue;
      if (arguments == 2) halves.push_back({op, *map});
      const bool whole = arguments == 1 && map->constant == 0;
      if (whole && !changes_nothing(map->from)) moves.push_back({op, {}, map->from, false});
    }
  }
  for (const Half& first : halves) {
    const int left = missing(first.map.from);
    const auto second = std::find_if(halves.begin(), halves.end(), [&](const Half& half) {
      return half.map.from == first.map.from && half.map.constant == size_t{1} << left;
    });
    if (first.map.constant != 0 || second == halves.end()) continue;
    LaneMove move{first.op, second->op, first.map.from, true};
    move.from.push_back(left);
    moves.push_back(move);
  }
  return moves;
}

}  // namespace tw
