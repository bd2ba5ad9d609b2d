// Depthwise convolutions, a line of outputs: tiles of neighboring pixels by channels in lanes, so
// that what several outputs of a tile lie on is loaded once. Pixels are read through a table of
// pointers, [line][column] of the padded input: one kernel serves any padding, and a pointer is
// loaded once for all vectors of a tile's channels.
//   out[p][c] = clamp(bias[c] + sum over taps of input[p * stride + tap][c] * weight[tap][c])
#include <fmt/format.h>

#include "lower/lower.h"
#include "lower/output.h"
#include "lower/widen.h"
#include "model/depthwise.h"
#include "model/reject.h"

namespace tw {
namespace {

void check_depthwise_tile(const Variant& v) {
  if (v.tile.m.is_fixed() && ratio(v.tile.n, v.rhs.panel) >= 1) return;
  reject(
      "tile {}x{} does not fit depthwise convolutions on {}: any number of pixels by whole "
      "vectors, multiples of {} channels, do",
      to_string(v.tile.m), to_string(v.tile.n), v.isa->name, to_string(v.rhs.panel));
}

/// Weights are in the lower registers, beside the limits; outputs that are not done have tiles.
void check_lines(const Variant& v) {
  constexpr int64_t tiles = 4;
  constexpr int64_t most_taps = 14;
  const int64_t most_columns = tiles / (bits(v.rhs.element) == 16 ? 2 : 1) + 1;
  const Window& window = v.window;
  if (v.tile.m == Length{depthwise_lines} && v.tile.n == v.rhs.panel && window.stride == 1 &&
      window.width > 1 && window.width <= most_columns &&
      window.height * window.width <= most_taps) {
    return;
  }
  reject(
      "tile {}x{} with {}x{} taps, stride {}, does not fit depthwise convolutions of {} on {} in "
      "KleidiAI's layout: {} lines by a panel's {} channels, 2 to {} columns of taps, at most {} "
      "taps, and stride 1 do",
      to_string(v.tile.m), to_string(v.tile.n), window.height, window.width, window.stride,
      v.family.lhs->name, v.isa->name, depthwise_lines, to_string(v.rhs.panel), most_columns,
      most_taps);
}

class DepthwiseWriter {
 public:
  explicit DepthwiseWriter(const Variant& v)
      : v_(v),
        b_(v.code_name(), *v.isa),
        vectors_(ratio(v.tile.n, v.isa->vector_bytes.divided(4))),
        panels_(ratio(v.tile.n, v.rhs.panel)),
        pixels_(v.tile.m.fixed) {}

  Program write() {
    const Value first = b_.op(OpCode::constant, {}, {.imm = 0}, "column_bytes");
    const Value n = b_.arg(ArgField::n);
    const Value rhs = b_.arg(ArgField::rhs);
    b_.stepped_loop("n", n, v_.tile.n, {n, first, rhs}, [&](const std::vector<Value>& p) {
      channels(p[0], p[1], p[2]);
      const Value done = b_.op(OpCode::length, {}, {.offset = v_.tile.n});
      const Value panels =
          b_.op(OpCode::imul, {b_.arg(ArgField::rhs_stride), b_.constant(panels_)});
      return std::vector{b_.op(OpCode::isub_sat, {p[0], done}), b_.add(p[1], v_.tile.n * 4),
                         b_.op(OpCode::iadd, {p[2], panels})};
    });
    return b_.finish();
  }

 private:
  /// What all pixels of a tile's channels share.
  struct Channels {
    const Tile1& t;
    const OutputStage& output;
    Value pixel_bytes = no_value;   ///< from a pixel's first channel to these
    std::vector<Value> bias;        ///< vectors of these
    std::vector<Value> scales;      ///< likewise, of codes
    std::vector<Value> exist = {};  ///< predicates at the edge, if there are any
    Value last = no_value;          ///< else the last channel there
    bool whole = true;              ///< all channels exist
  };

  [[nodiscard]] bool is_real() const { return is_float(*v_.family.lhs); }
  [[nodiscard]] ElementType type() const { return v_.family.lhs->element; }
  [[nodiscard]] Length taps() const { return v_.window.height * v_.window.width; }

  void channels(Value left, Value column_bytes, Value rhs) {
    Tile1 t{b_,       v_,   {},       {},          b_.op(OpCode::length, {}, {.offset = taps()}),
            no_value, left, no_value, column_bytes};
    t.rhs = {
        &v_.rhs,
        clamped_pointers(b_, rhs, b_.arg(ArgField::rhs_stride), left, v_.rhs.panel, panels_, "rhs"),
        no_value, vectors_ / panels_};
    t.dst =
        b_.op(OpCode::iadd, {b_.arg(ArgField::dst), bytes_before(b_, v_.family.dst, column_bytes)},
              {}, "dst", Role::address);
    const OutputStage output(t);
    Channels c{t, output, bytes_before(b_, type(), column_bytes), {}, {}};
    if (!is_real())
      c.scales = load_columns(t, field_pointers(t, t.rhs, FieldKind::scales), "scale");
    const std::vector<Place> biases = bias_places(t, field_pointers(t, t.rhs, FieldKind::bias));
    // One lane is never at an edge.
    if (v_.tile.n == Length{1}) return all_channels(c, biases, true);
    const Value whole = b_.op(OpCode::length, {}, {.offset = v_.tile.n});
    b_.branch(
        left, Compare::at_least, whole, [&] { all_channels(c, biases, true); },
        [&] { all_channels(c, biases, false); });
  }

  void all_pixels(const Channels& c) {
    if (pixels_ == 1) return single_pixels(c);
    const Value least = b_.constant(pixels_);
    b_.branch(
        b_.arg(ArgField::m), Compare::at_least, least, [&] { tiles(c); },
        [&] { single_pixels(c); });
  }

  void all_channels(Channels c, const std::vector<Place>& biases, bool whole) {
    const Tile1& t = c.t;
    c.whole = whole;
    if (!whole && c.output.has_masks()) {
      c.exist = column_predicates(t);
    } else if (!whole) {
      c.last = b_.op(OpCode::isub, {t.n_left, b_.constant(1)});
    }
    for (int64_t j = 0; j < vectors_; ++j) {
      const Place& at = biases[static_cast<size_t>(j)];
      c.bias.push_back(whole             ? load_bias(t, at)
                       : c.exist.empty() ? load_bias_lanes(t, biases, c.last, j)
                                         : load_bias(t, at, c.exist[static_cast<size_t>(j)]));
    }
    // The longer vectors are, the more channels lie at an edge.
    whole || !v_.isa->vector_bytes.is_fixed() ? all_pixels(c) : single_pixels(c);
  }

  // ---- tiles of pixels ----

  /// The last tile ends where the line does: pixels that the one before it has made are made again.
  void tiles(const Channels& c) {
    const Value m = b_.arg(ArgField::m);
    const int64_t step = pixels_ * v_.window.stride * pointer_bytes;
    const Value before_last = b_.op(OpCode::isub, {m, b_.constant(pixels_)});
    const Value last_in =
        b_.op(OpCode::imul, {before_last, b_.constant(v_.window.stride * pointer_bytes)});
    const Value last_out = b_.op(OpCode::imul, {before_last, b_.arg(ArgField::dst_stride)});
    const Value tile_bytes =
        b_.op(OpCode::imul, {b_.arg(ArgField::dst_stride), b_.constant(pixels_)});
    const Value count =
        b_.op(OpCode::idiv, {b_.add(m, pixels_ - 1), b_.constant(pixels_)}, {}, "tiles");
    const int64_t macs = pixels_ * v_.tile.n.at({}) * taps().fixed;
    const std::vector<Value> first = {b_.constant(0), b_.constant(0)};
    const auto body = [&](const std::vector<Value>& p) {
      const Value out = b_.op(OpCode::imin, {p[1], last_out});
      tile(c, b_.op(OpCode::imin, {p[0], last_in}), out);
      return std::vector{b_.add(p[0], step), b_.op(OpCode::iadd, {p[1], tile_bytes})};
    };
    c.whole ? b_.hot_loop("pixels", count, first, macs, body)
            : b_.loop("pixels_edge", count, first, body);
  }

  /// `in`: bytes in a line of the table, `out`: of outputs, in front of its first pixel.
  void tile(const Channels& c, Value in, Value out) {
    Rows sums(static_cast<size_t>(pixels_), c.bias);
    const Value first = b_.op(OpCode::iadd, {b_.arg(ArgField::lhs), in}, {}, "line", Role::address);
    add_lines(c, sums, first);
    Value row = b_.op(OpCode::iadd, {c.t.dst, out}, {}, "dst", Role::address);
    for (size_t p = 0; p < sums.size(); ++p) {
      if (p > 0)
        row = b_.op(OpCode::iadd, {row, b_.arg(ArgField::dst_stride)}, {}, "dst", Role::address);
      store(c, row, sums[p]);
    }
  }

  void add_lines(const Channels& c, Rows& sums, Value line) {
    for (int64_t y = 0; y < v_.window.height; ++y) {
      if (y > 0) line = next_line(line);
      const Rows weights = line_of_taps(c, y);
      for (int64_t x = 0; x < columns_of(v_.window, pixels_); ++x) {
        add_column(c, sums, weights, x, pixel(c, line, x * pointer_bytes));
      }
    }
  }

  /// Weights of a line of the window, by column and vector.
  Rows line_of_taps(const Channels& c, int64_t y) {
    Rows weights(static_cast<size_t>(v_.window.width));
    for (int64_t x = 0; x < v_.window.width; ++x) {
      for (int64_t j = 0; j < vectors_; ++j) {
        const Value panel = c.t.rhs.base[static_cast<size_t>(j / c.t.rhs.rows)];
        weights[static_cast<size_t>(x)].push_back(
            load_tap(panel, code_offset(v_.rhs, 0, y * v_.window.width + x) + in_panel(c, j)));
      }
    }
    return weights;
  }

  /// The pixel in column x of the tile's, times the taps that lie on it.
  void add_column(const Channels& c, Rows& sums, const Rows& weights, int64_t x, Value at) {
    for (int64_t j = 0; j < vectors_; ++j) {
      const Value value = load_pixel(c, at, j);
      for (int64_t p = 0; p < pixels_; ++p) {
        const int64_t tap = x - p * v_.window.stride;
        if (tap < 0 || tap >= v_.window.width) continue;
        Value& sum = sums[static_cast<size_t>(p)][static_cast<size_t>(j)];
        sum = multiply(c, value, weights[static_cast<size_t>(tap)][static_cast<size_t>(j)], sum);
      }
    }
  }

  // ---- pixels one by one ----

  void single_pixels(const Channels& c) {
    const int64_t step = v_.window.stride * pointer_bytes;
    const Value lhs = b_.arg(ArgField::lhs);
    b_.loop("pixel", b_.arg(ArgField::m), {lhs, c.t.dst}, [&](const std::vector<Value>& p) {
      store(c, p[1], single_pixel(c, p[0]));
      return std::vector{b_.add(p[0], step),
                         b_.op(OpCode::iadd, {p[1], b_.arg(ArgField::dst_stride)})};
    });
  }

  /// Its sums. Carried: lines of the table, the tap's weights in each panel, the sums.
  std::vector<Value> single_pixel(const Channels& c, Value table) {
    std::vector<Value> carried = {table};
    carried.insert(carried.end(), c.t.rhs.base.begin(), c.t.rhs.base.end());
    carried.insert(carried.end(), c.bias.begin(), c.bias.end());
    const auto line = [&](const std::vector<Value>& p) {
      std::vector<Value> after =
          b_.loop("tap_x", b_.constant(v_.window.width), p,
                  [&](std::vector<Value> q) { return single_tap(c, std::move(q)); });
      after[0] = next_line(p[0]);
      return after;
    };
    carried = b_.loop("tap_y", b_.constant(v_.window.height), carried, line);
    return {carried.end() - vectors_, carried.end()};
  }

  std::vector<Value> single_tap(const Channels& c, std::vector<Value> carried) {
    const Value at = pixel(c, carried[0], 0);
    carried[0] = b_.add(carried[0], pointer_bytes);
    for (int64_t j = 0; j < vectors_; ++j) {
      Value& weights = carried[static_cast<size_t>(1 + j / c.t.rhs.rows)];
      Value& sum = carried[static_cast<size_t>(1 + panels_ + j)];
      const Value tap = load_tap(weights, code_offset(v_.rhs, 0, 0) + in_panel(c, j));
      sum = multiply(c, load_pixel(c, at, j), tap, sum);
      const bool last = (j + 1) % c.t.rhs.rows == 0;  // of its panel
      if (last) weights = b_.add(weights, step_bytes(v_.rhs, 1));
    }
    return carried;
  }

  // ---- what both do ----

  Value next_line(Value line) {
    return b_.op(OpCode::iadd, {line, b_.arg(ArgField::lhs_stride)}, {}, "line", Role::address);
  }

  /// Where the channels of the pixel are whose pointer stands so far behind `table`.
  Value pixel(const Channels& c, Value table, int64_t offset) {
    const Value pointer = b_.op(OpCode::load_pointer, {table}, {.offset = offset}, "pixel");
    return b_.op(OpCode::iadd, {pointer, c.pixel_bytes}, {}, "at", Role::address);
  }

  Value load_pixel(const Channels& c, Value at, int64_t j) {
    const Length bytes = lanes_bytes(b_.isa(), type());
    const std::string name = fmt::format("x_{}", j);
    const auto loaded = [&] {
      if (!c.whole && c.exist.empty()) {
        return load_lanes(c.t, c.last, at, {at, bytes * j}, j, bits(type()), name);
      }
      const Builder::With with{
          .bits = c.whole ? 0 : bits(type()), .offset = bytes * j, .bytes = bytes};
      if (c.whole) return b_.op(OpCode::load, {at}, with, name, Role::operand);
      return b_.op(OpCode::load_pred, {c.exist[static_cast<size_t>(j)], at}, with, name,
                   Role::operand);
    };
    return widened(b_, loaded(), type(), name, Role::operand);
  }

  /// From a panel's first channels to those of vector j.
  [[nodiscard]] Length in_panel(const Channels& c, int64_t j) const {
    return lanes_bytes(b_.isa(), v_.rhs.element) * (j % c.t.rhs.rows);
  }

  /// A vector of a tap's weights.
  Value load_tap(Value at, Length offset) {
    const Length bytes = lanes_bytes(b_.isa(), v_.rhs.element);
    const Value raw =
        b_.op(OpCode::load, {at}, {.offset = offset, .bytes = bytes}, "w", Role::operand);
    return widened(b_, raw, v_.rhs.element, "w", Role::operand);
  }

  Value multiply(const Channels& c, Value x, Value weights, Value sum) {
    return is_real() ? multiply_add(c.t, weights, x, sum)
                     : add_product(c.t, sum, x, weights, "acc");
  }

  /// A pixel's outputs.
  void store(const Channels& c, Value row, const std::vector<Value>& sums) {
    std::vector<Value> outs;
    for (int64_t j = 0; j < vectors_; ++j) {
      const auto at = static_cast<size_t>(j);
      Factors by;
      if (!is_real()) by.column = c.scales[at];
      const Value out = c.output.finish(c.output.scaled(sums[at], by, no_value), "out");
      outs.push_back(out);
      const bool whole = c.exist.empty();
      if (c.last == no_value) c.output.store(whole ? no_value : c.exist[at], row, j, out);
    }
    if (c.last == no_value) return;
    for (int64_t column = 0; column + 1 < v_.tile.n.fixed; ++column) {
      b_.branch(c.t.n_left, Compare::at_least, b_.constant(column + 1), [&] {
        c.output.store_one(row, column, outs[static_cast<size_t>(column / c.t.lanes().fixed)]);
      });
    }
  }

  const Variant& v_;
  Builder b_;
  int64_t vectors_, panels_, pixels_;
};

}  // namespace

Program lower_depthwise(const Variant& variant) {
  if (makes_lines(variant)) {
    check_lines(variant);
    return lower_depthwise_lines(variant);
  }
  check_depthwise_tile(variant);
  return DepthwiseWriter(variant).write();
}

}  // namespace tw
