// Depthwise convolutions of stride 1, four lines of outputs at a time, with sums in accumulator
// tiles: an instruction adds a weight times the pixels of four lines, one below the other, to the
// sums of four outputs. A column of pixels is loaded once, into registers one after the other, so
// that any four of them make a list. The outputs that it is the last column of leave their tile,
// those that it is the first one of begin there: tiles are one fewer than columns of the window.
// Sums of f16 lie in two tiles, those of even and of odd channels.

#include <algorithm>
#include <array>

#include "lower/lower.h"
#include "lower/tile.h"
#include "model/depthwise.h"

namespace tw {
namespace {

using FourLines = std::array<Value, depthwise_lines>;

class LinesWriter {
 public:
  explicit LinesWriter(const Variant& v)
      : v_(v),
        b_(v.code_name(), *v.isa),
        halves_(bits(v.rhs.element) == 16),
        bytes_(bits(v.rhs.element) / 8),
        pixels_(depthwise_lines + v.window.height - 1),
        tiles_(v.window.width - 1),
        together_(tiles_ * std::max<int64_t>(1, most_together / tiles_)) {}

  Program write() {
    first_ = b_.constant(0);
    for (int64_t i = 0; halves_ && i < depthwise_lines; ++i) {
      rows_[static_cast<size_t>(i)] =
          i == 0 ? b_.constant(0)
                 : b_.op(OpCode::length, {}, {.offset = v_.isa->tile_rows() * i}, "row");
    }
    const Value n = b_.arg(ArgField::n);
    const Value bytes = b_.op(OpCode::constant, {}, {.imm = 0}, "channel_bytes");
    const Value rhs = b_.arg(ArgField::rhs);
    b_.stepped_loop("n", n, v_.tile.n, {n, bytes, rhs}, [&](const std::vector<Value>& p) {
      channels(channels_of(p[0], p[1], p[2]));
      const Value done = b_.op(OpCode::length, {}, {.offset = v_.tile.n});
      return std::vector{b_.op(OpCode::isub_sat, {p[0], done}), b_.add(p[1], v_.tile.n * bytes_),
                         b_.op(OpCode::iadd, {p[2], b_.arg(ArgField::rhs_stride)})};
    });
    return b_.finish();
  }

 private:
  static constexpr int64_t most_together = 4;  ///< columns in an iteration

  /// What all outputs of a vector of channels share.
  struct Channels {
    Value exist = no_value;       ///< a predicate of bytes
    Value bytes = no_value;       ///< of a pixel, in front of them
    Rows weights;                 ///< of lines of the window
    std::vector<FourLines> bias;  ///< a vector four times for each of an output's tiles
    Value low = no_value, high = no_value;
    FourLines lines{};  ///< where outputs of column 0 are
    Value step = no_value;
  };

  /// In front of a column.
  struct State {
    Value table = no_value;    ///< its pixels' pointers
    Value out = no_value;      ///< bytes in a line, in front of the outputs that end there
    std::vector<Value> tiles;  ///< by output, then parts
  };

  [[nodiscard]] int64_t parts() const { return halves_ ? 2 : 1; }
  [[nodiscard]] int64_t column_bytes() const { return pixels_ * pointer_bytes; }

  Value load(Value at, Length offset, const char* name) {
    return b_.op(OpCode::load, {at}, {.offset = offset}, name, Role::operand);
  }

  /// Those that exist.
  Value load_channels(const Channels& c, Value at, const char* name) {
    return b_.op(OpCode::load_pred, {c.exist, at}, {.bits = 8, .bytes = b_.isa().vector_bytes},
                 name, Role::operand);
  }

  Channels channels_of(Value left, Value bytes, Value rhs) {
    Channels c;
    const Value left_bytes = b_.op(OpCode::ishl, {left}, {.imm = halves_ ? 1 : 2});
    c.exist = b_.op(OpCode::pred_first, {left_bytes}, {.bits = 8}, "exist", Role::mask);
    c.bytes = bytes;
    for (int64_t y = 0; y < v_.window.height; ++y) {
      c.weights.emplace_back();
      for (int64_t x = 0; x < v_.window.width; ++x) {
        c.weights.back().push_back(load(rhs, code_offset(v_.rhs, 0, y * v_.window.width + x), "w"));
      }
    }
    load_bias(c, rhs);
    const Value clamp = b_.arg(ArgField::clamp);
    c.low = limit(clamp, 0, "min");
    c.high = limit(clamp, 4, "max");
    const Value lines = b_.arg(ArgField::dst);
    for (size_t i = 0; i < c.lines.size(); ++i) {
      const Value line = b_.op(OpCode::load_pointer, {lines},
                               {.offset = static_cast<int64_t>(i) * pointer_bytes}, "line");
      c.lines[i] = b_.op(OpCode::iadd, {line, bytes}, {}, "line", Role::address);
    }
    c.step = b_.arg(ArgField::dst_stride);
    return c;
  }

  /// Lists are of registers one after the other: each of the four has its own.
  void load_bias(Channels& c, Value rhs) {
    const Value at = b_.add(rhs, field_offset(v_.rhs, FieldKind::bias), "bias");
    const auto load_one = [&] { return load_channels(c, at, "bias"); };
    const Value both = halves_ ? load_one() : no_value;
    constexpr OpCode widen[] = {OpCode::cvt_even_f16_f32, OpCode::cvt_odd_f16_f32};
    for (int64_t part = 0; part < parts(); ++part) {
      FourLines four{};
      for (Value& one : four) {
        one = halves_ ? b_.op(widen[part], {both}, {}, "bias", Role::operand) : load_one();
      }
      c.bias.push_back(four);
    }
  }

  /// Of f16 rounded to it: what is cut off has been rounded, too.
  Value limit(Value at, int64_t offset, const char* name) {
    const auto load_one = [&] {
      return b_.op(OpCode::load_dup, {at}, {.bits = 32, .offset = offset}, name, Role::operand);
    };
    const Value one = load_one();
    if (!halves_) return one;
    return b_.op(OpCode::join_f16, {one, load_one()}, {}, name, Role::operand);
  }

  void channels(const Channels& c) {
    State state{b_.arg(ArgField::lhs), b_.constant(0), {}};
    for (int64_t i = 0; i < tiles_ * parts(); ++i) {
      state.tiles.push_back(b_.op(OpCode::tile_zero, {}, {}, "sum", Role::accumulator));
    }
    for (int64_t i = 0; i < tiles_; ++i) begin(c, state, i);
    state.table = b_.add(state.table, tiles_ * column_bytes(), "table");
    const Value m = b_.arg(ArgField::m);
    const Value together = b_.constant(together_);
    const Value count = b_.op(OpCode::idiv, {m, together});
    const Value rest = b_.op(OpCode::isub, {m, b_.op(OpCode::imul, {count, together})}, {}, "rest");
    const int64_t macs =
        depthwise_lines * together_ * v_.tile.n.at({}) * v_.window.height * v_.window.width;
    const std::vector<Value> end =
        b_.hot_loop("columns", count, carried(state), macs, [&](const std::vector<Value>& p) {
          State now = of_carried(p);
          for (int64_t i = 0; i < together_; ++i) column(c, now, i);
          now.table = b_.add(now.table, together_ * column_bytes(), "table");
          return carried(now);
        });
    last_columns(c, of_carried(end), rest, 0);
  }

  static std::vector<Value> carried(const State& state) {
    std::vector<Value> all = {state.table, state.out};
    all.insert(all.end(), state.tiles.begin(), state.tiles.end());
    return all;
  }

  static State of_carried(const std::vector<Value>& all) {
    return {all[0], all[1], {all.begin() + 2, all.end()}};
  }

  /// Fewer than an iteration has.
  void last_columns(const Channels& c, State state, Value count, int64_t done) {
    if (done + 1 == together_) return;
    b_.branch(count, Compare::at_least, b_.constant(done + 1), [&] {
      column(c, state, done);
      last_columns(c, state, count, done + 1);
    });
  }

  /// One of the first columns: no output ends there.
  void begin(const Channels& c, State& state, int64_t column) {
    const std::vector<Value> pixels = load_pixels(c, state.table, column);
    start(c, state, column);
    for (int64_t y = 0; y < v_.window.height; ++y) {
      for (int64_t x = 0; x <= column; ++x) multiply(c, state, column - x, {y, x}, pixels);
    }
  }

  /// The column so many behind the state's: of its outputs' tiles one becomes free.
  void column(const Channels& c, State& state, int64_t column) {
    const std::vector<Value> pixels = load_pixels(c, state.table, column);
    for (int64_t y = 0; y < v_.window.height; ++y) {
      for (int64_t x = tiles_; x > 0; --x) multiply(c, state, column - x, {y, x}, pixels);
    }
    store(c, state, column);
    start(c, state, column);
    for (int64_t y = 0; y < v_.window.height; ++y) multiply(c, state, column, {y, 0}, pixels);
  }

  std::vector<Value> load_pixels(const Channels& c, Value table, int64_t column) {
    std::vector<Value> pixels;
    for (int64_t i = 0; i < pixels_; ++i) {
      const Value at = b_.op(OpCode::load_pointer, {table},
                             {.offset = column * column_bytes() + i * pointer_bytes}, "pixel");
      const Value channels = b_.op(OpCode::iadd, {at, c.bytes}, {}, "at", Role::address);
      pixels.push_back(load_channels(c, channels, "x"));
    }
    return pixels;
  }

  /// Tile number `part` of the output that begins in that column.
  [[nodiscard]] Value& tile(State& state, int64_t column, int64_t part) const {
    return state.tiles[static_cast<size_t>((column + tiles_) % tiles_ * parts() + part)];
  }

  void start(const Channels& c, State& state, int64_t column) {
    for (int64_t part = 0; part < parts(); ++part) {
      Value& sums = tile(state, column, part);
      const FourLines& bias = c.bias[static_cast<size_t>(part)];
      sums = b_.op(OpCode::tile_put4, {sums, first_, bias[0], bias[1], bias[2], bias[3]}, {}, "sum",
                   Role::accumulator);
    }
  }

  struct Tap {
    int64_t y, x;
  };

  /// To outputs that begin in column `output`.
  void multiply(const Channels& c, State& state, int64_t output, Tap tap,
                const std::vector<Value>& pixels) {
    const Value w = c.weights[static_cast<size_t>(tap.y)][static_cast<size_t>(tap.x)];
    const Value* x = &pixels[static_cast<size_t>(tap.y)];
    constexpr OpCode codes[] = {OpCode::tile_fma4_even, OpCode::tile_fma4_odd};
    for (int64_t part = 0; part < parts(); ++part) {
      Value& sums = tile(state, output, part);
      sums = halves_ ? b_.op(codes[part], {sums, first_, x[0], x[1], x[2], x[3], w}, {}, "sum",
                             Role::accumulator)
                     : b_.op(OpCode::tile_fma4, {sums, first_, x[0], x[1], x[2], x[3], w, w, w, w},
                             {}, "sum", Role::accumulator);
    }
  }

  /// The outputs that begin as many columns before as the window has.
  void store(const Channels& c, State& state, int64_t column) {
    FourLines outs{};
    for (int64_t i = 0; i < depthwise_lines; ++i) {
      Value& out = outs[static_cast<size_t>(i)];
      if (halves_) {
        const Value row = rows_[static_cast<size_t>(i)];
        const auto half = [&](int64_t part) {
          return b_.op(OpCode::tile_row4, {tile(state, column, part), row}, {}, "out",
                       Role::operand);
        };
        const Value even = half(0);
        out = b_.op(OpCode::join_f16, {even, half(1)}, {}, "out", Role::operand);
      } else {
        out = b_.op(OpCode::tile_quarter, {tile(state, column, 0), first_}, {.imm = i}, "out",
                    Role::operand);
      }
    }
    const OpCode most = halves_ ? OpCode::fmaximum_f16 : OpCode::fmaximum;
    const OpCode least = halves_ ? OpCode::fminimum_f16 : OpCode::fminimum;
    for (Value& out : outs) out = b_.op(most, {out, c.low}, {}, "out", Role::operand);
    for (Value& out : outs) out = b_.op(least, {out, c.high}, {}, "out", Role::operand);
    // Lines that do not exist come first, and lie where the first one does that exists.
    for (size_t i = 0; i < outs.size(); ++i) {
      const Value at = b_.op(OpCode::iadd, {c.lines[i], state.out}, {}, "at", Role::address);
      b_.op(OpCode::store_pred, {c.exist, at, outs[i]}, {.bits = 8});
    }
    state.out = b_.op(OpCode::iadd, {state.out, c.step}, {}, "out_bytes");
  }

  const Variant& v_;
  Builder b_;
  bool halves_;             ///< f16
  int64_t bytes_;           ///< of a value
  int64_t pixels_;          ///< in a column
  int64_t tiles_;           ///< outputs that have sums at a time
  int64_t together_;        ///< columns in an iteration
  Value first_ = no_value;  ///< the first row of a tile, whose others are those of its quarters ...
  FourLines rows_{};        ///< ... of which each has its number, four times
};

}  // namespace

Program lower_depthwise_lines(const Variant& variant) {
  return LinesWriter(variant).write();
}

}  // namespace tw
