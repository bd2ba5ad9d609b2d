// One tile of the output while a kernel is being written: where its operands are, and the two
// things that differ between kernels, how a group of k is multiplied and how the sums become
// outputs.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "ir/builder.h"
#include "model/variant.h"

namespace tw {

/// Values of one 32-bit type, [row][vector], row-major: vector j holds columns j * lanes ...
using Rows = std::vector<std::vector<Value>>;

inline constexpr int64_t segment_lanes = 4;  ///< 32-bit lanes in 16 bytes

/// The panels that a tile's rows (lhs) or columns (rhs) lie in.
struct Panels1D {
  const Layout* layout = nullptr;
  std::vector<Value> base;  ///< each panel's first byte; panels beyond the edge repeat the last
  Value sub = no_value;     ///< first row in the panel when the tile is a part of it
  int64_t rows = 1;         ///< rows of the tile in one panel (lhs), vectors of it (rhs)
};

/// Far prefetches, whose panels several tiles of rows come back to: each tile fetches a part of
/// what lies ahead, so that memory is read evenly.
struct Ahead {
  std::vector<Value> cursors;  ///< a panel each: where the next tile's prefetches begin
  Value step = no_value;       ///< bytes that they move on in an iteration of the hot loop ...
  Value beside = no_value;     ///< ... and at the end of a long block
};

constexpr int64_t cache_line = 64;  ///< bytes

/// Prefetch::beside: where the line lies that is asked for beside a load, by the cursor that the
/// load is from.
using LinesAhead = std::map<Value, Value>;

struct Tile1 {
  Builder& b;
  const Variant& v;
  Panels1D lhs;
  Panels1D rhs;
  Value padded = no_value;        ///< k rounded up to what the layouts hold
  Value m_left = no_value;        ///< rows still to do, this tile's included
  Value n_left = no_value;        ///< columns likewise
  Value dst = no_value;           ///< the tile's first output
  Value column_bytes = no_value;  ///< of its first column, in a row of f32, as the bias is
  Value blocks = no_value;        ///< in k; none: there are no long ones
  Ahead* ahead = nullptr;         ///< k_loop() leaves where it got to; null: no far prefetches
  LinesAhead* beside = nullptr;   ///< of the hot loop at hand; null: not beside loads
  std::vector<Value> places =
      {};  ///< number_places() of the columns' bytes; none: those are widened
  std::optional<int64_t> totals_in_registers = {};  ///< as lower() takes it

  [[nodiscard]] Length lanes() const { return b.isa().vector_bytes.divided(4); }
  /// Vectors of f32 outputs in one row of the tile.
  [[nodiscard]] int64_t vectors() const { return ratio(v.tile.n, lanes()); }
};

/// A place in a packed operand: a pointer value and a constant offset.
struct Place {
  Value pointer = no_value;
  Length offset;
};

/// Where blocks' scaled sums add up: the first ones in registers, the others in memory.
struct TotalsRoom {
  Place memory;  ///< no_value: none are there
  size_t in_registers = 0;
};

/// What a row's accumulators start from: zero minus a value that was made before the loop over k,
/// or what the layout keeps; with blocks in every block.
struct Start {
  Place place;
  Value zero = no_value, negated = no_value;
};

// fields.cpp
/// Pointers to the tile's first row in every panel's field (fields that stand once in a panel).
std::vector<Value> field_pointers(const Tile1& t, const Panels1D& side, FieldKind kind);
/// Pointers to the tile's first row in every panel's codes; with blocks: to the first block.
std::vector<Value> code_pointers(const Tile1& t, const Panels1D& side);
/// With blocks: what a field (scales, or what they are multiples of) of a tile that is a part of a
/// panel is further away than its codes from where the whole panel's are, in bytes; no_value:
/// nothing.
Value beyond_codes(const Tile1& t, const Panels1D& side, FieldKind kind);
/// Where blocks begin: cursors of codes, and behind as many of those fields that stand apart ...
std::vector<Value> block_cursors(const Tile1& t, const Panels1D& side);
/// ... of which these are those of codes, and those of what has a value in every block.
std::vector<Value> code_cursors(const Layout& layout, std::vector<Value> cursors);
std::vector<Value> field_cursors(const Layout& layout, std::vector<Value> cursors);
/// Values of k in a panel. The other side may pad to more, or to fewer.
Value padded_k(const Tile1& t, const Layout& layout);
/// Of so many values of k of one panel.
Value code_bytes(const Tile1& t, const Layout& layout, Value k);
/// From the start of a panel, or of a block, to its codes.
Length codes_in_block(const Layout& layout);
/// From such a pointer, of long blocks from where a block's codes begin: where the code of (row of
/// the panel part, k) is, k a multiple of kr.
Length code_offset(const Layout& layout, int64_t row, int64_t k);
/// Bytes of codes (of short blocks: of everything) that `k` values of one panel take.
Length step_bytes(const Layout& layout, int64_t k);
/// Where row `row` of the tile keeps its value of an lhs field, given field_pointers.
Place lhs_row(const Tile1& t, const std::vector<Value>& pointers, int64_t row, FieldKind kind);
/// A vector of 32-bit values of an rhs field, for columns vector * lanes ..., likewise.
Place rhs_vector(const Tile1& t, const std::vector<Value>& pointers, int64_t vector);
/// 32 bits in every lane, as the lhs fields of a row want.
Value load_dup32(const Tile1& t, const Place& at, const std::string& name);
/// An rhs field of all the tile's columns, "name_0", "name_1" ...
std::vector<Value> load_columns(const Tile1& t, const std::vector<Value>& pointers,
                                const std::string& name);
/// Pointer i + 1 is `step` after pointer i as long as more than (i + 1) * unit rows are left, else
/// the same: rows beyond the edge repeat the last one, so that nothing beyond it is touched.
std::vector<Value> clamped_pointers(Builder& b, Value first, Value step, Value left, Length unit,
                                    int64_t count, const std::string& hint);
/// Throws std::invalid_argument unless vectors consist of 128-bit segments.
void check_segments(const Isa& isa);
/// 16 bytes in every segment of a vector.
Value load_segment(const Tile1& t, const Place& at, const std::string& name, Role role);

// codes.cpp
/// One vector of packed codes (or floats) of the tile, from value k on after the cursors;
/// "name_vector".
Value load_codes(const Tile1& t, const std::vector<Value>& rhs, int64_t vector, int64_t k,
                 const char* name = "raw");
/// Decodes vectors whose bytes belong to one column each: several codes (NibblePair::depth) or one
/// of 8 bits.
class Decoder {
 public:
  explicit Decoder(const Variant& v);
  /// Operands of a multiplication in a vector, DataOrder::distance of k apart.
  [[nodiscard]] int64_t operands() const { return 8 / bits_; }
  /// Makes what every vector needs, before any loop over k.
  void prepare(const Tile1& t);
  /// Those operands: unsigned codes, or of signed nibbles 16 * code; of bytes the bytes, as the
  /// layout has them; of a table its values.
  [[nodiscard]] std::vector<Value> operator()(const Tile1& t, Value raw, int64_t vector) const;
  /// Those of a vector of packed codes, as load_codes() takes it, with their tops.
  [[nodiscard]] std::vector<Value> load(const Tile1& t, const std::vector<Value>& rhs,
                                        int64_t vector, int64_t k) const;

  /// Where tops are: in which vector of a block's, from which bit of its bytes on.
  struct TopsAt {
    int64_t vector = 0, bit = 0;
    Value tops = no_value;  ///< the vector, once it is loaded
  };
  /// A vector of packed codes, of which one operand after the other is made.
  struct Packed {
    Value raw, cursor;
    int64_t vector, k;
    TopsAt tops;
  };
  [[nodiscard]] static Packed load_packed(const Tile1& t, const std::vector<Value>& rhs,
                                          int64_t vector, int64_t k);
  [[nodiscard]] Value operand(const Tile1& t, Packed& packed, int64_t i) const;

 private:
  [[nodiscard]] TopsAt tops_at(const Tile1& t, int64_t vector, int64_t k) const;
  [[nodiscard]] bool inserts(const Tile1& t) const;
  [[nodiscard]] Value inserted(const Tile1& t, Packed& packed, int64_t i) const;
  [[nodiscard]] static Value load_tops(const Tile1& t, const TopsAt& at, Packed& packed);
  [[nodiscard]] Value top_of(const Tile1& t, const TopsAt& at, Packed& packed) const;
  [[nodiscard]] static bool inserts_both(const Variant& v);
  [[nodiscard]] std::vector<Value> with_tops(const Tile1& t, Packed& packed) const;
  [[nodiscard]] std::vector<Value> high_nibbles(const Tile1& t, Value raw, int64_t vector) const;
  [[nodiscard]] Value finished(const Tile1& t, Packed& packed, int64_t i, Value code) const;
  [[nodiscard]] Value low_code(const Tile1& t, Value raw, int64_t vector, int i) const;
  void prepare_table(const Tile1& t);
  void prepare_takers(const Tile1& t);
  [[nodiscard]] Value value_of(const Tile1& t, Value code, int64_t vector) const;

  int bits_;  ///< of a code, without its tops
  bool signed_;
  int top_bits_;
  bool inserts_both_;  ///< nibbles into bytes that have the tops of both at once
  const CodeTable* table_;
  int offset_;  ///< of a table's values, where they are multiplied as unsigned bytes
  Value mask_ = no_value, top_mask_ = no_value;
  std::vector<Value> takers_;  ///< matrices that take out one code each, from the second on
  std::vector<Value> values_;  ///< the table: a vector, or its bytes four at a time
};

// code_tables.cpp
/// Whether nibbles that are unsigned are looked up in a table of their own ...
bool looks_up_raised(const Variant& v);
/// ... or in that of the values that they stand for, or of themselves, which the kernel puts there
/// first.
bool looks_up_values(const Variant& v);
void put_table(const Variant& v, Builder& b);
/// Vectors of bytes of one of codes that are neighbors in k, NibblePair::next: two of nibbles, four
/// of codes of 2 bits, for as many columns each.
class TableDecoder {
 public:
  explicit TableDecoder(const Variant& v);
  /// Vectors of bytes in one of codes.
  [[nodiscard]] int64_t count() const { return count_; }
  [[nodiscard]] std::vector<Value> operator()(const Tile1& t, Value raw, int64_t vector) const;

 private:
  int64_t count_;
  OpCode code_;
};

// codes.cpp
/// `bits` bits of an lhs row, from k on after the cursors, repeated over a vector.
Value load_activation(const Tile1& t, const std::vector<Value>& lhs, int64_t row, int64_t k,
                      int bits);
/// A row's starting sum in every 32-bit lane.
Value start_of(const Tile1& t, const Start& start, const std::string& name);
/// Minus the start of the row whose sum of codes is there; start_factor() says how much that is.
Value negated_start(const Tile1& t, const Place& sum);
/// Minus the row's (or its block's) sum of codes in every lane, of what the layout keeps there.
Value negated_codes(const Tile1& t, const Place& sum);
/// The same, of a vector of what the layout keeps: a negative multiple.
Value codes_of_sum(const Tile1& t, Value kept);
/// Adds up the independent sets: accumulators are [set][one].
std::vector<Value> add_sets(const Tile1& t, std::vector<Value> all, size_t sets);
/// Those of a row together: accumulators are [row][one].
Rows by_rows(const std::vector<Value>& vectors, int64_t rows);
/// Sums over the high nibbles, from sums over the raw bytes (16 * high + low + 8) and over the low
/// nibbles alone.
Value high_sum(const Tile1& t, Value high, Value low);

/// Vectors of the tile's columns.
struct Columns {
  int64_t first = 0, count = 0;  ///< 0: all of them
};
/// How a group of k values is multiplied: a technique with its decoder.
class Accumulation {
 public:
  virtual ~Accumulation() = default;
  /// k values that step() handles.
  [[nodiscard]] virtual int64_t group() const = 0;
  /// Makes what every step needs, before any loop over k.
  virtual void prepare(const Tile1& /*t*/) {}
  /// Accumulators before the first step; `starts`: of each lhs row, empty when sums start at 0.
  virtual std::vector<Value> start(const Tile1& t, const std::vector<Start>& starts) = 0;
  /// Before the steps of a block whose scales are the weights' own; `rhs`: as for column_scale().
  virtual void begin_block(const Tile1& /*t*/, const std::vector<Value>& /*rhs*/) {}
  /// Multiplies group number `g` after the cursors (one per panel).
  virtual void step(const Tile1& t, const std::vector<Value>& lhs, const std::vector<Value>& rhs,
                    int64_t g, std::vector<Value>& accumulators) = 0;
};
/// Room for a tile's totals as lower() was told, in memory of the Program behind so many bytes that
/// the caller may have too.
TotalsRoom make_totals_room(const Tile1& t, int64_t bytes_before = 0);
/// One whose sums fit in vector registers.
class Multiplier : public Accumulation {
 public:
  /// Sums of products, row-major; exact ones of integers.
  virtual Rows finish(const Tile1& t, const std::vector<Value>& accumulators) = 0;

  /// With blocks: one block's sums as f32, in vectors of an order of the multiplier's own ...
  virtual std::vector<Value> reals(const Tile1& t, const std::vector<Value>& accumulators);
  /// ... what each is multiplied by, from the columns' scales in vectors of outputs ...
  virtual std::vector<Value> column_scales(const Tile1& t, const std::vector<Value>& scales);
  /// ... and from where the rows' scales are ...
  virtual std::vector<Value> row_scales(const Tile1& t, const std::vector<Place>& rows);
  /// ... and, where columns have zero points, those, from vectors of outputs, and what they are
  /// multiplied by to be added before: minus the sums of codes of the rows' blocks, from where
  /// those are (as for start()). The products count; a power of two may go to either factor: the
  /// caller multiplies zero points in vectors of outputs by `by` times that (no_value: by 2) ...
  virtual std::vector<Value> zero_factors(const Tile1& t, float by);
  virtual std::vector<Value> negated_sums(const Tile1& t, const std::vector<Place>& rows);
  /// ... and all blocks' scaled sums, row-major.
  virtual Rows arrange(const Tile1& t, const std::vector<Value>& totals);
  /// Where those add up.
  [[nodiscard]] virtual TotalsRoom totals() const { return {}; }
};
/// Whether the scales of the rows' blocks are f16, once each ...
bool has_half_scales(const Tile1& t);
/// ... and of rows' values of that type, or of f32 once each, as many as a vector has lanes as f32,
/// from that of a row on.
Value rows_together(const Tile1& t, const Place& first);
/// Likewise one row's, in all lanes.
Value splat_row(const Tile1& t, const Place& at, const std::string& name);
/// Multiplier::row_scales() with one load for all of a row's vectors, or of several rows'.
std::vector<Value> shared_row_scales(const Tile1& t, const std::vector<Place>& rows);
/// Whether sums of blocks are those of raw bytes, without_factor() at the end only.
bool has_raw_blocks(const Variant& v);
/// Bytes of two columns' nibbles, multiplied as they are, 16 * high + low, and beside that the low
/// nibbles alone.
class RawBytes {
 public:
  /// `halves`: vectors of outputs have columns of high sums in their lower half, of low ones in
  /// the upper; else they are of either in turn.
  RawBytes(const Variant& v, bool halves);
  /// Makes what every block needs, before any loop over k.
  void prepare(const Tile1& t);
  /// Vector number `j`.
  [[nodiscard]] Value low_nibbles(const Tile1& t, Value raw, int64_t j) const;
  /// High and low sums of a block as f32: 16 * high + low - low, and low.
  [[nodiscard]] std::pair<Value, Value> reals(const Tile1& t, Value high, Value low) const;
  /// Minus the sum of codes as f32, 8 times, from vectors that accumulators start from ...
  [[nodiscard]] Value negated_sum(const Tile1& t, Value start) const;
  /// ... and Multiplier::zero_factors() for those: 2 for high and an eighth for low sums.
  [[nodiscard]] std::vector<Value> zero_factors(const Tile1& t, float by) const;

 private:
  bool halves_, in_blocks_;
  bool has_base_;  ///< the lhs sums make floats of the accumulators (float_base)
  Value mask_ = no_value, base_ = no_value;
  std::map<float, Value> made_;  ///< of halves
};
/// Whether all codes are multiplied as high nibbles, so that sums are 16 times too large ...
bool has_high_nibbles(const Variant& v);
/// ... which their floats are not ...
Value real_of_sum(const Tile1& t, Value sum);
/// ... or which they are until the end, of sums in vectors, where conversion does not divide: what
/// scales of f16 make of blocks is far from any limit, so that nothing is rounded otherwise.
bool keeps_factor(const Tile1& t);
/// Every other vector, of high nibbles, or every one, 16 times less.
std::vector<Value> without_factor(const Tile1& t, std::vector<Value> totals, size_t every = 2);
std::unique_ptr<Multiplier> make_depth_dot(const Variant& v);
std::unique_ptr<Multiplier> make_column_dot(const Variant& v);
/// With blocks, for one row whose sums are in accumulator tiles until a block ends.
std::unique_ptr<Multiplier> make_group_sums(const Variant& v);
std::unique_ptr<Multiplier> make_narrow_dot(const Variant& v);
std::unique_ptr<Multiplier> make_pair_dot(const Variant& v);
std::unique_ptr<Multiplier> make_mmla(const Variant& v);
/// sum + x * a of floats, rounded once, or in portable C twice.
Value multiply_add(Builder& b, Value x, Value a, Value sum, const std::string& name, Role role);
/// The same of a tile's accumulators.
Value multiply_add(const Tile1& t, Value weights, Value a, Value sum);
/// For floats: sums are f32. `single`: a value of k at a time, where k ends.
std::unique_ptr<Multiplier> make_fma(const Variant& v, bool single);
/// Of operands of 16 bits, whose sums are f32, or f16.
std::unique_ptr<Multiplier> make_fma_halves(const Variant& v, bool single);
/// The same of weights in pairs of k.
std::unique_ptr<Multiplier> make_fma_pairs(const Variant& v, bool single);
/// One whose sums are in accumulator tiles, [block of rows][vector of columns].
class TileMultiplier : public Accumulation {
 public:
  /// The exact sums of row `row` (a scalar, within the block) and of vector `vector`.
  /// `negated`: minus that row's start in every lane, no_value when the layout keeps no sums.
  virtual Value row_sum(const Tile1& t, const std::vector<Value>& tiles, int64_t block,
                        int64_t vector, Value row, Value negated) = 0;
  /// step() for one vector of columns, or for all of them.
  virtual void step_columns(const Tile1& t, const std::vector<Value>& lhs,
                            const std::vector<Value>& rhs, int64_t g, Columns columns,
                            std::vector<Value>& tiles) = 0;
};
std::unique_ptr<TileMultiplier> make_outer(const Variant& v);

/// What outputs are made of, row-major: integers of formats with one scale per channel ...
Rows channel_sums(const Tile1& t, Multiplier& multiplier);
/// ... f32 of formats with scales per block of k, of the weights or of both sides ...
Rows block_sums(const Tile1& t, Multiplier& multiplier);
/// ... and of floats. `single` takes one k at a time, where k ends.
Rows float_sums(const Tile1& t, Multiplier& multiplier, Multiplier& single);
/// The same of rows that pointers tell, chunk by chunk; bases of the lhs are places in the table.
Rows indirect_sums(const Tile1& t, Multiplier& multiplier, Multiplier& single);
inline constexpr int64_t pointer_bytes = 8;
/// Accumulators over all blocks, whose weights are made with their scales.
std::vector<Value> multiply_blocks(const Tile1& t, Accumulation& multiplier);
/// The k loop and the outputs, with sums in accumulator tiles ...
void lower_tiles(const Tile1& t);
/// ... of which four rows make one row of outputs ...
void lower_channel_groups(const Tile1& t);
/// ... or with what blocks add up to in other tiles ...
void lower_block_tiles(const Tile1& t);
/// ... or where tiles are on either side, too.
void lower_tile_products(const Tile1& t);

// epilogue_channel.cpp
/// Multiplies over all of k, in steps of unroll_k and, behind them, of what layouts pad to.
/// `starts` as for Accumulation::start.
std::vector<Value> multiply_all(const Tile1& t, Accumulation& how,
                                const std::vector<Start>& starts);

// epilogue_block.cpp
/// Where a field that stands in every block is, from the block's start; behind the codes of long
/// blocks from their end.
Length block_field(const Layout& layout, FieldKind kind);
/// One vector of the block's column scales (or zero points) as f32; `rhs`: cursors at the block (at
/// the end of long ones), moved by beyond_codes().
Value column_scale(const Tile1& t, const std::vector<Value>& rhs, int64_t vector,
                   FieldKind kind = FieldKind::scales);
/// Such cursors moved by what beyond_codes() gives; none: as they are.
std::vector<Value> moved_beyond(const Tile1& t, std::vector<Value> cursors, Value beyond);
/// column_scale() of those.
std::vector<Value> block_columns(const Tile1& t, const std::vector<Value>& rhs, FieldKind kind,
                                 Columns columns = {});
/// Whether a field of long blocks stands behind their codes.
bool is_behind_codes(const Layout& layout, FieldKind kind);
/// Cursors from a long block's start to where its codes end.
std::vector<Value> ends_of_codes(const Tile1& t, std::vector<Value> cursors, const Layout& layout);
/// Blocks in all of k, and super-blocks ...
Value count_blocks(const Tile1& t, const std::string& name = "blocks");
Value count_super_blocks(const Tile1& t);
/// ... or the latter only where their blocks' scales are numbers of steps, else blocks.
Value count_whole_blocks(const Tile1& t);

// k_loop.cpp
/// A loop over k: `carried` values beside the cursors, `body(lhs, rhs, carried, group)` returns
/// their next values; the cursors advance over k values of every panel.
using KBody =
    std::function<std::vector<Value>(const std::vector<Value>& lhs, const std::vector<Value>& rhs,
                                     std::vector<Value> carried, int64_t group)>;
struct KLoop {
  Value count = no_value;
  int64_t k = 0;       ///< values of k that an iteration handles
  int64_t groups = 1;  ///< calls of the body in an iteration
  bool hot = true;
  Length rhs_bytes = 0;  ///< that the rhs cursors move on in an iteration; 0: by those values of k
};
struct KState {
  std::vector<Value> lhs, rhs, carried;
};
KState k_loop(const Tile1& t, const KLoop& loop, const KState& start, const KBody& body);
/// The same of steps, from number `first` on in every iteration.
KState step_loop(const Tile1& t, const KLoop& loop, const KState& start, Accumulation& how,
                 int64_t first = 0);
/// x / by, a power of two.
Value quotient(Builder& b, Value x, int64_t by, const std::string& name = "");
/// multiply_all() over so many values of k, without what is left behind the last whole multiple of
/// what the lhs pads to; with where it got to.
KState multiply_whole(const Tile1& t, Accumulation& how, const std::vector<Start>& starts, Value k);
/// A loop over long blocks: the body gets cursors at a block's start, leaves them at the end of its
/// codes, and returns the next carried values.
using BlockBody = std::function<std::vector<Value>(KState& block)>;
KState block_loop(const Tile1& t, Value count, const KState& start, const BlockBody& body);
/// A loop over short blocks, each of which is one iteration of the hot loop with so many groups.
/// Where scales are numbers of steps, it is inside one over super-blocks: `begin` moves cursors,
/// and what else needs it, over what stands before a super-block's blocks. `count`: as
/// count_whole_blocks() gives it.
KState short_blocks(const Tile1& t, Value count, const KState& start, int64_t groups,
                    const std::function<void(KState& super)>& begin, const KBody& body);
/// The loop over k of a long one, which moves its cursors; returns what `carried` becomes.
std::vector<Value> k_of_block(const Tile1& t, KState& block, int64_t group,
                              const std::vector<Value>& carried, const KBody& body);

// store.cpp
/// Fetches the tile's output lines before its k loop, so that the stores behind it do not wait.
void prefetch_outputs(const Tile1& t);
/// Where the bias of each vector of columns lies: the caller's if there is one, else the packed
/// one.
std::vector<Place> bias_places(const Tile1& t, const std::vector<Value>& packed);
/// The columns of vector `vector` that exist.
Value column_predicate(const Tile1& t, int64_t vector);
/// The columns that exist, a predicate for each vector of them.
std::vector<Value> column_predicates(const Tile1& t);

}  // namespace tw
