// Stages of attention (model/attention.h): K and V are read where they lie, row by row.
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "lower/across.h"
#include "lower/attention_weights.h"
#include "lower/cached_rows.h"
#include "lower/lower.h"
#include "lower/tile.h"
#include "lower/widen.h"
#include "model/attention.h"

namespace tw {
namespace {

using Values = std::vector<Value>;

class AttentionWriter {
 public:
  explicit AttentionWriter(const Variant& v)
      : v_(v),
        b_(v.code_name(), *v.isa),
        cached_(b_, v.rhs),
        vector_(v.isa->vector_bytes),
        lanes_(vector_.fixed / 4) {}

  Program write() {
    switch (v_.stage) {
      case Stage::scores:
        heads_in_turn(ArgField::n, ArgField::k,
                      [&](const Values& p, const Positions& its, int64_t rows) {
                        return scores(p, its, rows);
                      });
        break;
      case Stage::weights:
        lower_attention_weights(b_, v_);
        break;
      case Stage::values:
        heads_in_turn(ArgField::k, ArgField::n,
                      [&](const Values& p, const Positions& its, int64_t rows) {
                        return values(p, its, rows);
                      });
        break;
      case Stage::none:
        break;
    }
    return b_.finish();
  }

 private:
  // ---- what stages share ----

  [[nodiscard]] static int shift_of(int64_t count) {
    return std::countr_zero(static_cast<uint64_t>(count));
  }

  Value offset(Value pointer, Value bytes, const std::string& name) {
    return b_.op(OpCode::iadd, {pointer, bytes}, {}, name, Role::address);
  }

  /// `count` rows from there on.
  Values rows_from(Value first, Value stride, int64_t count, const std::string& name) {
    Values rows = {first};
    while (static_cast<int64_t>(rows.size()) < count) {
      rows.push_back(offset(rows.back(), stride, fmt::format("{}_{}", name, rows.size())));
    }
    return rows;
  }

  /// K or V of a head.
  struct Positions {
    Value first;  ///< values of the first one; no_value: those of rhs
    Value ahead;  ///< a piece that is fetched beside them, or no_value
  };

  /// Of floats and int8 one head after the other, each with its rows, which stand one's behind the
  /// other's, and by its positions: their number, and values of each. Of blocks there is one head.
  template <typename Body>
  void heads_in_turn(ArgField positions, ArgField values, const Body& body) {
    Values all = {b_.arg(ArgField::lhs), b_.arg(ArgField::dst)};
    if (cached_.block() != 0) {
      rows_by_halves(all, [&](const Values& p, int64_t rows) {
        return body(p, {no_value, no_value}, rows);
      });
      return;
    }
    all.push_back(cached_.first_values());
    Value share = no_value;
    if (fetches_pieces()) {
      all.push_back(first_ahead(all.back()));
      const Value bytes = cached_.bytes(b_.arg(values));
      share = b_.op(OpCode::imul, {b_.arg(positions), bytes}, {}, "share");
    }
    b_.loop("heads", b_.arg(ArgField::heads), all, [&](const Values& h) {
      const Positions its = {h[2], share == no_value ? no_value : h[3]};
      Values next = rows_by_halves(
          {h[0], h[1]}, [&](const Values& p, int64_t rows) { return body(p, its, rows); });
      next.push_back(offset(h[2], b_.arg(ArgField::rhs_head_stride), "head"));
      if (share != no_value) next.push_back(offset(h[3], share, "ahead"));
      return next;
    });
  }

  /// Tiles of all rows that fill whole ones, then one of half as many where those are left, down
  /// to one row. Carried: lhs and dst.
  template <typename Body>
  Values rows_by_halves(Values carried, const Body& body) {
    for (int64_t rows = v_.tile.m.fixed; rows >= 1; rows /= 2) {
      const int bit = std::countr_zero(static_cast<uint64_t>(rows));
      Value count = b_.op(OpCode::ishr, {b_.arg(ArgField::m)}, {.imm = bit});
      if (rows != v_.tile.m.fixed) count = b_.op(OpCode::iand_imm, {count}, {.imm = 1});
      carried = b_.loop(fmt::format("rows_{}", rows), count, carried,
                        [&](const Values& p) { return body(p, rows); });
    }
    return carried;
  }

  Values next_rows(const Values& p, int64_t rows) {
    const auto after = [&](Value at, ArgField stride) {
      return offset(at, b_.op(OpCode::imul, {b_.arg(stride), b_.constant(rows)}), "row");
    };
    return {after(p[0], ArgField::lhs_stride), after(p[1], ArgField::dst_stride)};
  }

  /// As late as it can be: a pointer less to keep.
  Value first_of(const Positions& its) {
    return its.first == no_value ? cached_.first_values() : its.first;
  }

  // ---- what stages do ----

  Value load(Value at, Length at_bytes, const std::string& name, Role role = Role::operand) {
    return b_.op(OpCode::load, {at}, {.offset = at_bytes}, name, role);
  }

  Values zeros(int64_t count) {
    Values all;
    for (int64_t i = 0; i < count; ++i) {
      all.push_back(b_.op(OpCode::zero, {}, {}, "acc", Role::accumulator));
    }
    return all;
  }

  // ---- scores: rows of queries by positions ----

  Values scores(const Values& p, const Positions& its, int64_t rows) {
    const Value n = b_.arg(ArgField::n);
    const int64_t tile = v_.tile.n.fixed;
    const Values queries = rows_from(p[0], b_.arg(ArgField::lhs_stride), rows, "q");
    const Values outs = rows_from(p[1], b_.arg(ArgField::dst_stride), rows, "out");
    const bool pieces = fetches_pieces();
    const Value fetched = pieces ? tile_bytes() : no_value;
    const auto body = [&](const Values& q) {
      const Values sums = score_tile(queries, q[0], {q[1], pieces ? q[3] : no_value}, rows);
      const Values done = across(b_, sums, OpCode::fadd);
      for (int64_t r = 0; r < rows; ++r) {
        store_scores(offset(outs[static_cast<size_t>(r)], q[2], "out"), done, r);
      }
      const Value step = b_.op(OpCode::imul, {b_.arg(ArgField::rhs_stride), b_.constant(tile)});
      Values next = {b_.op(OpCode::isub_sat, {q[0], b_.constant(tile)}), offset(q[1], step, "k"),
                     b_.add(q[2], tile * 4)};
      if (pieces) next.push_back(offset(q[3], fetched, "ahead"));
      return next;
    };
    Values all = {n, first_of(its), b_.constant(0)};
    if (pieces) all.push_back(its.ahead);
    b_.stepped_loop("positions", n, tile, all, body);
    return next_rows(p, rows);
  }

  /// Vectors of which each sums up to a score, row by row. Positions beyond n repeat the last one.
  Values score_tile(const Values& queries, Value left, const Positions& its, int64_t rows) {
    const int64_t tile = v_.tile.n.fixed;
    const int64_t step_values = cached_.together();
    Values carried = queries;
    const Values keys =
        clamped_pointers(b_, its.first, b_.arg(ArgField::rhs_stride), left, 1, tile, "k");
    fetch_beside(keys, its.ahead);
    carried.insert(carried.end(), keys.begin(), keys.end());
    const auto sums_at = static_cast<std::ptrdiff_t>(carried.size());
    const Values none = zeros(rows * tile);
    carried.insert(carried.end(), none.begin(), none.end());
    const Value steps = b_.op(OpCode::ishr, {b_.arg(ArgField::k)}, {.imm = shift_of(step_values)});
    const auto step = [&](Values all) {
      Values scales;
      for (int64_t i = 0; i < tile; ++i) {
        scales.push_back(cached_.scale(all[static_cast<size_t>(rows + i)], 0));
      }
      for (int64_t value = 0; value < step_values; value += lanes_) {
        Values q;
        for (int64_t r = 0; r < rows; ++r) {
          q.push_back(load(all[static_cast<size_t>(r)], value * 4, "q"));
        }
        for (int64_t i = 0; i < tile; ++i) {
          const Value key = cached_.values(all[static_cast<size_t>(rows + i)], value,
                                           scales[static_cast<size_t>(i)], "k");
          for (int64_t r = 0; r < rows; ++r) {
            Value& sum = all[static_cast<size_t>(sums_at + r * tile + i)];
            sum = multiply_add(b_, key, q[static_cast<size_t>(r)], sum, "acc", Role::accumulator);
          }
        }
      }
      for (int64_t i = 0; i < rows + tile; ++i) {
        Value& at = all[static_cast<size_t>(i)];
        at = b_.add(at, i < rows ? step_values * 4 : cached_.place(step_values));
      }
      return all;
    };
    carried = b_.hot_loop("k", steps, carried, rows * tile * step_values, step);
    return {carried.begin() + sums_at, carried.end()};
  }

  // ---- what is needed next ----
  // The caller says how far away that is. Floats and int8 wait for memory, which is slower where it
  // is read row by row: what is fetched beside some positions is one piece as long as they are.
  // Blocks wait for their conversion: for each position another one's are brought to the first
  // cache.

  [[nodiscard]] bool can_fetch() const { return b_.isa().has(OpCode::prefetch_near); }

  [[nodiscard]] bool fetches_pieces() const { return can_fetch() && cached_.block() == 0; }

  Value first_ahead(Value first) { return offset(first, b_.arg(ArgField::rhs_prefetch), "ahead"); }

  /// Of a tile's positions of K.
  Value tile_bytes() {
    const Value bytes = cached_.bytes(b_.arg(ArgField::k));
    return b_.op(OpCode::imul, {bytes, b_.constant(v_.tile.n.fixed)}, {}, "bytes");
  }

  void fetch_beside(const Values& keys, Value ahead) {
    if (!can_fetch()) return;
    const Value distance = b_.arg(ArgField::rhs_prefetch);
    b_.branch(distance, Compare::not_equal, b_.constant(0), [&] {
      if (fetches_pieces()) return fetch({ahead}, tile_bytes());
      Values others;
      for (const Value key : keys) others.push_back(offset(key, distance, "ahead"));
      fetch(others, cached_.bytes(b_.arg(ArgField::k)));
    });
  }

  /// So many bytes from each place on.
  void fetch(const Values& places, Value bytes) {
    const int64_t lines = std::max<int64_t>(4 / static_cast<int64_t>(places.size()), 1);
    b_.stepped_loop("ahead", bytes, lines * cache_line, places, [&](Values p) {
      for (Value& at : p) {
        for (int64_t line = 0; line < lines; ++line) {
          b_.op(OpCode::prefetch_near, {at}, {.offset = line * cache_line});
        }
        at = b_.add(at, lines * cache_line);
      }
      return p;
    });
  }

  /// `done`: of all rows, one behind the other.
  void store_scores(Value at, const Values& done, int64_t row) {
    const int64_t tile = v_.tile.n.fixed;
    const int64_t first = row * tile;
    const Value* const vectors = &done[static_cast<size_t>(first / lanes_)];
    if (tile < lanes_) {
      const int64_t segment = first % lanes_ / segment_lanes;
      const Value mine = b_.op(OpCode::segment, {*vectors}, {.imm = segment}, "out", Role::operand);
      b_.op(OpCode::store, {at, mine});
      return;
    }
    for (int64_t i = 0; i < tile / lanes_; ++i) {
      b_.op(OpCode::store, {at, vectors[i]}, {.offset = vector_ * i});
    }
  }

  // ---- values: rows of weights by columns of V ----

  Values values(const Values& p, const Positions& its, int64_t rows) {
    const Values states = rows_from(p[0], b_.arg(ArgField::lhs_stride), rows, "state");
    const Values outs = rows_from(p[1], b_.arg(ArgField::dst_stride), rows, "out");
    const Value n = b_.arg(ArgField::n);
    // A tile, or all those of a block.
    const int64_t most = std::max(v_.tile.n.fixed, cached_.together());
    const Value wide = b_.op(OpCode::idiv, {n, b_.constant(most)}, {}, "tiles");
    const Value done = b_.op(OpCode::imul, {wide, b_.constant(most)});
    const Value rest = b_.op(OpCode::ishr, {b_.op(OpCode::isub, {n, done})},
                             {.imm = shift_of(cached_.together())}, "rest");
    Values at = {first_of(its), b_.constant(0)};
    if (fetches_pieces()) at.push_back(its.ahead);
    const auto columns = [&](const std::string& label, Value count, int64_t width) {
      at = b_.loop(label, count, at, [&](const Values& q) {
        Values moved;
        for (const Value out : outs) moved.push_back(offset(out, q[1], "out"));
        fetching_or_not([&](bool fetches) {
          const int64_t tile = std::min(width, v_.tile.n.fixed);
          for (int64_t from = 0; from < width; from += tile) {
            const Positions columns_of = {q[0], fetches_pieces() ? q[2] : no_value};
            value_tile(states, moved, columns_of, {from, from + tile}, fetches && from == 0);
          }
        });
        Values next = {b_.add(q[0], cached_.place(width)), b_.add(q[1], width * 4)};
        if (fetches_pieces()) {
          const Value bytes =
              b_.op(OpCode::imul, {b_.arg(ArgField::k), b_.constant(cached_.place(width))});
          next.push_back(offset(q[2], bytes, "ahead"));
        }
        return next;
      });
    };
    columns("columns", wide, most);
    if (most != cached_.together()) columns("vectors", rest, cached_.together());
    return next_rows(p, rows);
  }

  /// In loops that wait for nothing the prefetches alone take a third of the time.
  template <typename Body>
  void fetching_or_not(const Body& body) {
    if (!can_fetch()) return body(false);
    const Value none = b_.constant(0);
    b_.branch(
        b_.arg(ArgField::rhs_prefetch), Compare::equal, none, [&] { body(false); },
        [&] { body(true); });
  }

  /// From a column on to another one.
  struct Columns {
    int64_t from, to;
  };

  /// `its`, `outs`: where column 0 is.
  void value_tile(const Values& states, const Values& outs, const Positions& its, Columns columns,
                  bool fetches) {
    const size_t rows = outs.size();
    const int64_t vectors = (columns.to - columns.from) / lanes_;
    const auto out_at = [&](int64_t j) { return columns.from * 4 + vector_ * j; };
    Values carried;
    for (const Value state : states) carried.push_back(b_.add(state, vector_ * state_vectors, "w"));
    carried.push_back(its.first);
    for (size_t r = 0; r < rows; ++r) {
      const Value kept = load(states[r], vector_ * correction_at, "correction");
      for (int64_t j = 0; j < vectors; ++j) {
        const Value old = load(outs[r], out_at(j), "old");
        carried.push_back(b_.op(OpCode::fmul, {old, kept}, {}, "acc", Role::accumulator));
      }
    }
    const bool piece = fetches && fetches_pieces();
    if (piece) carried.push_back(its.ahead);
    const auto step = [&](Values all) {
      Values v;
      Value scale = no_value;
      for (int64_t column = columns.from; column < columns.to; column += lanes_) {
        const bool is_next = scale == no_value || column % cached_.block() == 0;
        if (is_next) scale = cached_.scale(all[rows], column);
        v.push_back(cached_.values(all[rows], column, scale, "v"));
      }
      if (fetches) {
        const Value at = piece ? all.back() : first_ahead(all[rows]);
        for (int64_t line = 0; line < cached_.place(columns.to); line += cache_line) {
          b_.op(OpCode::prefetch_near, {at}, {.offset = line});
        }
        if (piece) all.back() = b_.add(at, cached_.place(columns.to));
      }
      all[rows] = offset(all[rows], b_.arg(ArgField::rhs_stride), "v");
      for (size_t r = 0; r < rows; ++r) {
        const Value weight = b_.op(OpCode::load_dup, {all[r]}, {.bits = 32}, "w", Role::operand);
        all[r] = b_.add(all[r], 4);
        for (size_t j = 0; j < v.size(); ++j) {
          Value& sum = all[rows + 1 + r * v.size() + j];
          sum = multiply_add(b_, v[j], weight, sum, "acc", Role::accumulator);
        }
      }
      return all;
    };
    const auto count = static_cast<int64_t>(rows) * vectors;
    carried = b_.hot_loop("k", b_.arg(ArgField::k), carried, count * lanes_, step);
    for (int64_t i = 0; i < count; ++i) {
      b_.op(OpCode::store,
            {outs[static_cast<size_t>(i / vectors)], carried[rows + 1 + static_cast<size_t>(i)]},
            {.offset = out_at(i % vectors)});
    }
  }

  const Variant& v_;
  Builder b_;
  CachedRows cached_;  ///< K or V
  Length vector_;      ///< its bytes
  int64_t lanes_;
};

}  // namespace

Program lower_attention(const Variant& variant) {
  check_attention_tile(variant);
  return AttentionWriter(variant).write();
}

}  // namespace tw
