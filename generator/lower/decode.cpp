// Packed weights as panels of f32, for products of so many rows that making them once pays:
//   dst[panel][k][column] = w, as technique `fma` makes it
// or as pairs of bf16 (decode_pairs.cpp). Tiles are those panels, of one or more of packed ones. A
// panel begins dst_stride bytes behind the one before, and has nothing behind its values. Or
// panels of codes as panels of bytes, a tile each, with whatever else their columns have: those of
// 4 bits with a scale a column (decode_codes.cpp), and those in blocks (decode_bytes.cpp).

#include "lower/lower.h"
#include "lower/weights.h"
#include "model/operand_contract.h"
#include "model/reject.h"

namespace tw {
namespace {

constexpr int64_t value_bytes = 4;

/// In the place of products: what is carried is where an iteration's values go.
class PanelWriter : public Accumulation {
 public:
  PanelWriter(const Variant& v, Value to)
      : columns_(v.tile.n.fixed), in_iteration_(decoded_at_once(v)), to_(to), weights_(v.rhs) {}

  [[nodiscard]] int64_t group() const override { return 1; }
  void prepare(const Tile1& t) override { weights_.prepare(t); }
  std::vector<Value> start(const Tile1& /*t*/, const std::vector<Start>& /*none*/) override {
    return {to_};
  }
  void begin_block(const Tile1& t, const std::vector<Value>& rhs) override {
    weights_.begin_block(t, rhs);
  }

  void step(const Tile1& t, const std::vector<Value>& /*lhs*/, const std::vector<Value>& rhs,
            int64_t g, std::vector<Value>& to) override {
    const int64_t k = weights_.k_of(g);
    for (int64_t j = 0; j < t.vectors(); ++j) {
      const Length at = t.b.isa().vector_bytes * j + row_bytes() * k;
      t.b.op(OpCode::store, {to.front(), weights_(t, rhs, j, k)}, {.offset = at});
    }
    if (g + 1 == in_iteration_) to.front() = t.b.add(to.front(), row_bytes() * in_iteration_, "to");
  }

 private:
  [[nodiscard]] int64_t row_bytes() const { return columns_ * value_bytes; }

  int64_t columns_;
  int64_t in_iteration_;  ///< values of k
  Value to_;
  Weights weights_;
};

/// Pairs are made of floats, or of codes of short blocks of which a lane of 32 bits has four.
bool makes_pairs(const Variant& v) {
  if (v.family.dst != ElementType::bf16 || !v.isa->vector_bytes.is_fixed()) return false;
  const bool has_scales = v.rhs.block != 0 && is_byte_float(v.rhs.element);
  if (is_float(v.rhs.element) || has_scales) {
    return v.rhs.order.kr == 1 && v.knobs.unroll_k % 2 == 0;
  }
  return v.technique == Technique::dot && v.rhs.order.kr == 4 && !has_long_blocks(v.rhs) &&
         contract_of(v).contraction == Contraction::dot_depth &&
         field_index(v.rhs, FieldKind::offsets) < 0;
}

void check_panels(const Variant& v) {
  if (makes_codes(v.family)) return check_codes(v);
  const bool pairs = makes_pairs(v);
  if ((v.rhs.block == 0 && !pairs) || !v.rhs.panel.is_fixed()) {
    reject("panels of {} are not decoded: codes in blocks, in panels of fixed size, are",
           v.family.rhs->name);
  }
  const Family& family = v.family;
  const bool floats = family.lhs->element == ElementType::f32 && v.technique == Technique::fma &&
                      family.dst == ElementType::f32;
  if ((!floats && !pairs) || family.accumulate) {
    reject(
        "decoders are of lhs f32, technique fma and dst f32, or of technique dot, 4 codes in 32 "
        "bits, or f16, and dst bf16; nothing is added to");
  }
  if (v.knobs.prefetch == Prefetch::far) {
    reject("prefetch 'far' is for several tiles of rows; near is legal");
  }
  if (v.tile.m == Length{1} && ratio(v.tile.n, v.rhs.panel) >= 1 &&
      ratio(v.tile.n, decoded_panel(v)) >= 1) {
    return;
  }
  reject("tile {}x{} does not fit decode: 1 by whole panels, 1x{}, does", to_string(v.tile.m),
         to_string(v.tile.n), to_string(v.rhs.panel));
}

/// From a tile's first panel to the next tile's.
Value written_bytes(Builder& b, const Variant& v) {
  const Value stride = b.arg(ArgField::dst_stride);
  const int64_t panels = ratio(v.tile.n, decoded_panel(v));
  return panels == 1 ? stride : b.op(OpCode::imul, {stride, b.constant(panels)});
}

}  // namespace

Length decoded_panel(const Variant& v) {
  if (v.family.operation != Operation::decode) return Length{0};
  if (makes_codes(v.family)) return v.rhs.panel;
  return makes_pairs(v) ? v.isa->vector_bytes.divided(4) * pair_vectors : v.tile.n;
}

Program lower_decode(const Variant& v) {
  check_panels(v);
  Builder b(v.code_name(), *v.isa);
  const Value k = b.arg(ArgField::k);
  const int64_t panels = ratio(v.tile.n, v.rhs.panel);
  const bool codes = makes_codes(v.family), blocks = v.rhs.block != 0;
  const auto tile = [&](const std::vector<Value>& at) {
    const Value n_left = at[0], rhs = at[1], to = at[2];
    const Value stride = b.arg(ArgField::rhs_stride);
    Tile1 t{b, v, {}, {}};
    t.padded = codes && !blocks ? b.op(OpCode::iand_imm, {b.add(k, v.rhs.k_multiple - 1)},
                                       {.imm = -v.rhs.k_multiple}, "padded")
                                : k;
    t.lhs.layout = &v.lhs;
    t.rhs = {&v.rhs, clamped_pointers(b, rhs, stride, n_left, v.rhs.panel, panels, "rhs"), no_value,
             ratio(v.rhs.panel, t.lanes())};
    if (has_long_blocks(v.rhs)) {
      t.blocks = b.op(OpCode::idiv, {k, b.arg(ArgField::block)}, {}, "blocks");
    }
    if (codes) {
      blocks ? decode_to_bytes(t, to) : decode_to_codes(t, to);
    } else if (v.family.dst == ElementType::bf16) {
      decode_to_pairs(t, to);
    } else {
      PanelWriter writer(v, to);
      multiply_blocks(t, writer);
    }
    const Value step = panels == 1 ? stride : b.op(OpCode::imul, {stride, b.constant(panels)});
    const Value columns = v.tile.n.is_fixed() ? b.constant(v.tile.n.fixed)
                                              : b.op(OpCode::length, {}, {.offset = v.tile.n});
    return std::vector<Value>{b.op(OpCode::isub_sat, {n_left, columns}),
                              b.op(OpCode::iadd, {rhs, step}),
                              b.op(OpCode::iadd, {to, written_bytes(b, v)})};
  };
  const Value n = b.arg(ArgField::n);
  b.stepped_loop("n", n, v.tile.n, {n, b.arg(ArgField::rhs), b.arg(ArgField::dst)}, tile);
  return b.finish();
}

}  // namespace tw
