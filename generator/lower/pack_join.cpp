#include "lower/pack_join.h"

#include <algorithm>

#include "lower/splat.h"

namespace tw {
namespace {

constexpr int64_t vector_codes = 16;  ///< of a vector that joins them

/// The most values of k, all of whose bits are a byte further each.
int64_t run_length(const Source& source) {
  const auto are_neighbors = [&](int64_t length) {
    for (int64_t k = 0; k < block_of(source); ++k) {
      for (const FieldKind kind : {FieldKind::data, FieldKind::tops}) {
        const int64_t in_run = k % length;
        if (source_bit(source, kind, k) != source_bit(source, kind, k - in_run) + 8 * in_run)
          return false;
      }
    }
    return true;
  };
  int64_t length = 1;
  while (2 * length <= block_of(source) && are_neighbors(2 * length)) length *= 2;
  return length;
}

int64_t bits_of(const Source& source, FieldKind kind) {
  return bits(field_axes(source.axes, kind).type);
}

}  // namespace

CodeJoiner::CodeJoiner(Builder& b, const Layout& layout, const Source& source)
    : b_(b),
      low_bits_(bits_of(source, FieldKind::data)),
      top_bits_(bits_of(source, FieldKind::tops)),
      offset_(offset_bits(layout) - (int64_t{1} << (low_bits_ + top_bits_ - 1))),
      length_(run_length(source)) {
  for (int64_t k = 0; k < block_of(source); k += length_) {
    runs_.push_back(
        {k, source_bit(source, FieldKind::data, k), source_bit(source, FieldKind::tops, k)});
  }
}

bool CodeJoiner::possible(const Source& source, const Isa& isa) {
  const auto has = [&](OpCode code) { return isa.has(code, 8); };
  return isa.vector_bytes == Length{vector_codes} && run_length(source) % vector_codes == 0 &&
         has(OpCode::shl) && has(OpCode::shr) && has(OpCode::add) && has(OpCode::splat);
}

Source CodeJoiner::rows(const Layout& layout) {
  const int64_t block = whole_block(layout);
  const FieldAxes codes{FieldKind::data, layout.element, 0, {Axis{Dim::k, block, 1, 8}}, 0, {}};
  const Part blocks{Axis{Dim::k, rest, block}, {codes}};
  return {"joined", Part{Axis{Dim::n, rest, 1, 0, true}, {blocks}}};
}

void CodeJoiner::each(Value from, const std::function<void(Value k, Value byte)>& store) const {
  for (const Run& run : runs_) {
    b_.loop("code", b_.constant(length_), {number(b_, 0, "in_run")},
            [&](const std::vector<Value>& now) {
              const Value at = plus(b_, {from, now[0]}, "at");
              const auto part = [&](int64_t bit, int64_t count) {
                Value byte =
                    b_.op(OpCode::load_scalar, {at}, {.bits = 8, .offset = bit / 8}, "part");
                if (bit % 8 != 0) byte = b_.op(OpCode::ishr, {byte}, {.imm = bit % 8});
                if (bit % 8 + count == 8) return byte;
                return b_.op(OpCode::iand_imm, {byte}, {.imm = (int64_t{1} << count) - 1});
              };
              const Value low = part(run.low, low_bits_);
              const Value top =
                  b_.op(OpCode::ishl, {part(run.top, top_bits_)}, {.imm = low_bits_}, "top");
              store(b_.add(now[0], run.k, "k"), b_.add(plus(b_, {low, top}), offset_, "code"));
              return std::vector<Value>{b_.add(now[0], 1, "in_run")};
            });
  }
}

void CodeJoiner::vectors(Value from, Value to) const {
  for (const Run& run : runs_) {
    for (int64_t first = 0; first < length_; first += vector_codes) {
      b_.op(OpCode::store, {to, vector_of(from, run, first)}, {.offset = run.k + first});
    }
  }
}

/// Those from number `first` of a run on.
Value CodeJoiner::vector_of(Value from, const Run& run, int64_t first) const {
  const auto everywhere = [&](int64_t byte) {
    return splat32(b_, 0x01010101U * static_cast<uint8_t>(byte), "everywhere");
  };
  const auto part = [&](int64_t bit, int64_t count, int64_t to) {
    Value bytes = b_.op(OpCode::load, {from}, {.offset = bit / 8 + first}, "part");
    const int64_t up = to - bit % 8;
    if (up != 0) {
      bytes = b_.op(up > 0 ? OpCode::shl : OpCode::shr, {bytes},
                    {.bits = 8, .imm = std::max(up, -up)}, "part");
    }
    const bool is_clean = to == 0 && bit % 8 + count == 8;
    const int64_t mask = ((int64_t{1} << count) - 1) << to;
    return is_clean ? bytes : b_.op(OpCode::and_, {bytes, everywhere(mask)}, {}, "part");
  };
  const Value low = part(run.low, low_bits_, 0), top = part(run.top, top_bits_, low_bits_);
  const Value both = b_.op(OpCode::or_, {low, top}, {}, "number");
  return b_.op(OpCode::add, {both, everywhere(offset_)}, {.bits = 8}, "codes");
}

}  // namespace tw
