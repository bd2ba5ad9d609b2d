// Panels of codes in blocks as the same panels with a byte for each code, as kernels multiply it
// (model/decoded_layout.cpp):
//   dst[k / kr][column][k % kr] = code + raised, of a table the value that it stands for + raised
// block by block, with what stands beside the codes of a block, before the blocks of a super-block
// and behind all of them, byte for byte.

#include "lower/lower.h"
#include "lower/weights.h"
#include "model/reject.h"

namespace tw {
namespace {

class ByteWriter {
 public:
  explicit ByteWriter(const Tile1& t)
      : t_(t),
        from_(t.v.rhs),
        into_(t.v.decoded),
        vector_(t.b.isa().vector_bytes),
        vectors_(ratio(from_.panel * from_.order.kr, vector_)),
        joins_(into_.order.kr != from_.order.kr),
        decoder_(t.v) {
    decoder_.prepare(t);
  }

  [[nodiscard]] int64_t group() const { return decoder_.operands() * from_.order.kr; }

  /// Group number `g` of a block's codes, and behind the last one what stands beside them.
  void write(Value block, Value to, int64_t g) const {
    const int64_t k = first_k(from_, g);
    for (int64_t j = 0; j < vectors_; ++j) {
      const std::vector<Value> codes = decoder_.load(t_, {block}, j, k);
      for (int64_t i = 0; i < decoder_.operands(); ++i) {
        const auto at = static_cast<size_t>(i);
        if (!joins_) {
          store(to, codes[at], k + i * from_.order.distance, j);
        } else if (i % 2 == 0) {
          store(to, join(OpCode::zip_lo, codes, at), k + i * from_.order.kr, 2 * j);
          store(to, join(OpCode::zip_hi, codes, at), k + i * from_.order.kr, 2 * j + 1);
        }
      }
    }
    if ((g + 1) * group() != from_.block) return;
    const Length fields = block_field_bytes(into_);
    copy(block, block_bytes(from_) - fields, to, block_bytes(into_) - fields, fields.fixed);
  }

  /// As many bytes as there are, in vectors and parts of them.
  void copy(Value from, Length at, Value to, Length behind, int64_t bytes) const {
    for (int64_t done = 0, part = vector_.fixed; done < bytes; done += part) {
      while (part > bytes - done) part /= 2;
      const Value some =
          t_.b.op(OpCode::load, {from}, {.offset = at + Length{done}, .bytes = width(part)},
                  "fields", Role::operand);
      t_.b.op(OpCode::store, {to, some}, {.offset = behind + Length{done}, .bytes = width(part)});
    }
  }

 private:
  [[nodiscard]] Length width(int64_t bytes) const {
    return bytes == vector_.fixed ? Length{} : Length{bytes};
  }

  void store(Value to, Value codes, int64_t k, int64_t vector) const {
    t_.b.op(OpCode::store, {to, codes}, {.offset = code_offset(into_, 0, k) + vector_ * vector});
  }

  /// Two groups of k of the columns of half a vector, side by side.
  [[nodiscard]] Value join(OpCode half, const std::vector<Value>& codes, size_t i) const {
    return t_.b.op(half, {codes[i], codes[i + 1]}, {.bits = 32}, "joined", Role::operand);
  }

  const Tile1& t_;
  const Layout &from_, &into_;
  Length vector_;
  int64_t vectors_;  ///< of packed codes, in a group
  bool joins_;
  Decoder decoder_;
};

/// Vectors, their halves and so on until one is a power of two that divides all that is copied.
bool moves_fields(const Isa& isa, const Layout& layout) {
  const auto moves = [&](Length bytes) {
    for (Length part = isa.vector_bytes; !bytes.divisible(part.fixed); part = part.divided(2)) {
      const Length half = part.divided(2);
      if (!isa.has(OpCode::load, 0, half) || !isa.has(OpCode::store, 0, half)) return false;
    }
    return true;
  };
  return moves(block_field_bytes(layout)) && moves(steps_bytes(layout)) &&
         moves(panel_bytes(layout, 0));
}

}  // namespace

void check_fields(const Variant& v) {
  if (!moves_fields(*v.isa, v.decoded)) {
    reject(
        "panels of {} columns of {} are not possible: {} does not move what stands beside their "
        "codes in parts of vectors",
        to_string(v.rhs.panel), v.family.rhs->name, v.isa->name);
  }
}

void decode_to_bytes(const Tile1& t, Value to) {
  const ByteWriter writer(t);
  const Layout &from = t.v.rhs, &into = t.v.decoded;
  const int64_t groups = from.block / writer.group();
  const auto begin = [&](KState& super) {
    const Length steps = steps_bytes(from);
    writer.copy(super.rhs.front(), 0, super.carried.front(), 0, steps.fixed);
    super.rhs.front() = t.b.add(super.rhs.front(), steps);
    super.carried.front() = t.b.add(super.carried.front(), steps, "to");
  };
  const auto group = [&](const auto&, const auto& rhs, std::vector<Value> at, int64_t g) {
    writer.write(rhs.front(), at.front(), g);
    if (g + 1 == groups) at.front() = t.b.add(at.front(), block_bytes(into), "to");
    return at;
  };
  const KState end =
      short_blocks(t, count_whole_blocks(t), {{}, t.rhs.base, {to}}, groups, begin, group);
  writer.copy(end.rhs.front(), 0, end.carried.front(), 0, panel_bytes(into, 0).fixed);
}

}  // namespace tw
