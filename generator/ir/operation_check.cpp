#include "ir/operation_check.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/text.h"
#include "ir/typing.h"

namespace tw {
namespace {

std::string check_kinds(const OperationUse& use) {
  const OpInfo& about = info(use.code);
  if (use.args.size() != about.args.size()) {
    return fmt::format("it has {} arguments, must have {}", use.args.size(), about.args.size());
  }
  size_t results = about.result == '-' ? 0 : 1;
  if (use.results.size() != results) {
    return fmt::format("it has {} results, must have {}", use.results.size(), results);
  }
  for (size_t i = 0; i < use.args.size(); ++i) {
    Kind wanted = kind_of(about.args[i]);
    if (use.args[i].kind != wanted) {
      return fmt::format("argument {} is a {}, must be a {}", i + 1, name(use.args[i].kind),
                         name(wanted));
    }
  }
  if (results == 1 && use.results[0].kind != kind_of(about.result)) {
    return fmt::format("its result is a {}, must be a {}", name(use.results[0].kind),
                       name(kind_of(about.result)));
  }
  return {};
}

std::string legal_widths(const OpFacts& facts) {
  std::string list = std::to_string(facts.min_bits);
  for (int bits = 2 * facts.min_bits; bits <= facts.max_bits; bits *= 2) {
    list += (bits == facts.max_bits ? " or " : ", ") + std::to_string(bits);
  }
  return list;
}

std::string check_attributes(const OperationUse& use) {
  const OpInfo& about = info(use.code);
  const OpFacts& facts = about.facts;
  if (about.has('b')) {
    bool legal = use.bits >= facts.min_bits && use.bits <= facts.max_bits &&
                 (use.bits & (use.bits - 1)) == 0;
    if (!legal) {
      return fmt::format("the lane width is {} bits, must be {}", use.bits, legal_widths(facts));
    }
  } else if (use.bits != 0) {
    return fmt::format("it has a lane width ({} bits), must have none", use.bits);
  }
  if (!about.has('o') && use.offset != Length{}) {
    return fmt::format("it has an offset ({}), must have none", to_string(use.offset));
  }
  if (!about.has('i') && use.imm != 0) {
    return fmt::format("it has an immediate ({}), must have none", use.imm);
  }
  return {};
}

std::string in_range(std::string_view what, int64_t value, int64_t first, int64_t last) {
  if (value >= first && value <= last) return {};
  return fmt::format("{} is {}, must be {} to {}", what, value, first, last);
}

/// The first vector among the arguments, at the smallest vector length: what an immediate names
/// must exist at every one.
int64_t vector_bytes(const OperationUse& use) {
  const size_t at = info(use.code).args.find('v');
  return use.args[at].bytes.at({});
}

std::string check_immediate(const OperationUse& use, int frame_slots) {
  const ImmediateRange& range = info(use.code).facts.immediate;
  auto up_to = [&](int64_t last) { return in_range(range.what, use.imm, range.first, last); };
  switch (range.last) {
    case Last::none:
      return {};
    case Last::number:
      return up_to(range.number);
    case Last::bit:
      return up_to(use.bits - 1);
    case Last::lane:
      return up_to(vector_bytes(use) / (use.bits / 8) - 1);
    case Last::segment:
      return up_to(vector_bytes(use) / 16 - 1);
    case Last::slot:
      return up_to(frame_slots - 1);
    case Last::choice_of_lanes:
      return up_to((int64_t{1} << (vector_bytes(use) * 8 / use.bits)) - 1);
    case Last::choice_of_segments:
      return up_to(vector_bytes(use) == 32 ? 3 : 255);
    case Last::value:
      break;
  }
  if (use.bits == 64) return {};
  return in_range(range.what, use.imm, -(int64_t{1} << (use.bits - 1)),
                  (int64_t{1} << use.bits) - 1);
}

/// Bytes of a lane of operand `at`: where vectors are equally long, of the widest operand's.
int64_t lane_bytes(const OperationUse& use, size_t at) {
  const OpInfo& about = info(use.code);
  if (use.bits != 0) return std::max(use.bits / 8, 1);
  int widest = 1;
  for (size_t i = 0; i < about.operands(); ++i) widest = std::max(widest, about.types[i]->bytes);
  return about.facts.lengths == Lengths::lanes ? about.types[at]->bytes : widest;
}

/// Every vector: positive, not too long, whole lanes or segments.
std::string check_vector(const OperationUse& use, size_t at, Length bytes) {
  bool negative = bytes.fixed < 0 || bytes.vl < 0 || bytes.svl < 0;
  if (bytes == Length{} || negative || bytes.at({}) > longest_vector) {
    return fmt::format("a vector of {} bytes, must be 1 to {}", to_string(bytes), longest_vector);
  }
  const Whole whole = info(use.code).facts.whole;
  const int64_t of = whole == Whole::segment        ? 16
                     : whole == Whole::two_segments ? 32
                                                    : lane_bytes(use, at);
  if (!bytes.divisible(of)) {
    return fmt::format("a vector of {} bytes, must be a multiple of {}", to_string(bytes), of);
  }
  if (whole == Whole::two_lanes && !bytes.divisible(2 * of)) {
    return fmt::format("a vector of {} bytes, must have an even number of lanes", to_string(bytes));
  }
  return {};
}

std::string check_predicate(const Type& predicate, Length vector, int64_t lane_bytes) {
  if (predicate.bytes * lane_bytes == vector) return {};
  return fmt::format("the predicate has {} lanes, the vector {} lanes of {} bytes",
                     to_string(predicate.bytes), to_string(vector.divided(lane_bytes)), lane_bytes);
}

/// Every tile has a shape: the same, or those of a product.
std::string check_tiles(const Types& all, Lengths lengths) {
  Types tiles;
  for (const Type& type : all) {
    if (type.kind == Kind::tile) tiles.push_back(type);
  }
  const auto shape = [](const Type& tile) {
    return fmt::format("{} rows of {} bytes", to_string(tile.rows), to_string(tile.bytes));
  };
  for (const Type& tile : tiles) {
    const int64_t bytes = tile.bytes.at({});
    if (tile.rows.at({}) < 1 || bytes < 4 || bytes > longest_vector || !tile.bytes.divisible(4)) {
      return fmt::format("a tile of {}, must be of rows of whole lanes of 4, up to {}", shape(tile),
                         longest_vector);
    }
  }
  const bool is_product = lengths == Lengths::tile_product;
  for (size_t i = 1; i < tiles.size(); ++i) {
    if (tiles[i] == tiles[0] || (is_product && i < 3)) continue;
    return fmt::format("its tiles have {} and {}, must be alike", shape(tiles[0]), shape(tiles[i]));
  }
  if (!is_product) return {};
  const Type wanted[] = {{Kind::tile, tiles[2].rows * 4, tiles[0].rows},
                         {Kind::tile, tiles[0].bytes, tiles[1].bytes.divided(4)}};
  for (size_t i = 0; i < 2; ++i) {
    if (tiles[i + 1] == wanted[i]) continue;
    return fmt::format("argument {} has {}, must have {}", i + 2, shape(tiles[i + 1]),
                       shape(wanted[i]));
  }
  return {};
}

std::string check_lengths(const OperationUse& use) {
  const OpInfo& about = info(use.code);
  Types all = use.args;
  for (const Type& result : use.results) all.push_back(result);
  if (std::string wrong = check_tiles(all, about.facts.lengths); !wrong.empty()) return wrong;
  ShortList<Length, 4> vectors;
  int64_t lane = 0;  // of the first vector
  for (size_t i = 0; i < all.size(); ++i) {
    if (all[i].kind != Kind::vector) continue;
    std::string wrong = check_vector(use, i, all[i].bytes);
    if (!wrong.empty()) return wrong;
    if (vectors.empty()) lane = use.bits != 0 ? use.bits / 8 : std::max(about.types[i]->bytes, 1);
    vectors.push_back(all[i].bytes);
  }
  const Lengths lengths = about.facts.lengths;
  if (lengths == Lengths::lanes || lengths == Lengths::one_segment) {
    const Length wanted = result_bytes(use.code, vectors[0]);
    if (vectors[1] == wanted) return {};
    return fmt::format("it makes {} bytes of {}, must make {}", to_string(vectors[1]),
                       to_string(vectors[0]), to_string(wanted));
  }
  for (size_t i = 1; i < vectors.size() && lengths != Lengths::any; ++i) {
    if (vectors[i] != vectors[0]) {
      return fmt::format("its vectors have {} and {} bytes, must be equally long",
                         to_string(vectors[0]), to_string(vectors[i]));
    }
  }
  if (lengths == Lengths::two_or_four_segments && vectors[0] != Length{32} &&
      vectors[0] != Length{64}) {
    return fmt::format("a vector of {} bytes, must be 32 or 64", to_string(vectors[0]));
  }
  for (const Type& arg : use.args) {
    if (arg.kind != Kind::predicate) continue;
    std::string wrong = check_predicate(arg, vectors[0], lane);
    if (!wrong.empty()) return wrong;
  }
  return {};
}

}  // namespace

std::string check_operation(const OperationUse& use, int frame_slots) {
  std::string wrong = check_kinds(use);
  if (wrong.empty()) wrong = check_attributes(use);
  if (wrong.empty()) wrong = check_lengths(use);
  if (wrong.empty()) wrong = check_immediate(use, frame_slots);
  return wrong;
}

}  // namespace tw
