// Rows of floats, each with a scale and a zero point of its own, or of codes, to panels of rows.
#include "lower/pack_lhs.h"

#include <algorithm>
#include <optional>

namespace tw {
namespace {

/// One group of kr codes; of 16 bits, the even ones first.
void put_group(Builder& b, const Layout& layout, Value to, Value codes) {
  const int kr = layout.order.kr;
  if (!layout.order.even_first) {
    b.op(OpCode::copy_bytes, {to, codes, b.constant(kr * code_bytes(layout))});
    return;
  }
  const int width = bits(layout.element);
  for (int64_t i = 0; i < kr; ++i) {
    const int64_t place = i % 2 * (kr / 2) + i / 2;
    const Value code =
        b.op(OpCode::load_scalar, {codes}, {.bits = width, .offset = i * width / 8}, "code");
    b.op(OpCode::store_scalar, {to, code}, {.bits = width, .offset = place * width / 8});
  }
}

/// What the layout keeps of a sum of codes, as the packer's caller wants it.
Value kept_sum(Builder& b, Value sum) {
  const Value rule = b.arg(ArgField::pack_sum_factor);
  const Value factor = b.op(OpCode::load_scalar, {rule}, {.bits = 32}, "factor");
  const Value base = b.op(OpCode::load_scalar, {rule}, {.bits = 32, .offset = 4}, "base");
  return plus(b, {product(b, {sum, factor}), base}, "kept");
}

class LhsRowsPacker {
 public:
  LhsRowsPacker(Builder& b, const Layout& layout, ElementType from)
      : b_(b),
        layout_(layout),
        from_(from),
        repeats_(layout.edge == Edge::last),
        one_row_(is_one_row(layout)),
        chunk_(std::max<int64_t>(256, layout.k_multiple)),
        step_(quantize_step(b.isa(), chunk_)) {
    ScratchParts parts;
    const int64_t most = most_rows(layout);
    apart_ = Parameters::stride(b.isa(), most);
    const int64_t codes = parts.add((one_row_ ? step_ : chunk_ + step_) * code_bytes(layout));
    const int64_t tail = parts.add(4 * std::max(step_, range_step(b.isa())));
    const int64_t how = parts.add(apart_ * static_cast<int64_t>(QuantizeParameter::count));
    const int64_t sums = parts.add(4 * most + b.isa().vector_bytes.fixed);
    const Value memory = b.scratch(parts.bytes());
    codes_ = b.add(memory, codes, "codes");
    tail_ = b.add(memory, tail, "tail");
    how_ = b.add(memory, how, "how");
    sums_ = b.add(memory, sums, "sums");
    lanes_ = b.add(memory, sums + 4 * most, "lanes");
    k_ = b.arg(ArgField::pack_k);
    padded_ = padded_k(b, layout);
    panel_ = length(b, layout.panel);
  }

  void pack(const Panel& panel) const {
    const Value rows = repeats_ ? panel_ : panel.rows;
    if (!repeats_ && !one_row_) clear(panel);
    for_rows(b_, panel, rows, repeats_, [&](Value r, Value floats) {
      if (!is_coded()) quantize_row(b_, {floats, from_}, k_, tail_, how(r));
      b_.op(OpCode::store_scalar, {of_row(sums_, r), b_.constant(0)}, {.bits = 32});
    });
    if (one_row_) {
      for_rows(b_, panel, rows, repeats_, [&](Value r, Value floats) {
        put(r, {floats, from_}, k_, panel.to);
      });
    } else {
      b_.stepped_loop("chunk", padded_, chunk_, {number(b_, 0, "first_k")}, [&](const auto& now) {
        put_chunk(panel, rows, now[0]);
        return std::vector<Value>{b_.add(now[0], chunk_, "first_k")};
      });
    }
    write_fields(panel, rows);
  }

 private:
  void clear(const Panel& panel) const {
    b_.branch(panel.rows, Compare::not_equal, panel_, [&] {
      Value fields = b_.constant(0);
      for (const Field& field : layout_.fields) {
        if (field.kind != FieldKind::data) fields = plus(b_, {fields, copies(field)});
      }
      const Value codes = codes_bytes(b_, layout_, padded_);
      const Value bytes = plus(b_, {codes, times(b_, product(b_, {panel_, fields}), 4)}, "bytes");
      b_.op(OpCode::fill_bytes, {panel.to, b_.constant(0), bytes});
    });
  }

  /// The rows are codes already.
  [[nodiscard]] bool is_coded() const { return from_ == ElementType::i8; }

  /// How often a field's values stand there: layouts that keep no sums have none in this place.
  [[nodiscard]] Value copies(const Field& field) const {
    const bool sums = field.kind == FieldKind::sums;
    return sums ? b_.arg(ArgField::pack_sum_copies) : b_.constant(1);
  }

  [[nodiscard]] Value of_row(Value array, Value r, const char* name = "at") const {
    return plus(b_, {array, times(b_, r, 4)}, name);
  }
  [[nodiscard]] Parameters how(Value r) const { return {of_row(how_, r, "how_at"), apart_}; }
  [[nodiscard]] int64_t offset(QuantizeParameter which) const {
    return Parameters{how_, apart_}.offset(which);
  }

  void put_chunk(const Panel& panel, Value rows, Value first_k) const {
    const Value count =
        smaller(b_, {less(b_, {k_, first_k}, "left"), b_.constant(chunk_)}, "count");
    const Value begin = plus(b_, {panel.to, codes_bytes(b_, layout_, first_k)}, "begin");
    for_rows(b_, panel, rows, repeats_, [&](Value r, Value floats) {
      const Floats row{floats, from_};
      const Value first = plus(b_, {floats, times(b_, first_k, row.bytes(1))}, "floats");
      put(r, {first, from_}, count, codes_);
      const Value padded = rounded_up(b_, count, layout_.k_multiple, "padded");
      const Value to =
          plus(b_, {begin, times(b_, r, layout_.order.kr * code_bytes(layout_))}, "to");
      put_codes(b_, layout_, panel_, to, codes_, padded, layout_.k_multiple);
    });
  }

  /// Codes of `count` floats of row r, and what pads them; adds to their sum. `to` is the place in
  /// the panel if it has only this row, or codes_.
  void put(Value r, const Floats& floats, Value count, Value to) const {
    std::optional<Quantizer> quantizer;
    if (!is_coded()) quantizer.emplace(b_, how(r), layout_.rounding);
    const auto vectors = static_cast<size_t>(step_ / b_.isa().lanes32());
    const int64_t bytes = step_ * code_bytes(layout_);
    const Value whole =
        times(b_, over(b_, count, step_, "whole_steps"), step_ * code_bytes(layout_), "whole");
    const Value behind = plus(b_, {to, whole}, "behind");
    const Steps codes{to, one_row_ ? codes_ : behind, bytes};
    const std::vector<Value> zeros(vectors, b_.op(OpCode::zero));
    const std::vector<Value> sums = for_steps(
        b_, count, step_, {float_steps(b_, floats, count, step_, tail_), codes}, zeros,
        [&](const std::vector<Value>& now) {
          std::vector<Value> made;
          for (const Value x : load_floats(b_, now[0], static_cast<int64_t>(vectors), from_)) {
            made.push_back(quantizer ? quantizer->code(x) : x);
          }
          store_codes(b_, now[1], made, layout_.element);
          for (size_t i = 0; i < vectors; ++i) {
            made[i] = b_.op(OpCode::add, {now[2 + i], made[i]}, {.bits = 32}, "sum");
          }
          return made;
        });
    const Value end = plus(b_, {to, times(b_, count, code_bytes(layout_))}, "end");
    if (one_row_) {
      b_.op(OpCode::copy_bytes, {behind, codes_, b_.op(OpCode::isub, {end, behind})});
    }
    pad(end, count);
    if (field_index(layout_, FieldKind::sums) >= 0) add_sum(r, count, sums);
  }

  void pad(Value end, Value count) const {
    const Value padded = rounded_up(b_, count, layout_.k_multiple, "padded");
    const Value bytes = times(b_, b_.op(OpCode::isub, {padded, count}), code_bytes(layout_));
    if (!repeats_) {
      b_.op(OpCode::fill_bytes, {end, b_.constant(0), bytes});
      return;
    }
    b_.branch(
        bytes, Compare::not_equal, b_.constant(0), [&] {  // where k is 0, there is no last code
          const Value code = b_.op(OpCode::load_scalar, {end}, {.bits = 8, .offset = -1}, "last");
          b_.op(OpCode::fill_bytes, {end, code, bytes});
        });
  }

  void add_sum(Value r, Value count, const std::vector<Value>& sums) const {
    const Combine add = [&](Value x, Value y) { return b_.op(OpCode::add, {x, y}, {.bits = 32}); };
    b_.op(OpCode::store, {lanes_, across(b_, combined(sums, add), add)});
    const Value sum = b_.op(OpCode::load_scalar, {lanes_}, {.bits = 32}, "sum");
    const Value zeros = is_coded() ? b_.constant(0) : zeros_in_sum(r, count);
    const Value at = of_row(sums_, r, "sum_at");
    const Value before = b_.op(OpCode::load_scalar, {at}, {.bits = 32}, "before");
    const Value more = b_.op(OpCode::isub, {sum, zeros});
    b_.op(OpCode::store_scalar, {at, plus(b_, {before, more})}, {.bits = 32});
  }

  /// The zeros behind the last floats have codes, too.
  [[nodiscard]] Value zeros_in_sum(Value r, Value count) const {
    const Value done = rounded_up(b_, count, step_, "done");
    const Value zero_point =
        b_.op(OpCode::load_scalar, {of_row(how_, r)},
              {.bits = 32, .offset = offset(QuantizeParameter::zero_point)}, "zero_point");
    return product(b_, {b_.op(OpCode::isub, {done, count}), zero_point});
  }

  /// What stands behind the codes.
  void write_fields(const Panel& panel, Value rows) const {
    Value at = plus(b_, {panel.to, codes_bytes(b_, layout_, padded_)}, "fields");
    for (const Field& field : layout_.fields) {
      if (field.kind == FieldKind::data) continue;
      const Value times = copies(field);
      b_.loop("field", product(b_, {rows, times}, "values"), {number(b_, 0, "r")},
              [&](const std::vector<Value>& now) {
                const Value value = value_of(field.kind, now[0]);
                b_.op(OpCode::store_scalar, {of_row(at, now[0]), value}, {.bits = 32});
                return std::vector<Value>{b_.add(now[0], 1, "r")};
              });
      if (&field == &layout_.fields.back()) break;
      at = plus(b_, {at, product(b_, {length(b_, layout_.panel * 4), times})}, "next");
    }
  }
  [[nodiscard]] Value value_of(FieldKind kind, Value r) const {
    if (kind != FieldKind::sums) return is_coded() ? given(kind) : kept_parameter(b_, how(r), kind);
    return kept_sum(b_, b_.op(OpCode::load_scalar, {of_row(sums_, r)}, {.bits = 32}, "sum"));
  }
  /// What codes mean, the same in all rows.
  [[nodiscard]] Value given(FieldKind kind) const {
    const Value numbers = b_.arg(ArgField::pack_lhs_zero_point);
    const bool scale = kind == FieldKind::scales;
    const Value value =
        b_.op(OpCode::load_scalar, {numbers}, {.bits = 32, .offset = scale ? 4 : 0}, "given");
    return scale ? value : b_.op(OpCode::isub, {b_.constant(0), value});
  }

  Builder& b_;
  const Layout& layout_;
  const ElementType from_;
  const bool repeats_, one_row_;
  const int64_t chunk_;  ///< values of k that are quantized before they are put to their places
  const int64_t step_;
  int64_t apart_ = 0;
  Value codes_, tail_, how_, sums_, lanes_, k_, padded_, panel_;
};

}  // namespace

void put_codes(Builder& b, const Layout& layout, Value panel, Value to, Value codes, Value count,
               int64_t at_once) {
  const int64_t together = std::min<int64_t>(4, at_once / layout.order.kr);
  const int64_t group = layout.order.kr * code_bytes(layout);
  const Value stride = times(b, panel, group, "stride");
  const Value steps = over(b, count, together * layout.order.kr, "steps");
  b.loop("group", steps, {to, codes}, [&](const std::vector<Value>& now) {
    Value at = now[0];
    for (int64_t i = 0; i < together; ++i) {
      put_group(b, layout, at, b.add(now[1], i * group));
      at = plus(b, {at, stride}, "to");
    }
    return std::vector<Value>{at, b.add(now[1], together * group, "codes")};
  });
}

void for_rows(Builder& b, const Panel& panel, Value rows, bool repeats,
              const std::function<void(Value r, Value floats)>& body) {
  const Value source = b.arg(ArgField::pack_source);
  const Value stride = b.arg(ArgField::pack_source_stride);
  b.loop("row", rows, {number(b, 0, "r")}, [&](const std::vector<Value>& now) {
    const Value from = repeats ? smaller(b, {now[0], b.add(panel.rows, -1)}) : now[0];
    const Value row = plus(b, {panel.row, from});
    body(now[0], plus(b, {source, product(b, {row, stride})}, "floats"));
    return std::vector<Value>{b.add(now[0], 1, "r")};
  });
}

Program lower_quantizing_packer(const std::string& name, const Layout& layout, ElementType from,
                                const Isa& isa) {
  Builder b(name, isa);
  layout.block != 0 ? lower_pack_lhs_blocks(b, layout, from) : lower_pack_lhs_rows(b, layout, from);
  return b.finish();
}

void lower_pack_lhs_rows(Builder& b, const Layout& layout, ElementType from) {
  const LhsRowsPacker packer(b, layout, from);
  for_panels(b, layout, [&](const Panel& panel) { packer.pack(panel); });
}

}  // namespace tw
