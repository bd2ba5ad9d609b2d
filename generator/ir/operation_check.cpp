#include "ir/operation_check.h"

#include <fmt/format.h>

#include "ir/text.h"
#include "ir/typing.h"

namespace tw {
namespace {

/// What an operation asks of its vectors, beyond being of a positive length.
struct Rule {
  int min_bits = 8, max_bits = 128;  ///< lane widths it exists for
  bool same = true;                  ///< all its vectors are equally long
  int whole = 0;                     ///< lengths are a multiple of so many bytes; 0: of a lane
};

Rule rule(OpCode code) {
  switch (code) {
    case OpCode::dup_lane:
      return {.same = false};
    case OpCode::cvt_f16_f32:
    case OpCode::cvt_bf16_f32:
      return {.same = false, .whole = 2};
    case OpCode::narrow_32_8:
      return {.same = false, .whole = 4};
    case OpCode::splat:
    case OpCode::dup:
    case OpCode::add:
    case OpCode::sub:
    case OpCode::mul:
    case OpCode::mla:
    case OpCode::shl:
    case OpCode::shr:
    case OpCode::sar:
    case OpCode::shl_insert:
    case OpCode::shr_insert:
    case OpCode::pair_add:
      return {.max_bits = 64};
    case OpCode::fadd:
    case OpCode::fsub:
    case OpCode::fmul:
    case OpCode::fma:
    case OpCode::fmin:
    case OpCode::fmax:
    case OpCode::cvt_i32_f32:
    case OpCode::cvt_f32_i32:
    case OpCode::cvt_f32_i32_away:
    case OpCode::dot4_u8s8:
    case OpCode::dot4_s8s8:
    case OpCode::outer_s8s8:
    case OpCode::outer_f32:
    case OpCode::tile_row:
    case OpCode::tile_quarter:
    case OpCode::tile_fma4:
      return {.whole = 4};
    case OpCode::dot4_s8s8_lane:
    case OpCode::tile_dot4_s8s8_lane:
    case OpCode::fma_lane:
    case OpCode::mmla_s8s8:
      return {.whole = 16};
    case OpCode::zip_lo:
    case OpCode::zip_hi:
      return {.max_bits = 64, .whole = 16};
    case OpCode::blend:
      return {.min_bits = 32, .max_bits = 64};
    case OpCode::dot2_u8s8_sat:
    case OpCode::dot2_s16:
      return {.whole = 4};
    case OpCode::narrow_pair:
      return {.min_bits = 16, .max_bits = 32, .whole = 16};
    case OpCode::segment:
      return {.same = false, .whole = 16};
    case OpCode::move_segments:
    case OpCode::permute_64:
      return {.whole = 32};
    default:
      return {};
  }
}

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

std::string legal_widths(const Rule& r) {
  std::string list = std::to_string(r.min_bits);
  for (int bits = 2 * r.min_bits; bits <= r.max_bits; bits *= 2) {
    list += (bits == r.max_bits ? " or " : ", ") + std::to_string(bits);
  }
  return list;
}

std::string check_attributes(const OperationUse& use) {
  const OpInfo& about = info(use.code);
  Rule r = rule(use.code);
  if (about.has('b')) {
    bool legal =
        use.bits >= r.min_bits && use.bits <= r.max_bits && (use.bits & (use.bits - 1)) == 0;
    if (!legal) {
      return fmt::format("the lane width is {} bits, must be {}", use.bits, legal_widths(r));
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

std::string check_immediate(const OperationUse& use, int frame_slots) {
  // A lane must exist at every vector length, so at the smallest one.
  auto last_lane = [&](const Type& type) { return type.bytes.at({}) / (use.bits / 8) - 1; };
  switch (use.code) {
    case OpCode::arg:
      return in_range("the field", use.imm, 0, static_cast<int64_t>(ArgField::count) - 1);
    case OpCode::ishl:
    case OpCode::ishr:
      return in_range("the shift", use.imm, 0, 63);
    case OpCode::shl:
    case OpCode::shr:
    case OpCode::sar:
    case OpCode::shl_insert:
    case OpCode::shr_insert:
      return in_range("the shift", use.imm, 0, use.bits - 1);
    case OpCode::frame_load:
    case OpCode::frame_store:
      return in_range("the frame slot", use.imm, 0, frame_slots - 1);
    case OpCode::load_lane:
    case OpCode::dup_lane:
      return in_range("the lane", use.imm, 0, last_lane(use.args[0]));
    case OpCode::store_lane:
      return in_range("the lane", use.imm, 0, last_lane(use.args[1]));
    case OpCode::dot4_s8s8_lane:
    case OpCode::tile_dot4_s8s8_lane:
    case OpCode::fma_lane:
      return in_range("the lane", use.imm, 0, 3);
    case OpCode::move_segments:
      return in_range("the choice of segments", use.imm, 0,
                      use.args[0].bytes == Length{32} ? 3 : 255);
    case OpCode::permute_64:
      return in_range("the choice of lanes", use.imm, 0, 255);
    case OpCode::blend:
      return in_range("the choice of lanes", use.imm, 0,
                      (int64_t{1} << (use.args[0].bytes.at({}) * 8 / use.bits)) - 1);
    case OpCode::nibbles:
      return in_range("the half", use.imm, 0, 1);
    case OpCode::tile_quarter:
      return in_range("the row", use.imm, 0, 7);
    case OpCode::tile_fma4:
      return in_range("the row", use.imm, 0, 1);
    case OpCode::segment:
      return in_range("the segment", use.imm, 0, use.args[0].bytes.at({}) / 16 - 1);
    case OpCode::splat:
      if (use.bits == 64) return {};
      return in_range("the value", use.imm, -(int64_t{1} << (use.bits - 1)),
                      (int64_t{1} << use.bits) - 1);
    case OpCode::mode_enter:
    case OpCode::mode_leave:
      return in_range("the mode", use.imm, 1, static_cast<int64_t>(Mode::nibble_table));
    default:
      return {};
  }
}

/// Every vector: positive, not too long, whole lanes.
std::string check_vector(const OperationUse& use, const Rule& r, Length bytes) {
  Length none;
  bool negative = bytes.fixed < 0 || bytes.vl < 0 || bytes.svl < 0;
  if (bytes == none || negative || bytes.at({}) > longest_vector) {
    return fmt::format("a vector of {} bytes, must be 1 to {}", to_string(bytes), longest_vector);
  }
  int64_t whole = r.whole != 0 ? r.whole : std::max(use.bits / 8, 1);
  if (bytes.divisible(whole)) return {};
  return fmt::format("a vector of {} bytes, must be a multiple of {}", to_string(bytes), whole);
}

std::string check_predicate(const Type& predicate, Length vector, int64_t lane_bytes) {
  if (predicate.bytes * lane_bytes == vector) return {};
  return fmt::format("the predicate has {} lanes, the vector {} lanes of {} bytes",
                     to_string(predicate.bytes), to_string(vector.divided(lane_bytes)), lane_bytes);
}

std::string check_lengths(const OperationUse& use) {
  Rule r = rule(use.code);
  std::vector<Length> vectors;
  std::vector<Type> all = use.args;
  all.insert(all.end(), use.results.begin(), use.results.end());
  for (const Type& type : all) {
    if (type.kind != Kind::vector) continue;
    // The result of a narrowing has lanes of another width; its length is checked below.
    bool narrowed = use.code == OpCode::narrow_32_8 && !vectors.empty();
    std::string wrong = check_vector(use, narrowed ? Rule{} : r, type.bytes);
    if (!wrong.empty()) return wrong;
    vectors.push_back(type.bytes);
  }
  for (size_t i = 1; i < vectors.size() && r.same; ++i) {
    if (vectors[i] != vectors[0]) {
      return fmt::format("its vectors have {} and {} bytes, must be equally long",
                         to_string(vectors[0]), to_string(vectors[i]));
    }
  }
  switch (use.code) {
    case OpCode::narrow_32_8:
      if (vectors[1] * 4 == vectors[0]) return {};
      return fmt::format("it makes {} bytes of {}, must be a quarter", to_string(vectors[1]),
                         to_string(vectors[0]));
    case OpCode::cvt_f16_f32:
    case OpCode::cvt_bf16_f32:
      if (vectors[1] == vectors[0] * 2) return {};
      return fmt::format("it makes {} bytes of {}, must be twice as many", to_string(vectors[1]),
                         to_string(vectors[0]));
    case OpCode::uzp_even:
    case OpCode::uzp_odd:
    case OpCode::pair_add:
      if (vectors[0].divisible(use.bits / 4)) return {};
      return fmt::format("a vector of {} bytes, must have an even number of lanes",
                         to_string(vectors[0]));
    case OpCode::move_segments:
      if (vectors[0] == Length{32} || vectors[0] == Length{64}) return {};
      return fmt::format("a vector of {} bytes, must be 32 or 64", to_string(vectors[0]));
    case OpCode::segment:
      if (vectors[1] == Length{16}) return {};
      return fmt::format("it makes {} bytes, must make 16", to_string(vectors[1]));
    case OpCode::load_pred:
    case OpCode::store_pred:
      return check_predicate(use.args[0], vectors[0], use.bits / 8);
    case OpCode::outer_s8s8:
    case OpCode::outer_f32: {
      const int bytes = use.code == OpCode::outer_f32 ? 4 : 1;
      std::string wrong = check_predicate(use.args[3], vectors[0], bytes);
      return wrong.empty() ? check_predicate(use.args[4], vectors[0], bytes) : wrong;
    }
    default:
      return {};
  }
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
