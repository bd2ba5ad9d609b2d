// Rows of floats to panels of rows in blocks along k: sums of codes, and scales, for each block.
// k is a multiple of the block, and that is 16 or a multiple of 32.
#include <algorithm>
#include <optional>

#include "lower/pack_lhs.h"
#include "lower/splat.h"

namespace tw {
namespace {

constexpr int64_t longest_step = 32;
constexpr int64_t blocks_at_once = 32;  // blocks whose parameters are found together
constexpr int64_t plain_step = 4;       // values that ISAs without vectors take

/// Values that most weights' blocks have, or all that share this packer where those are shorter.
int64_t usual_block(const Layout& layout) {
  return std::min<int64_t>(layout.block, longest_step);
}

/// A number that is the caller's, or known.
struct Number {
  Value value = no_value;
  std::optional<int64_t> known;
};

Number given(Builder& b, std::optional<int64_t> known, ArgField field) {
  return {known ? b.constant(*known) : b.arg(field), known};
}

class LhsBlocksPacker {
 public:
  /// `usual`: of usual_block() values, and of as many copies as the layout says.
  LhsBlocksPacker(Builder& b, const Layout& layout, ElementType from, bool usual, Value memory)
      : b_(b),
        layout_(layout),
        from_(from),
        by_rows_(!field_of(layout, FieldKind::scales).per_block),
        step_(usual_block(layout)) {
    const auto number = [&](int64_t known, ArgField field) {
      return given(b, usual ? std::optional(known) : std::nullopt, field);
    };
    block_ = number(step_, ArgField::pack_block);
    sum_copies_ = number(repeat_of(layout, FieldKind::sums), ArgField::pack_sum_copies);
    scale_copies_ = number(repeat_of(layout, FieldKind::scales), ArgField::pack_scale_copies);
    const Scratch scratch(b.isa(), layout);
    codes_ = b.add(memory, scratch.codes, "codes");
    tail_ = b.add(memory, scratch.tail, "tail");
    largest_ = b.add(memory, scratch.largest, "largest");
    how_ = {b.add(memory, scratch.how, "how"), Parameters::stride(b.isa(), blocks_at_once)};
    lanes_ = b.add(memory, scratch.lanes, "lanes");
    panel_ = length(b, layout.panel);
    blocks_ = b.op(OpCode::idiv, {b.arg(ArgField::pack_k), block_.value}, {}, "blocks");
    find_places();
    if (has_sums()) {
      const Value rule = b.arg(ArgField::pack_sum_factor);
      factor_ = b.op(OpCode::load_dup, {rule}, {.bits = 32}, "sum_factor");
      base_ = b.op(OpCode::load_dup, {rule}, {.bits = 32, .offset = 4}, "sum_base");
    }
  }

  void pack(const Panel& panel) const {
    Value behind = plus(b_, {panel.to, product(b_, {blocks_, block_bytes_})}, "behind");
    const Value apart = is_apart() ? behind : no_value;
    if (is_apart()) behind = plus(b_, {behind, product(b_, {blocks_, apart_bytes_})}, "behind");
    if (!is_one_row(layout_)) clear(panel, behind);
    for_rows(b_, panel, panel.rows, false, [&](Value r, Value floats) {
      pack_row(r, floats, panel.to, apart);
      write_row_fields(r, behind);
    });
  }

  /// Memory that it needs.
  struct Scratch {
    ScratchParts parts;
    int64_t codes, tail, largest, how, lanes;
    Scratch(const Isa& isa, const Layout& layout)
        : codes(parts.add(longest_step * code_bytes(layout))),
          tail(parts.add(4 * range_step(isa))),
          largest(parts.add(Parameters::stride(isa, blocks_at_once))),
          how(parts.add(Parameters::stride(isa, blocks_at_once) *
                        static_cast<int64_t>(QuantizeParameter::count))),
          lanes(parts.add(isa.vector_bytes.fixed)) {}
  };

 private:
  [[nodiscard]] bool is_apart() const { return has_fields_apart(layout_); }
  [[nodiscard]] bool has_sums() const { return field_index(layout_, FieldKind::sums) >= 0; }
  /// One each, of f16.
  [[nodiscard]] bool has_half_scales() const {
    return field_of(layout_, FieldKind::scales).type == ElementType::f16;
  }
  [[nodiscard]] static bool in_block(const Field& field) {
    return field.kind == FieldKind::data || field.per_block;
  }
  [[nodiscard]] bool is_plain() const { return b_.isa().lanes32() == 1; }

  /// Where a block's fields begin, in bytes from its start, and what all of it takes.
  void find_places() {
    Value at = b_.constant(0);
    for (const Field& field : layout_.fields) {
      if (!in_block(field)) continue;
      const bool data = field.kind == FieldKind::data;
      const bool sums = field.kind == FieldKind::sums;
      (data ? data_ : sums ? sums_ : scales_) = at;
      const Value values = data ? block_.value : sums ? sum_copies_.value : scale_copies_.value;
      const Value each = times(b_, values, data ? code_bytes(layout_) : bits(field.type) / 8);
      if (field.apart) {
        apart_bytes_ = product(b_, {each, panel_});
        continue;
      }
      at = plus(b_, {at, product(b_, {each, panel_})}, "behind_" + std::string(name(field.kind)));
    }
    block_bytes_ = at;
  }

  void clear(const Panel& panel, Value behind) const {
    b_.branch(panel.rows, Compare::not_equal, panel_, [&] {
      const auto fields =
          static_cast<int64_t>(std::count_if(layout_.fields.begin(), layout_.fields.end(),
                                             [](const Field& f) { return !in_block(f); }));
      const Value end = plus(b_, {behind, length(b_, layout_.panel * (4 * fields))});
      b_.op(OpCode::fill_bytes, {panel.to, b_.constant(0), b_.op(OpCode::isub, {end, panel.to})});
    });
  }

  /// `apart`: where the scales of all blocks are, if they stand apart.
  void pack_row(Value r, Value floats, Value to, Value apart) const {
    if (by_rows_) {
      const Value k = b_.arg(ArgField::pack_k);
      quantize_row(b_, {floats, from_}, k, tail_, how_);
      put_blocks(r, floats, to, no_value, blocks_);
      return;
    }
    std::vector<Value> inits = {floats, to, blocks_};
    if (is_apart()) inits.push_back(apart);
    b_.stepped_loop("blocks", blocks_, blocks_at_once, inits, [&](const std::vector<Value>& now) {
      const Value count = smaller(b_, {now[2], b_.constant(blocks_at_once)}, "count");
      find_parameters(now[0], count);
      const std::vector<Value> done =
          put_blocks(r, now[0], now[1], is_apart() ? now[3] : no_value, count);
      std::vector<Value> next = {done[0], done[1], less(b_, {now[2], b_.constant(blocks_at_once)})};
      if (is_apart()) next.push_back(done[3]);
      return next;
    });
  }

  /// Calls body({pointers, carried}) for all values of a block, `step` of them at a time; returns
  /// what it makes of them. Nothing is carried to a body that takes all.
  std::vector<Value> for_block(int64_t step, const std::vector<Value>& pointers,
                               const Builder::Body& body) const {
    if (block_.known == step) return body(pointers);
    std::vector<Value> inits = pointers;
    inits.push_back(b_.op(OpCode::zero));
    return b_.loop("k", over(b_, block_.value, step, "steps"), inits, body);
  }

  [[nodiscard]] Value floats_behind(Value at, int64_t step) const {
    return b_.add(at, step * bits(from_) / 8, "x");
  }

  /// Of `count` blocks, at most blocks_at_once.
  void find_parameters(Value floats, Value count) const {
    const Value magnitude = splat32(b_, 0x7fffffffU, "magnitude");
    const Value infinity = splat32(b_, 0x7f800000U, "infinity");
    const int64_t step = is_plain() ? plain_step : step_;
    // A NaN passes the maximum on AArch64; elsewhere it is infinite before.
    const bool nans_pass = b_.isa().has(OpCode::fmaximum);
    const auto without_nan = [&](Value x) {
      return nans_pass ? x : b_.op(OpCode::fmin, {x, infinity});
    };
    const Combine larger = [&](Value x, Value y) {
      return b_.op(nans_pass ? OpCode::fmaximum : OpCode::fmax, {x, y});
    };
    b_.loop("range", count, {floats, largest_}, [&](const std::vector<Value>& now) {
      const auto done = for_block(step, {now[0]}, [&](const std::vector<Value>& at) {
        std::vector<Value> magnitudes;
        for (const Value x : load_floats(b_, at[0], step / b_.isa().lanes32(), from_)) {
          const Value positive = b_.op(OpCode::and_, {x, magnitude});
          magnitudes.push_back(without_nan(positive));
        }
        if (at.size() > 1) magnitudes.push_back(at[1]);
        return std::vector<Value>{floats_behind(at[0], step), combined(magnitudes, larger)};
      });
      const Value largest = across(b_, done[1], larger);
      b_.op(OpCode::store,
            {now[1], nans_pass ? b_.op(OpCode::fmin, {largest, infinity}) : largest});
      return std::vector<Value>{done[0], b_.add(now[1], 4, "largest")};
    });
    const int64_t bytes = b_.isa().vector_bytes.fixed;
    b_.stepped_loop("parameters", count, b_.isa().lanes32(), {largest_, how_.first},
                    [&](const std::vector<Value>& now) {
                      const Value largest = b_.op(OpCode::load, {now[0]}, {}, "largest");
                      store_block_parameters(b_, {now[1], how_.apart}, largest,
                                             has_half_scales() ? BlockFactor::inverse_of_scale
                                                               : BlockFactor::of_largest);
                      return std::vector<Value>{b_.add(now[0], bytes), b_.add(now[1], bytes)};
                    });
  }

  /// Row r of `count` blocks: codes, and what stands beside them. Returns where floats and blocks
  /// go on, and behind the parameters, which are third, what stands apart.
  std::vector<Value> put_blocks(Value r, Value floats, Value to, Value apart, Value count) const {
    std::vector<Value> inits = {floats, to, how_.first};
    if (is_apart()) inits.push_back(apart);
    return b_.loop("block", count, inits, [&](const std::vector<Value>& now) {
      const Parameters how{now[2], how_.apart};
      const std::vector<Value> done = put_codes_of(r, now[0], plus(b_, {now[1], data_}), how);
      if (has_sums()) put_sum(copy_of(plus(b_, {now[1], sums_}), r, sum_copies_), done[1], how);
      if (!by_rows_) put_scale(is_apart() ? now[3] : plus(b_, {now[1], scales_}), r, how);
      std::vector<Value> next = {done[0], plus(b_, {now[1], block_bytes_}, "to"),
                                 b_.add(now[2], by_rows_ ? 0 : 4, "how")};
      if (is_apart()) next.push_back(plus(b_, {now[3], apart_bytes_}, "apart"));
      return next;
    });
  }

  /// One block's codes. Returns where floats go on, and the codes' sum in all lanes.
  std::vector<Value> put_codes_of(Value r, Value floats, Value to, const Parameters& how) const {
    const Quantizer quantizer(b_, how, layout_.rounding);
    const Combine add = [&](Value x, Value y) { return b_.op(OpCode::add, {x, y}, {.bits = 32}); };
    const bool one_row = is_one_row(layout_);
    const bool fills = step_ % quantize_step(b_.isa(), step_) == 0;
    // Where rows are apart, groups of a whole step are put to their places.
    const int64_t step = is_plain() && one_row ? 1 : step_;
    const int64_t group = layout_.order.kr * code_bytes(layout_);
    const Value place = plus(b_, {to, times(b_, r, group)}, "place");
    const auto done = for_block(step, {floats, place}, [&](const std::vector<Value>& at) {
      std::vector<Value> made;
      for (const Value x : load_floats(b_, at[0], step / b_.isa().lanes32(), from_)) {
        made.push_back(quantizer.code(x));
      }
      store_codes(b_, one_row && fills ? at[1] : codes_, made, layout_.element);
      if (at.size() > 2) made.push_back(at[2]);
      if (!one_row) {
        put_codes(b_, layout_, panel_, at[1], codes_, b_.constant(step), step);
      } else if (!fills) {
        b_.op(OpCode::copy_bytes, {at[1], codes_, b_.constant(step * code_bytes(layout_))});
      }
      const Value bytes = times(b_, panel_, step * code_bytes(layout_));
      const Value next = floats_behind(at[0], step);
      return std::vector<Value>{next, plus(b_, {at[1], bytes}, "place"), combined(made, add)};
    });
    return {done[0], across(b_, done[2], add)};
  }

  [[nodiscard]] Value copy_of(Value at, Value r, const Number& copies) const {
    return plus(b_, {at, times(b_, product(b_, {r, copies.value}), 4)}, "copies");
  }
  [[nodiscard]] bool fill_vectors(const Number& copies) const {
    return copies.known && *copies.known * 4 % b_.isa().vector_bytes.fixed == 0;
  }
  /// The same 32 bits in all lanes.
  void put_vectors(Value to, const Number& copies, Value vector) const {
    for (int64_t i = 0; i < *copies.known * 4; i += b_.isa().vector_bytes.fixed) {
      b_.op(OpCode::store, {to, vector}, {.offset = i});
    }
  }
  /// The 32 bits at `from`.
  void put_copies(Value to, const Number& copies, Value from, int64_t offset) const {
    const Value value = b_.op(OpCode::load_scalar, {from}, {.bits = 32, .offset = offset}, "value");
    const auto put = [&](Value at) { b_.op(OpCode::store_scalar, {at, value}, {.bits = 32}); };
    if (copies.known) {
      for (int64_t i = 0; i < *copies.known; ++i) put(b_.add(to, 4 * i));
      return;
    }
    b_.loop("copy", copies.value, {to}, [&](const std::vector<Value>& at) {
      put(at[0]);
      return std::vector<Value>{b_.add(at[0], 4)};
    });
  }

  /// What a layout keeps of a block's sum of codes.
  [[nodiscard]] Value kept_sum(Value sum, const Parameters& how) const {
    if (!has_real_sums(layout_)) {
      const Value scaled = b_.op(OpCode::mul, {sum, factor_}, {.bits = 32});
      return b_.op(OpCode::add, {scaled, base_}, {.bits = 32}, "kept");
    }
    const Value scale =
        b_.op(OpCode::load_dup, {how.first},
              {.bits = 32, .offset = how.offset(QuantizeParameter::scale)}, "scale");
    return b_.op(OpCode::fmul, {b_.op(OpCode::cvt_i32_f32, {sum}), scale}, {}, "kept");
  }
  void put_sum(Value to, Value sum, const Parameters& how) const {
    const Value kept = kept_sum(sum, how);
    if (fill_vectors(sum_copies_)) return put_vectors(to, sum_copies_, kept);
    b_.op(OpCode::store, {lanes_, kept});
    put_copies(to, sum_copies_, lanes_, 0);
  }
  void put_scale(Value scales, Value r, const Parameters& how) const {
    const int64_t offset = how.offset(QuantizeParameter::scale);
    if (has_half_scales()) {
      const Value lanes =
          b_.op(OpCode::load_dup, {how.first}, {.bits = 32, .offset = offset}, "scale");
      const Length bytes = b_.isa().vector_bytes.divided(2);
      b_.op(OpCode::store, {lanes_, b_.op(OpCode::cvt_f32_f16, {lanes}, {.bytes = bytes})});
      const Value half = b_.op(OpCode::load_scalar, {lanes_}, {.bits = 16}, "scale");
      b_.op(OpCode::store_scalar, {plus(b_, {scales, times(b_, r, 2)}, "to"), half}, {.bits = 16});
      return;
    }
    const Value to = copy_of(scales, r, scale_copies_);
    if (!fill_vectors(scale_copies_)) return put_copies(to, scale_copies_, how.first, offset);
    const Value scale =
        b_.op(OpCode::load_dup, {how.first}, {.bits = 32, .offset = offset}, "scale");
    put_vectors(to, scale_copies_, scale);
  }

  /// What stands behind the blocks, if rows are quantized as a whole.
  void write_row_fields(Value r, Value behind) const {
    Value at = plus(b_, {behind, times(b_, r, 4)}, "field");
    for (const Field& field : layout_.fields) {
      if (in_block(field)) continue;
      b_.op(OpCode::store_scalar, {at, kept_parameter(b_, how_, field.kind)}, {.bits = 32});
      at = plus(b_, {at, length(b_, layout_.panel * 4)}, "field");
    }
  }

  Builder& b_;
  const Layout& layout_;
  const ElementType from_;
  const bool by_rows_;
  int64_t step_;  ///< values of k at a time
  Number block_, sum_copies_, scale_copies_;
  Parameters how_{no_value, 0};
  Value codes_, tail_, largest_, lanes_, panel_, blocks_;
  Value data_ = no_value, sums_ = no_value, scales_ = no_value, block_bytes_ = no_value;
  Value apart_bytes_ = no_value;
  Value factor_ = no_value, base_ = no_value;
};

}  // namespace

void lower_pack_lhs_blocks(Builder& b, const Layout& layout, ElementType from) {
  const Value memory = b.scratch(LhsBlocksPacker::Scratch(b.isa(), layout).parts.bytes());
  const auto differs = [&](ArgField field, int64_t usual) {
    return b.op(OpCode::isub, {b.arg(field), b.constant(usual)});
  };
  const Value block = differs(ArgField::pack_block, usual_block(layout));
  const Value sums = differs(ArgField::pack_sum_copies, repeat_of(layout, FieldKind::sums));
  const Value scales = differs(ArgField::pack_scale_copies, repeat_of(layout, FieldKind::scales));
  const Value one = b.constant(1);
  const Value copies = choose(b, {sums, one, scales}, "unusual_copies");
  const Value unusual = choose(b, {block, one, copies}, "unusual");
  const auto pack = [&](bool usual) {
    const LhsBlocksPacker packer(b, layout, from, usual, memory);
    for_panels(b, layout, [&](const Panel& panel) { packer.pack(panel); });
  };
  b.branch(
      unusual, Compare::equal, b.constant(0), [&] { pack(true); }, [&] { pack(false); });
}

}  // namespace tw
