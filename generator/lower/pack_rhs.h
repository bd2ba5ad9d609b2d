// What the RHS packers' Programs have in common.
#pragma once

#include <string>
#include <vector>

#include "lower/pack.h"
#include "lower/pack_sums.h"
#include "lower/pack_walk.h"
#include "lower/relayout.h"

namespace tw {

/// Layouts that the vectorized packers know: codes of 4 bits in pairs or of 8 bits, no blocks, i32
/// sums (once, with the factor that CodeSums gives them) behind the data, panels of fixed size.
bool is_plain_panel(const Layout& layout);

/// Packers by the ISA's moves.
bool can_pack_nxk(const Layout& layout, const Source& source, const Isa& isa);
void lower_pack_nxk(Builder& b, const Layout& layout, const Source& source);
bool can_pack_kxn(const Layout& layout, const Source& source, const Isa& isa);
void lower_pack_kxn(Builder& b, const Layout& layout, const Source& source);
bool can_pack_blocks(const Layout& layout, const Source& source, const Isa& isa);
void lower_pack_blocks(Builder& b, const Layout& layout, const Source& source);
/// Value by value.
void lower_pack_plain(Builder& b, const Layout& layout, const Source& source);
/// For static activations, of columns that are packed: their sums become the bias, and scales those
/// of the outputs.
void finish_columns(Builder& b, const Layout& layout);

/// True when the ISA has every operation, written as in `means:`, "zip_lo.32".
bool has_all(const Isa& isa, std::initializer_list<const char*> operations);

/// Whole steps of codes that one of the inner loops packs.
struct PackRun {
  Value source;  ///< the first row's
  Value stride;  ///< from row to row
  Value steps;
  Value ahead;                      ///< n x k: where what follows is; k x n: how far ahead it is
  Value packed;                     ///< where they go; vectors are aligned there to be streamed
  Value sums;                       ///< likewise, or none; they are added to what is there
  Value panel_stride = no_value;    ///< k x n: from panel to panel
  Value units = no_value;           ///< n x k: of a panel as wide as vectors, that are packed
  Value scales = no_value;          ///< of blocks: as they are packed, block by block
  Value numbers = no_value;         ///< of super-blocks: where the first row's numbers are ...
  Value numbers_stride = no_value;  ///< ... from row to row
};

/// Calls body(k, copied) for so many whole steps of `step` values from `first_k` on, if there are
/// any, with 0, then with 1 for what is behind them and begins before `end`: steps that are copied
/// first, `at_once` or what is left.
void for_runs(Builder& b, Value first_k, Value steps, int64_t step, Value end,
              const std::function<void(Value k, Value copied)>& body, int64_t at_once = 1);

/// `from` + i * stride for i in [first, first + count).
std::vector<Value> strided(Builder& b, Value from, Value stride, int64_t first, int64_t count,
                           const std::string& name);

/// Columns that are rows of k values in memory.
struct PackRows {
  Value first;
  Value stride;  ///< from row to row
};
/// A panel's, whose source's rows are that far apart.
PackRows rows_of_panel(Builder& b, const Panel& panel, Value stride);
/// `rows`; or `copies` that `copy` makes of them, unless `copied` is 0.
PackRows rows_or_copies(Builder& b, const PackRows& rows, Value copied, const PackRows& copies,
                        const std::function<void()>& copy);
/// Fetches so many bytes.
void fetch_rows(Builder& b, Value from, int64_t bytes);
/// Calls body(from, to), which returns where the next row is and goes, for the rows of a panel that
/// exist; or for all of the panel's, those beyond the last being that one again.
void for_rows(Builder& b, const Layout& layout, const char* name, Value rows,
              std::vector<Value> from_to, const Builder::Body& body);

/// Packs a run; copied ones and those that are not aligned with plain stores, as all that never
/// stream. copied: 0 or 1, or none.
void pack_run(Builder& b, const PackRun& run, bool streams, Value copied,
              const std::function<void(const PackRun&, bool stream)>& pack);

/// Stores packed vectors: flips the signs of codes, counts the sums, chooses the kind of store.
struct PackedStore {
  Builder& b;
  const CodeSums& sums;
  Value flip;  ///< none: signs are as they should be
  bool stream;
  /// `vector` is the vector's number within its group of k (and panel).
  void operator()(Value pointer, int64_t offset, size_t vector, Value codes,
                  std::span<Value> carried) const;
};

/// Values of k in one group: what the bytes of one column, kr of them, hold.
inline int64_t group_k(const Layout& layout) {
  return layout.order.kr * depth_codes(layout);
}
/// Nibbles of a byte are further apart in k than the bytes that stay together.
inline bool is_apart(const Layout& layout) {
  return layout.order.pair == NibblePair::depth && layout.order.distance != layout.order.kr;
}
/// Values in so many bytes.
inline int64_t values_in(const Layout& layout, int64_t bytes) {
  return bytes * 8 / bits(layout.element);
}
/// Columns whose packed bytes of one group a vector holds.
inline int64_t vector_columns(const Layout& layout, const Isa& isa) {
  return values_in(layout, isa.vector_bytes.fixed) / group_k(layout);
}
/// Packed bytes of one group of k of a whole panel.
inline int64_t group_bytes(const Layout& layout) {
  return layout.panel.fixed * group_k(layout) * bits(layout.element) / 8;
}
/// The number of a packed vector within its group of k.
inline size_t vector_of(const Layout& layout, const Isa& isa, int64_t offset) {
  return static_cast<size_t>(offset % group_bytes(layout) / isa.vector_bytes.fixed);
}

}  // namespace tw
