// The frame of every matrix multiplication: loops over columns and rows of tiles, panel pointers,
// edges.
#include <bit>

#include "lower/lower.h"
#include "lower/output.h"
#include "model/operand_contract.h"
#include "model/reject.h"

namespace tw {
namespace {

/// How a side of the tile meets its panels.
struct Span {
  int64_t panels = 1;  ///< whole panels in the tile
  int64_t parts = 1;   ///< tiles in a panel
};

Span span(Length tile, Length panel, const char* what) {
  if (const int64_t whole = ratio(tile, panel); whole >= 1) return {whole, 1};
  if (const int64_t parts = ratio(panel, tile); parts >= 1) return {1, parts};
  reject("tile {} of {} neither spans whole panels of {} nor divides one", what, to_string(tile),
         to_string(panel));
}

/// A segment of activations is one row's; every group has a tile.
void check_groups(const Variant& v) {
  if (v.tile.m != Length{1} || v.lhs.panel != Length{1}) {
    reject("tile m {} of lhs panels of {} does not fit dot in accumulator tiles on {}: 1 of 1 does",
           to_string(v.tile.m), to_string(v.lhs.panel), v.isa->name);
  }
  constexpr int segment_k = 16;
  if (v.knobs.unroll_k < segment_k) {
    reject("unroll_k {} does not fill a segment of activations: multiples of {} do",
           v.knobs.unroll_k, segment_k);
  }
  const int tiles = v.isa->file_of(Kind::tile)->count();
  if (ratio(v.tile.n, v.isa->vector_bytes) > tiles) {
    reject("tile n {} does not fit the {} accumulator tiles of {}: at most {} does",
           to_string(v.tile.n), tiles, v.isa->name, to_string(v.isa->vector_bytes * tiles));
  }
}

/// Whether sums of blocks are scaled: else weights are.
bool has_scaled_sums(const Variant& v) {
  return v.rhs.block != 0 && !is_float(*v.family.lhs);
}

/// With blocks every tile of sums has one for what the blocks add up to.
void check_block_tiles(const Variant& v) {
  const Length rows = v.isa->tile_rows();
  const Length columns = v.isa->tile_columns();
  const int tiles = v.isa->file_of(Kind::tile)->count();
  if (2 * ratio(v.tile.m, rows) * ratio(v.tile.n, columns) <= tiles) return;
  reject("tile {}x{} does not fit the {} accumulator tiles of {} with blocks: {}x{} does",
         to_string(v.tile.m), to_string(v.tile.n), tiles, v.isa->name, to_string(rows),
         to_string(columns * 2));
}

/// Loads of 16 bytes read beyond a row's codes. Where nothing stands behind the panel's, all rows
/// of a group are read together. Accumulator tiles take whole vectors of rows.
void check_codes_alone(const Variant& v) {
  if (contract_of(v).contraction == Contraction::outer) return;
  const int row_bytes = v.lhs.order.kr * std::max(8, bits(v.lhs.element)) / 8;
  const Length group = v.lhs.panel * row_bytes;
  const bool whole = ratio(v.tile.m, v.lhs.panel) >= 1;
  const bool alone = v.lhs.fields.size() == 1 && v.lhs.order.kr > 1;
  if (!alone || v.lhs.panel == Length{1} || (whole && group.divisible(16))) return;
  reject(
      "tile m {} of lhs panels of {} does not fit codes alone, whose groups are read in whole: "
      "whole panels of 1 row, or of multiples of {}, do",
      to_string(v.tile.m), to_string(v.lhs.panel), std::max(1, 16 / row_bytes));
}

/// Rows and columns of whole operands.
void check_tile(const Variant& v) {
  const OperandContract& contract = contract_of(v);
  const bool outer = contract.contraction == Contraction::outer;
  const bool groups = contract.contraction == Contraction::dot_groups;
  const Length rows = contract.lhs_rows.of(*v.isa, v.rhs.order.kr);
  if (ratio(v.tile.m, rows) < 1) {
    reject("tile m {} does not fit {}: multiples of {} do", to_string(v.tile.m), name(v.technique),
           to_string(rows));
  }
  if (groups) check_groups(v);
  check_codes_alone(v);
  if (contract.contraction == Contraction::tile_dot && v.tile.m != v.lhs.panel) {
    reject("tile m {} does not fit tile: one lhs panel, {}, does", to_string(v.tile.m),
           to_string(v.lhs.panel));
  }
  // With blocks the tiles of what they add up to leave room for a part of a panel of columns. Parts
  // of one of rows are for those that are left behind whole ones.
  const bool part = has_scaled_sums(v) && ratio(v.rhs.panel, v.tile.n) > 1;
  const bool few_rows = !has_scaled_sums(v) && ratio(v.lhs.panel, v.tile.m) > 1;
  if (outer && ((v.tile.m != v.lhs.panel && !few_rows) || (v.tile.n != v.rhs.panel && !part))) {
    reject("tile {}x{} does not fit outer: one panel on either side, {}x{}, does",
           to_string(v.tile.m), to_string(v.tile.n), to_string(v.lhs.panel),
           to_string(v.rhs.panel));
  }
  if (outer && has_scaled_sums(v)) check_block_tiles(v);
  const bool halves = multiplies_as_halves(*v.family.lhs, *v.family.rhs);
  const Length columns = groups || halves ? v.isa->vector_bytes  // four vectors
                                          : contract.rhs_columns.of(*v.isa, v.rhs.order.kr);
  if (ratio(v.tile.n, columns) < 1) {
    reject("tile n {} does not fit {} on {}: whole vectors, multiples of {} columns, do",
           to_string(v.tile.n), name(v.technique), v.isa->name, to_string(columns));
  }
}

void check_knobs(const Variant& v) {
  const int granule = v.lhs.k_multiple;
  const int unroll = v.knobs.unroll_k;
  if (unroll < granule || !std::has_single_bit(static_cast<unsigned>(unroll))) {
    reject("unroll_k {} is not possible: powers of two from {} on are", unroll, granule);
  }
  if (v.rhs.block % unroll != 0) {
    reject("unroll_k {} does not divide blocks of {}", unroll, v.rhs.block);
  }
  const int sets = v.knobs.accumulators;
  if (sets < 1 || sets > 8 || !std::has_single_bit(static_cast<unsigned>(sets))) {
    reject("accumulators {} is not possible: 1, 2, 4 or 8 sets are", sets);
  }
}

/// Chunks end where they do: a row's pointers are to its own values, and weights have no groups.
void check_rows(const Variant& v) {
  if (v.family.operation != Operation::indirect) return;
  if (is_unpacked(v.lhs) && v.rhs.order.kr == 1 && v.rhs.block == 0) return;
  reject(
      "rows that pointers tell are not possible with {} by {}, kr {}: with floats that are not "
      "packed, kr 1, they are",
      v.family.lhs->name, v.family.rhs->name, v.rhs.order.kr);
}

/// What a loop over tiles of one side carries: the panel, and the part of it when tiles are parts.
struct Walk {
  Value panel = no_value;
  Value sub = no_value;  ///< first row in the panel
};

Walk next(Builder& b, Walk at, Span s, Length tile, Value stride) {
  if (s.parts == 1) {
    Value step = stride;
    if (s.panels > 1) step = b.op(OpCode::imul, {stride, b.constant(s.panels)});
    return {b.op(OpCode::iadd, {at.panel, step}), no_value};
  }
  const Value moved = b.add(at.sub, tile);
  const Value last = b.op(OpCode::length, {}, {.offset = tile * (s.parts - 1)});
  const Value room = b.op(OpCode::isub_sat, {b.add(last, 1), moved});  // 0: the panel is done
  const Value following = b.op(OpCode::iadd, {at.panel, stride});
  return {b.op(OpCode::if_null, {room, following, at.panel}),
          b.op(OpCode::if_null, {room, b.constant(0), moved})};
}

void push(std::vector<Value>& values, const Walk& walk) {
  values.push_back(walk.panel);
  if (walk.sub != no_value) values.push_back(walk.sub);
}

Walk pop(const std::vector<Value>& values, size_t& at, Span s) {
  Walk walk{values[at++], no_value};
  if (s.parts > 1) walk.sub = values[at++];
  return walk;
}

/// None where the sums are in accumulator tiles. `single`: of rows of floats that are not packed,
/// for one value of k at a time.
std::unique_ptr<Multiplier> make_multiplier(const Variant& v, bool single = false) {
  switch (contract_of(v).contraction) {
    case Contraction::dot_depth:
      return make_depth_dot(v);
    case Contraction::dot_column:
      return make_column_dot(v);
    case Contraction::dot_narrow:
      return make_narrow_dot(v);
    case Contraction::dot_pairs:
      return make_pair_dot(v);
    case Contraction::mmla:
      return make_mmla(v);
    case Contraction::fma:
      return make_fma(v, single);
    case Contraction::fma_halves:
      return make_fma_halves(v, single);
    case Contraction::fma_pairs:
      return make_fma_pairs(v, single);
    case Contraction::dot_groups:
      return v.rhs.block != 0 ? make_group_sums(v) : nullptr;
    case Contraction::outer:
    case Contraction::tile_dot:
      break;
  }
  return nullptr;
}

class KernelWriter {
 public:
  KernelWriter(const Variant& v, std::optional<int64_t> totals_in_registers)
      : v_(v),
        totals_in_registers_(totals_in_registers),
        b_(v.code_name(), *v.isa),
        lhs_span_(span(v.tile.m, v.lhs.panel, "m")),
        rhs_span_(span(v.tile.n, v.rhs.panel, "n")),
        multiplier_(make_multiplier(v)) {}

  Program write() {
    const Value n = b_.arg(ArgField::n);
    const Value first_column = b_.op(OpCode::constant, {}, {.imm = 0}, "column_bytes");
    if (takes_table(*v_.family.rhs) && b_.isa().has(OpCode::table_load)) {
      b_.op(OpCode::table_load, {b_.arg(ArgField::lookup)});
    }
    if (multiplies_as_halves(*v_.family.lhs, *v_.family.rhs)) b_.op(OpCode::table_halves, {});
    if (looks_up_raised(v_)) b_.op(OpCode::table_raised, {});
    if (looks_up_values(v_)) put_table(v_, b_);
    choose_prefetch_step();
    std::vector<Value> inits = {named(n, "n_left"), first_column};
    push(inits, start(ArgField::rhs, rhs_span_));
    b_.stepped_loop("n", n, v_.tile.n, inits,
                    [&](const std::vector<Value>& p) { return columns(p); });
    if (can_stream_outputs(v_)) b_.op(OpCode::store_fence);
    return b_.finish();
  }

 private:
  /// So many tiles of rows come back to a panel: the largest power of two is how many parts the
  /// prefetching of the next one is cut into.
  void choose_prefetch_step() {
    const Length whole = step_bytes(v_.rhs, v_.knobs.unroll_k);
    if (v_.knobs.prefetch != Prefetch::far || !whole.is_fixed()) return;
    ahead_.step = part_of(whole.fixed);
    if (has_long_blocks(v_.rhs)) ahead_.beside = part_of(block_field_bytes(v_.rhs).fixed);
    if (has_steps(v_.rhs)) ahead_.beside = part_of(steps_bytes(v_.rhs).fixed);
  }

  Value part_of(int64_t bytes) {
    constexpr int64_t most_parts = 16;
    const Value m = b_.arg(ArgField::m);
    Value chosen = b_.constant(bytes);
    for (int64_t parts = 2; parts <= most_parts; parts *= 2) {
      const Value more = b_.op(OpCode::isub_sat, {m, b_.constant((parts - 1) * v_.tile.m.fixed)});
      const Value part = b_.constant(bytes / parts);
      chosen = b_.op(OpCode::if_null, {more, chosen, part}, {}, "ahead_step", Role::other);
    }
    return chosen;
  }

  /// Where the prefetches of a tile's panels begin.
  std::vector<Value> prefetch_cursors(const Walk& rhs) {
    std::vector<Value> cursors;
    if (ahead_.step == no_value) return cursors;
    const Value distance = b_.arg(ArgField::rhs_prefetch);
    Value at = b_.op(OpCode::iadd, {rhs.panel, distance}, {}, "ahead", Role::address);
    cursors.push_back(at);
    for (int64_t i = 1; i < rhs_span_.panels; ++i) {
      at = b_.op(OpCode::iadd, {at, b_.arg(ArgField::rhs_stride)}, {}, "ahead", Role::address);
      cursors.push_back(at);
    }
    return cursors;
  }

  Walk start(ArgField field, Span s) {
    Walk walk{named(b_.arg(field), field == ArgField::lhs ? "lhs_panel" : "rhs_panel"), no_value};
    if (s.parts > 1) walk.sub = b_.constant(0);
    return walk;
  }

  /// All tiles of one range of columns.
  std::vector<Value> columns(const std::vector<Value>& p) {
    size_t at = 2;
    const Value n_left = p[0];
    const Value column_bytes = p[1];
    const Walk rhs = pop(p, at, rhs_span_);
    const Value m = b_.arg(ArgField::m);
    const Value first = b_.arg(ArgField::dst);
    const Value before = bytes_before(b_, v_.family.dst, column_bytes, "dst_bytes");
    const Value dst = b_.op(OpCode::iadd, {first, before}, {}, "dst_tile", Role::address);
    std::vector<Value> inits = {named(m, "m_left"), dst};
    push(inits, start(ArgField::lhs, lhs_span_));
    const std::vector<Value> cursors = prefetch_cursors(rhs);
    inits.insert(inits.end(), cursors.begin(), cursors.end());
    b_.stepped_loop("m", m, v_.tile.m, inits, [&](const std::vector<Value>& q) {
      return rows(q, n_left, column_bytes, rhs);
    });
    std::vector<Value> yields = {step_down(n_left, v_.tile.n), b_.add(column_bytes, v_.tile.n * 4)};
    push(yields, next(b_, rhs, rhs_span_, v_.tile.n, b_.arg(ArgField::rhs_stride)));
    return yields;
  }

  Value named(Value v, const std::string& name) {
    b_.rename(v, name, Role::other);
    return v;
  }

  Value padded_k() {
    const int64_t multiple = v_.lhs.k_multiple;
    const Value k = b_.arg(ArgField::k);
    if (multiple == 1) return k;
    return b_.op(OpCode::iand_imm, {b_.add(k, multiple - 1)}, {.imm = -multiple}, "k_padded");
  }

  Value step_down(Value left, Length tile) {
    return b_.op(OpCode::isub_sat, {left, b_.op(OpCode::length, {}, {.offset = tile})});
  }

  /// One tile.
  std::vector<Value> rows(const std::vector<Value>& q, Value n_left, Value column_bytes,
                          const Walk& rhs) {
    size_t at = 2;
    const Value m_left = q[0];
    const Value dst = q[1];
    const Walk lhs = pop(q, at, lhs_span_);
    Tile1 t{b_, v_, {}, {}, no_value, m_left, n_left, dst, column_bytes};
    t.padded = padded_k();
    t.totals_in_registers = totals_in_registers_;
    if (has_long_blocks(v_.rhs) || is_indirect()) {
      t.blocks = b_.op(OpCode::idiv, {t.padded, b_.arg(ArgField::block)}, {}, "blocks");
    }
    const Value row_step =
        is_indirect() ? b_.constant(pointer_bytes) : b_.arg(ArgField::lhs_stride);
    t.lhs = {
        &v_.lhs,
        clamped_pointers(b_, lhs.panel, row_step, m_left, v_.lhs.panel, lhs_span_.panels, "lhs"),
        lhs.sub, lhs_span_.parts > 1 ? v_.tile.m.fixed : v_.lhs.panel.fixed};
    const Length lanes = t.lanes();
    t.rhs = {&v_.rhs,
             clamped_pointers(b_, rhs.panel, b_.arg(ArgField::rhs_stride), n_left, v_.rhs.panel,
                              rhs_span_.panels, "rhs"),
             rhs.sub, ratio(rhs_span_.parts > 1 ? v_.tile.n : v_.rhs.panel, lanes)};
    ahead_.cursors.assign(q.begin() + static_cast<std::ptrdiff_t>(at), q.end());
    if (ahead_.step != no_value) t.ahead = &ahead_;
    if (v_.knobs.prefetch == Prefetch::beside) t.beside = &beside_;
    prefetch_outputs(t);
    const Contraction contraction = contract_of(v_).contraction;
    if (multiplier_ != nullptr) {
      store_sums(t, sums(t));
    } else if (contraction == Contraction::dot_groups) {
      lower_channel_groups(t);
    } else if (contraction == Contraction::tile_dot) {
      lower_tile_products(t);
    } else {
      has_scaled_sums(v_) ? lower_block_tiles(t) : lower_tiles(t);
    }
    const Value stride = b_.arg(ArgField::dst_stride);
    const Value rows_done = v_.tile.m.is_fixed() ? b_.constant(v_.tile.m.fixed)
                                                 : b_.op(OpCode::length, {}, {.offset = v_.tile.m});
    const Value row_bytes = b_.op(OpCode::imul, {stride, rows_done});
    std::vector<Value> yields = {step_down(m_left, v_.tile.m),
                                 b_.op(OpCode::iadd, {dst, row_bytes})};
    push(yields, next(b_, lhs, lhs_span_, v_.tile.m, b_.arg(ArgField::lhs_stride)));
    yields.insert(yields.end(), ahead_.cursors.begin(), ahead_.cursors.end());
    return yields;
  }

  [[nodiscard]] bool is_indirect() const { return v_.family.operation == Operation::indirect; }

  Rows sums(const Tile1& t) {
    if (is_indirect()) return indirect_sums(t, *multiplier_, *make_multiplier(v_, true));
    if (is_unpacked(v_.lhs)) return float_sums(t, *multiplier_, *make_multiplier(v_, true));
    if (is_float(*v_.family.lhs)) return multiplier_->finish(t, multiply_all(t, *multiplier_, {}));
    return v_.rhs.block != 0 ? block_sums(t, *multiplier_) : channel_sums(t, *multiplier_);
  }

  const Variant& v_;
  std::optional<int64_t> totals_in_registers_;
  Builder b_;
  Span lhs_span_;
  Span rhs_span_;
  std::unique_ptr<Multiplier> multiplier_;
  Ahead ahead_;
  LinesAhead beside_;
};

/// Sums of codes in tiles, whole columns or none, 32 bits each.
void check_part(const Variant& v) {
  const Family& family = v.family;
  if (family.operation != Operation::part) return;
  const bool sums = family.dst == ElementType::i32, outputs = family.dst == ElementType::f32;
  const bool codes = family.lhs->scales == Granularity::row && v.rhs.block == 0;
  if (v.technique == Technique::tile && codes && (sums || outputs) && !family.accumulate) return;
  reject(
      "parts of k are of technique tile, codes with a scale a row and weights without blocks, dst "
      "i32 or, of the last ones, f32; nothing else is added to");
}

}  // namespace

int64_t movable_totals(const Variant& variant) {
  const bool is_product = variant.stage == Stage::none;
  if (!is_product || variant.rhs.block == 0 || !variant.isa->vector_bytes.is_fixed()) return 0;
  const Contraction contraction = contract_of(variant).contraction;
  if (contraction != Contraction::dot_depth && contraction != Contraction::dot_narrow &&
      contraction != Contraction::dot_pairs) {
    return 0;
  }
  return variant.tile.m.fixed * ratio(variant.tile.n, variant.isa->vector_bytes.divided(4));
}

Program lower(const Variant& variant, std::optional<int64_t> totals_in_registers) {
  check_part(variant);
  if (variant.window.height != 0) return lower_depthwise(variant);
  if (variant.stage != Stage::none) return lower_attention(variant);
  check_knobs(variant);
  if (variant.family.operation == Operation::decode) return lower_decode(variant);
  check_tile(variant);
  check_rows(variant);
  return KernelWriter(variant, totals_in_registers).write();
}

}  // namespace tw
