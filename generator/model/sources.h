// What packers of weights read, as axes. A new source is a row in sources.cpp.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/axes.h"
#include "model/format.h"

namespace tw {

struct Source {
  std::string_view name;  ///< as specs and rows of the registry have it
  Part axes;              ///< the stride of the outermost rows is the caller's
  /// Zero points beside the weights are unsigned codes as wide as theirs, those of a column from a
  /// whole byte on; else of the type of the scales.
  bool zero_codes = false;
  const CodeTable* table = nullptr;  ///< of the values that codes stand for; null: none
};

/// Those of one name differ in what their values are. In the order of tw_rhs_order.
const std::vector<Source>& sources();

/// Names, of those that packers bring into layouts of that format.
std::vector<std::string> source_names(const Format& format);

/// That of integers which keeps the codes and scales of a source in blocks. Throws std::logic_error
/// if there is none.
const Format& format_of(const Source& source);

/// The source that holds what the layout does, or, for layouts of floats, what is converted to it;
/// null: none of that name.
const Source* find_source(std::string_view name, const Layout& layout);
/// Rows of floats of that type, one row after the other.
const Source& rows_of(ElementType type);
/// Bits of its codes that stand elsewhere than the others.
int top_bits(const Source& source);
/// Whether its values become floats of another type on their way into the layout.
bool converts(const Source& source, const Layout& layout);
/// Whether its codes, whose upper bits stand elsewhere, are whole in the layout.
bool joins_codes(const Source& source, const Layout& layout);

/// What negates a scale of the source, as bits, where it has those of codes that count down; else
/// 0.
int64_t sign_of_scales(const Source& source);
/// Bits from where a row begins to what it keeps of a value of k.
int64_t source_bit(const Source& source, FieldKind kind, int64_t k);
/// Whether a row holds one value of k of each column, not one column.
bool rows_are_k(const Source& source);
/// Values of k that stand together with their scales; 0: those are elsewhere.
int64_t block_of(const Source& source);
/// Bytes from one such block to the next one.
int64_t block_bytes(const Source& source);
/// What layouts keep of its scales, or of the steps that those are numbers of.
ElementType kept_scales(const Source& source);

}  // namespace tw
