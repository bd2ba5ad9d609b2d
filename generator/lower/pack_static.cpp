// Columns of weights for static activations: what depends on these, and on the outputs, is packed.
#include "lower/pack_rhs.h"

namespace tw {
namespace {

/// The sums of the columns that exist are replaced by bias - zero point * sum; `bias`: of these
/// columns, or none.
void finish_biases(Builder& b, Value sums, Value columns, Value zero_point, Value bias) {
  std::vector<Value> inits = {sums};
  if (bias != no_value) inits.push_back(bias);
  b.loop("column", columns, inits, [&](const std::vector<Value>& at) {
    const auto load = [&](Value from, const char* name) {
      return b.op(OpCode::load_scalar, {from}, {.bits = 32}, name);
    };
    const Value term = product(b, {load(at[0], "sum"), zero_point}, "term");
    const Value given = bias == no_value ? b.constant(0) : load(at[1], "given");
    b.op(OpCode::store_scalar, {at[0], b.op(OpCode::isub, {given, term})}, {.bits = 32});
    std::vector<Value> next;
    for (const Value each : at) next.push_back(b.add(each, 4));
    return next;
  });
}

}  // namespace

void finish_columns(Builder& b, const Layout& layout) {
  const Value numbers = b.arg(ArgField::pack_lhs_zero_point);
  const Value zero_point = b.op(OpCode::load_scalar, {numbers}, {.bits = 32}, "zero_point");
  const auto scale = [&](int64_t offset, const char* name) {
    return b.op(OpCode::load_dup, {numbers}, {.bits = 32, .offset = offset}, name);
  };
  const Value lhs_scale = scale(4, "lhs_scale");
  const Value dst_scale = scale(8, "dst_scale");
  const Value bias = b.arg(ArgField::pack_bias);
  const Value padded = padded_k(b, layout);
  const Value vectors = over(b, length(b, layout.panel), b.isa().lanes32(), "vectors");
  for_panels(b, layout, [&](const Panel& panel) {
    const PanelPlaces places = panel_places(b, layout, padded, panel.to);
    const auto finish = [&](Value from) {
      finish_biases(b, places.sums, panel.rows, zero_point, from);
    };
    b.branch(
        bias, Compare::not_equal, b.constant(0),
        [&] {
          finish(plus(b, {bias, times(b, panel.row, 4)}, "bias"));
        },
        [&] { finish(no_value); });
    b.loop("scale", vectors, {places.scales}, [&](const std::vector<Value>& at) {
      const Value given = b.op(OpCode::load, {at[0]}, {}, "scale");
      const Value real = b.op(OpCode::fmul, {lhs_scale, given}, {}, "real");
      b.op(OpCode::store, {at[0], b.op(OpCode::fdiv, {real, dst_scale})});
      return std::vector<Value>{b.add(at[0], b.isa().vector_bytes, "scale")};
    });
  });
}

}  // namespace tw
