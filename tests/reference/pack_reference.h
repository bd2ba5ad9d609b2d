// Packed operands in plain C++, from a layout's canonical text (tw_layout::text). Shares no code
// with the generator.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "reference/fused.h"
#include "reference/half_reference.h"
#include "reference/matmul_reference.h"

namespace tw::test {

struct FieldText {
  std::string kind;  ///< "data", "tops", "sums", "zeros", "scales", "minimums", "offsets", "bias"
  std::string type;  ///< "i32", "f32", "f16", "bf16"
  int factor = 1;    ///< stored are sums times it, scales divided by it
  int base = 0;      ///< stored are sums plus it
  size_t repeat = 1;
  bool per_block = false;
  bool apart = false;  ///< per block, but those of all blocks behind all codes
  bool per_super_block = false;
};

/// Which codes share a byte, in the words of `pair=`.
enum class Pair : uint8_t { none, depth, next, column };

/// "rhs i4 n8 kr4 pair=depth16 ss k%32 edge=last [data|sums:i32*16|scales:f32/16|bias:f32]"
struct LayoutText {
  bool lhs = false;
  bool floats = false;  ///< instead of codes
  std::string type;     ///< "i4" .. "f32"
  std::string table;    ///< of what codes stand for, "iq4"; empty: they are numbers
  size_t bits = 8, panel = 1, kr = 4, k_multiple = 32;
  size_t segments = 1;  ///< 16-byte parts of a vector, where panels are as wide as vectors
  Pair pair = Pair::none;
  size_t distance = 0;     ///< pair=depth: in k, from code to code of a byte
  bool edge_last = false;  ///< what does not exist is like the last one that does, not zero
  bool ties_away = false;  ///< how an lhs is rounded
  bool low_unsigned = false, high_unsigned = false;  ///< bytes: low
  bool even_first = false;  ///< of kr values of k, the even ones before the odd ones
  int raised = 0;           ///< bytes: what is added to a code, or to the value of a table
  size_t block = 0;         ///< values of k that share the fields per block; 0: no blocks
  size_t super_block = 0;  ///< those of blocks that stand together, behind steps; 0: there are none
  size_t top_bits = 0;     ///< of a code, above the others
  bool minimums = false;
  std::vector<FieldText> fields;

  /// Whether scales and minimums are whole numbers of those.
  [[nodiscard]] bool steps() const {
    return std::any_of(fields.begin(), fields.end(),
                       [](const FieldText& field) { return field.per_super_block; });
  }
  /// With tops, what code 0 is stored as: codes above minimums count from the middle of those of
  /// the lower bits.
  [[nodiscard]] int middle() const { return 1 << (minimums ? bits - 1 : bits + top_bits - 1); }
  /// Of super-blocks, what scales and minimums are whole numbers of.
  [[nodiscard]] int least_number() const {
    if (minimums) return 0;
    return bits == 2 || !table.empty() ? -32 : -128;
  }
  [[nodiscard]] int most_number() const {
    if (minimums) return bits == 2 ? 15 : 63;
    return bits == 2 || !table.empty() ? 31 : 127;
  }
};

/// "data", "data/b", "sums:i32*-8x2/b", "scales:f32/16"
inline FieldText read_field(std::string text) {
  FieldText field;
  if (text.size() > 2 && (text.substr(text.size() - 2) == "/b" || text.back() == 'B')) {
    field.per_block = true;
    field.apart = text.back() == 'B';
    text.resize(text.size() - 2);
  }
  if (text.size() > 2 && text.substr(text.size() - 2) == "/s") {
    field.per_super_block = true;
    text.resize(text.size() - 2);
  }
  const size_t colon = text.find(':');
  field.kind = text.substr(0, colon);
  if (colon == std::string::npos) return field;
  const size_t after = std::min(text.find_first_of("*/x", colon), text.size());
  field.type = text.substr(colon + 1, after - colon - 1);
  const size_t times = text.find('x', colon);
  const size_t plus = text.find('+', colon);
  if (plus != std::string::npos) field.base = std::atoi(text.c_str() + plus + 1);
  if (after < text.size() && text[after] != 'x') {
    field.factor = std::atoi(text.c_str() + after + 1);
  }
  if (times != std::string::npos) {
    field.repeat = static_cast<size_t>(std::atoi(text.c_str() + times + 1));
  }
  return field;
}

/// "column", "next", "depth" (kr apart), "depth16"
inline void read_pair(const std::string& text, LayoutText& layout) {
  if (text.rfind("depth", 0) == 0) {
    layout.pair = Pair::depth;
    layout.distance = text == "depth" ? layout.kr : static_cast<size_t>(std::stoi(text.substr(5)));
  } else if (text == "next" || text == "column") {
    layout.pair = text == "next" ? Pair::next : Pair::column;
  } else {
    throw std::invalid_argument("pair=" + text);
  }
}

inline LayoutText parse_layout(const std::string& text, size_t vl) {
  LayoutText layout;
  std::istringstream words(text);
  std::string word;
  auto number = [&](size_t from) { return static_cast<size_t>(std::atoi(word.c_str() + from)); };
  while (words >> word) {
    const size_t plus = word[0] == 'i' ? word.find('+') : std::string::npos;
    if (plus != std::string::npos) {
      layout.raised = static_cast<int>(number(plus + 1));
      word.resize(plus);
    }
    if (word[0] == 'i' && word.find('=') == 2) {
      layout.table = word.substr(3);
      word = word.substr(0, 2);
    }
    if (word == "lhs" || word == "rhs") {
      layout.lhs = word == "lhs";
    } else if (word == "i1" || word == "i2" || word == "i4" || word == "i8" || word == "i16" ||
               word == "f16" || word == "bf16" || word == "f32") {
      layout.type = word;
      layout.bits = number(word[0] == 'b' ? 2 : 1);
      layout.floats = word[0] != 'i';
    } else if (is_byte_float(word)) {
      layout.type = word;
    } else if (word.rfind("kr", 0) == 0) {
      layout.kr = number(2);
    } else if (word.rfind("k%", 0) == 0) {
      layout.k_multiple = number(2);
    } else if (word.rfind("pair=", 0) == 0) {
      read_pair(word.substr(5), layout);
    } else if (word[0] == 'b') {
      layout.block = number(1);
      const size_t of = word.find("of");
      if (of != std::string::npos) layout.super_block = number(of + 2);
    } else if (word == "edge=last") {
      layout.edge_last = true;
    } else if (word == "u") {
      layout.low_unsigned = true;
    } else if (word == "even-first") {
      layout.even_first = true;
    } else if (word == "round=away") {
      layout.ties_away = true;
    } else if (word.front() == '[') {
      std::istringstream fields(word.substr(1, word.size() - 2));
      for (std::string field; std::getline(fields, field, '|');) {
        layout.fields.push_back(read_field(field));
        layout.minimums |= layout.fields.back().kind == "minimums";
        if (layout.fields.back().kind == "tops") {
          layout.top_bits = static_cast<size_t>(std::atoi(layout.fields.back().type.c_str() + 1));
        }
      }
    } else if (word.size() == 2 && (word[0] == 'u' || word[0] == 's')) {
      layout.low_unsigned = word[0] == 'u';
      layout.high_unsigned = word[1] == 'u';
    } else if (word[0] == 'm' || word[0] == 'n') {
      layout.panel = number(1);
      if (word.find("vl") != std::string::npos) {
        layout.segments = vl;
        layout.panel *= vl;
      }
    } else {
      throw std::invalid_argument("layout '" + text + "': " + word);
    }
  }
  return layout;
}

/// `vl` is the length of vectors in units of 16 bytes: panels of "n8vl" have 8 * vl columns. Of a
/// text that was read before it is what was made then: kernels by the hundred have the same
/// layouts.
inline const LayoutText& read_layout(const std::string& text, size_t vl = 1) {
  thread_local std::map<std::pair<std::string, size_t>, LayoutText> known;
  const auto at = known.find({text, vl});
  return at != known.end() ? at->second : known[{text, vl}] = parse_layout(text, vl);
}

inline FieldText scales_of(const LayoutText& layout) {
  for (const FieldText& field : layout.fields) {
    if (field.kind == "scales") return field;
  }
  return {};
}

/// Whether a layout keeps what a block's code 0 is worth.
inline bool has_offsets(const LayoutText& layout) {
  return std::any_of(layout.fields.begin(), layout.fields.end(),
                     [](const FieldText& field) { return field.kind == "offsets"; });
}

/// By what a layout divides its scales.
inline int scale_factor(const LayoutText& layout) {
  return scales_of(layout).factor;
}

/// What biases are floats of, where they are.
inline std::string bias_type(const LayoutText& layout) {
  for (const FieldText& field : layout.fields) {
    if (field.kind == "bias" && field.type == "f16") return field.type;
  }
  return "f32";
}

/// An operand as a matrix of codes, row by row (columns of the output for a rhs).
struct OperandCodes {
  size_t rows = 0, k = 0;
  std::vector<int8_t> codes;  ///< [rows][k]; one row more if the source's last byte has it
  std::vector<int32_t> zero_points;
  std::vector<float> scales, bias;     ///< scales: [rows], or [rows][blocks]
  bool by_pairs = false;               ///< a source byte holds codes of two rows
  std::vector<uint32_t> floats = {};   ///< [rows][k], instead of codes: the bits
  std::vector<int32_t> sums = {};      ///< [rows], instead of the bias
  std::vector<float> real_zeros = {};  ///< of a rhs, as the scales
  std::vector<float> minimums = {};    ///< likewise
  Numbers numbers = {};                ///< instead of scales and minimums, with super-blocks
  std::vector<int8_t> values = {};     ///< [rows][k], what codes stand for: of a table
};

/// Byte within a panel's data, and bits below the code there.
struct BytePlace {
  size_t byte;
  size_t shift;
};

inline BytePlace place_of(const LayoutText& layout, size_t row, size_t k) {
  const size_t kr = layout.kr;
  if (layout.pair == Pair::none) {
    const size_t in_group = layout.even_first ? k % kr / 2 + k % 2 * (kr / 2) : k % kr;
    return {((k / kr * layout.panel + row) * kr + in_group) * (layout.bits / 8), 0};
  }
  const size_t codes = 8 / layout.bits;  // of a byte
  if (layout.pair == Pair::depth) {
    const size_t distance = layout.distance;
    const size_t run = k / (codes * distance) * (distance / kr) + k % distance / kr;
    return {(run * layout.panel + row) * kr + k % kr, k / distance % codes * layout.bits};
  }
  if (layout.pair == Pair::next) {
    return {((k / kr * layout.panel + row) * kr + k % kr) / codes, k % codes * layout.bits};
  }
  const size_t bytes = 16 * layout.segments;
  const size_t part = bytes / kr;  // a vector: `part` columns highest, the next `part` below them
  const size_t vector = row / (codes * part);
  const size_t group = k / kr * (layout.panel / (codes * part));
  return {(group + vector) * bytes + row % part * kr + k % kr,
          (codes - 1 - row / part % codes) * layout.bits};
}

/// After so many values of k places are the same again, in the next bytes.
inline size_t period_of(const LayoutText& layout) {
  return layout.pair == Pair::depth ? 8 / layout.bits * layout.distance : layout.kr;
}

/// The places of a panel's first values, period_of() of each row.
inline std::vector<BytePlace> first_places(const LayoutText& layout) {
  std::vector<BytePlace> places;
  for (size_t i = 0; i < layout.panel * period_of(layout); ++i) {
    places.push_back(place_of(layout, i / period_of(layout), i % period_of(layout)));
  }
  return places;
}

/// Whether a column's sums are taken 16 times: its codes are the high nibbles of bytes that are
/// multiplied as they are, where a block's sums stand first on the lhs.
inline bool counts_sixteenfold(const LayoutText& lhs, const LayoutText& rhs, size_t column) {
  const bool bytes =
      rhs.block != 0 && rhs.pair == Pair::column && lhs.fields.front().kind == "sums";
  return bytes && place_of(rhs, column % rhs.panel, 0).shift != 0;
}

/// Likewise of a code's tops, within a block's plane of them: a byte has those of as many groups of
/// k as there are, then those of columns as far away as they allow.
inline BytePlace top_place_of(const LayoutText& layout, size_t row, size_t k) {
  const size_t kr = layout.kr, codes = 8 / layout.top_bits;
  const size_t groups = std::min(codes, layout.block / kr);
  const size_t vectors = codes / groups;
  const size_t columns = layout.panel / vectors;
  const size_t line = k / kr / groups * columns;
  const size_t digit = k / kr % groups + groups * (row / columns);
  return {(line + row % columns) * kr + k % kr, digit * layout.top_bits};
}

/// The tops of a block's codes, of rows that exist.
inline void put_tops(const LayoutText& layout, const OperandCodes& from, size_t first, size_t begin,
                     std::vector<uint8_t>& out) {
  const size_t plane = out.size();
  out.resize(plane + layout.panel * layout.block * layout.top_bits / 8);
  for (size_t r = 0; r < layout.panel && first + r < from.rows; ++r) {
    for (size_t k = 0; k < layout.block; ++k) {
      const BytePlace place = top_place_of(layout, r, k);
      const int stored = from.codes[(first + r) * from.k + begin + k] + layout.middle();
      out[plane + place.byte] |= static_cast<uint8_t>(stored >> layout.bits << place.shift);
    }
  }
}

/// `shift`: of the bits in the byte `at`.
inline void put_code(const LayoutText& layout, uint8_t* at, size_t shift, int code) {
  if (layout.bits >= 8) {
    const int stored = (layout.low_unsigned ? code + 128 : code) + layout.raised;
    for (size_t i = 0; i < layout.bits / 8; ++i) at[i] = static_cast<uint8_t>(stored >> (8 * i));
    return;
  }
  const bool is_high = shift + layout.bits == 8;
  const int half = 1 << (layout.bits - 1);
  const int middle = layout.top_bits != 0 ? layout.middle() : half;
  const int stored = (is_high ? layout.high_unsigned : layout.low_unsigned) ? code + middle : code;
  *at |= static_cast<uint8_t>((stored & (2 * half - 1)) << shift);
}

/// Sum of a row's codes over [begin, end).
inline int32_t sum_of_codes(const OperandCodes& from, size_t row, size_t begin, size_t end) {
  int32_t sum = 0;
  const std::vector<int8_t>& values = from.values.empty() ? from.codes : from.values;
  for (size_t k = begin; k < end; ++k) sum += values[row * from.k + k];
  return sum;
}

/// What a field keeps of a row (and block): the low bytes of it.
inline uint32_t field_value(const LayoutText& layout, const FieldText& field,
                            const OperandCodes& from, size_t row, size_t block) {
  const size_t blocks = layout.block == 0 ? 1 : from.k / layout.block;
  const size_t span = layout.block == 0 ? from.k : layout.block;
  const size_t scales = blocks == 0 ? 0 : from.scales.size() / from.rows;  // of a row
  const size_t at = row * scales + (field.per_block ? block : 0);
  if (layout.steps() && field.kind != "bias") {
    const size_t supers = from.k / layout.super_block;
    const Numbers& numbers = from.numbers;
    if (field.kind == "scales") return static_cast<uint32_t>(numbers.scales[row * blocks + block]);
    if (field.kind == "minimums")
      return static_cast<uint32_t>(numbers.minimums[row * blocks + block]);
    const auto& steps = field.kind == "scale_steps" ? numbers.scale_steps : numbers.minimum_steps;
    return float_bits(field.type, steps[row * supers + block * layout.block / layout.super_block]);
  }
  if (field.kind == "zeros" && field.type != "i32") {
    return float_bits(field.type, from.real_zeros[at]);
  }
  if (field.kind == "offsets") return float_bits("f32", 0 - from.real_zeros[at] * from.scales[at]);
  if (field.kind == "minimums") return float_bits(field.type, from.minimums[at]);
  if (field.kind == "zeros") return static_cast<uint32_t>(-from.zero_points[row]);
  if (field.kind == "scales") {
    const float scale = from.scales[at] / static_cast<float>(field.factor);
    return field.factor == 1 ? float_bits(field.type, scale) : output_bits(field.type, scale);
  }
  if (field.kind == "bias" && field.type == "i32") return static_cast<uint32_t>(from.sums[row]);
  if (field.kind == "bias") return output_bits(field.type, from.bias[row]);
  if (field.kind != "sums") throw std::invalid_argument("field " + field.kind);
  if (field.type == "f32" && field.per_block) {
    const int32_t sum = sum_of_codes(from, row, block * span, (block + 1) * span);
    return float_bits("f32", static_cast<float>(sum) * from.scales[at]);
  }
  if (field.type == "f32") {
    float total = 0;
    for (size_t b = 0; b < blocks; ++b) {
      const auto sum = static_cast<float>(sum_of_codes(from, row, b * span, (b + 1) * span));
      total = fused(sum, from.scales[row * scales + b], total);
    }
    return float_bits("f32", total);
  }
  const size_t begin = field.per_block ? block * span : 0;
  const int32_t sum = sum_of_codes(from, row, begin, begin + span);
  return static_cast<uint32_t>(field.base + field.factor * sum);
}

/// The row whose codes stand at `row` of the padded operand; from.rows: none, but zeros.
inline size_t codes_row(const LayoutText& layout, const OperandCodes& from, size_t row) {
  if (row < from.rows) return row;
  if (!layout.edge_last) return from.rows;
  return from.by_pairs ? (from.rows - 1) / 2 * 2 + row % 2 : from.rows - 1;
}

/// The code at (row, k) of the padded operand.
inline int code_of(const LayoutText& layout, const OperandCodes& from, size_t row, size_t k) {
  if (layout.edge_last && layout.lhs) k = std::min(k, from.k - 1);
  if (k >= from.k || (row >= from.rows && !layout.edge_last)) return 0;
  return from.codes[codes_row(layout, from, row) * from.k + k];
}

/// The codes of a panel (with blocks: of one block of it), at the end of `out`.
inline void put_data(const LayoutText& layout, const std::vector<BytePlace>& places,
                     const OperandCodes& from, size_t first, size_t begin, size_t count,
                     std::vector<uint8_t>& out) {
  const size_t data = out.size();
  out.resize(data + layout.panel * count * layout.bits / 8);
  const size_t period = period_of(layout), step = layout.panel * period * layout.bits / 8;
  for (size_t r = 0; r < layout.panel; ++r) {
    const size_t row = first + r;
    if (layout.top_bits != 0 && row >= from.rows) break;  // their scales are 0
    for (size_t i = 0; i < std::min(period, count); ++i) {
      const BytePlace place = places[r * period + i];
      uint8_t* at = out.data() + data + place.byte;
      for (size_t k = i; k < count; k += period, at += step) {
        if (!layout.floats) {
          put_code(layout, at, place.shift, code_of(layout, from, row, begin + k));
        } else if (row < from.rows && k < from.k) {  // the lower bytes of the bits come first
          std::memcpy(at, &from.floats[row * from.k + k], layout.bits / 8);
        }
      }
    }
  }
}

/// A field of a panel, or of one block of it, likewise.
inline void put_field(const LayoutText& layout, const OperandCodes& from, const FieldText& field,
                      size_t first, size_t block, std::vector<uint8_t>& out) {
  const size_t begin = out.size();
  const size_t bytes = bytes_of_float(field.type == "i32" ? "f32" : field.type);
  out.resize(begin + layout.panel * field.repeat * bytes);
  for (size_t r = 0; r < layout.panel; ++r) {
    if (first + r >= from.rows && !layout.edge_last) break;
    const size_t row = field.kind == "sums" ? codes_row(layout, from, first + r)
                                            : std::min(first + r, from.rows - 1);
    const uint32_t value = field_value(layout, field, from, row, block);
    for (size_t i = 0; i < field.repeat; ++i) {
      std::memcpy(out.data() + begin + (r * field.repeat + i) * bytes, &value, bytes);
    }
  }
}

/// All panels, one after the other. What does not exist is code 0, value 0, unless the layout says
/// otherwise: then it is like the last row, or what the source's last byte says; but code 0 behind
/// the k of a rhs.
inline std::vector<uint8_t> pack(const LayoutText& layout, const OperandCodes& from) {
  const size_t padded = (from.k + layout.k_multiple - 1) / layout.k_multiple * layout.k_multiple;
  const size_t blocks = layout.block == 0 ? 1 : from.k / layout.block;
  const size_t span = layout.block == 0 ? padded : layout.block;
  const std::vector<BytePlace> places = first_places(layout);
  std::vector<uint8_t> out;
  for (size_t first = 0; first < from.rows; first += layout.panel) {
    for (size_t block = 0; block < blocks; ++block) {
      const bool begins = layout.super_block != 0 && block * span % layout.super_block == 0;
      for (const FieldText& field : layout.fields) {
        if (begins && field.per_super_block) put_field(layout, from, field, first, block, out);
        if (layout.block != 0 && (!field.per_block || field.apart)) continue;
        if (field.kind == "data") {
          put_data(layout, places, from, first, block * span, span, out);
        } else if (field.kind == "tops") {
          put_tops(layout, from, first, block * span, out);
        } else {
          put_field(layout, from, field, first, block, out);
        }
      }
    }
    for (size_t block = 0; block < blocks; ++block) {
      for (const FieldText& field : layout.fields) {
        if (field.apart) put_field(layout, from, field, first, block, out);
      }
    }
    for (const FieldText& field : layout.fields) {
      const bool once = layout.block != 0 && !field.per_block && !field.per_super_block;
      if (once) put_field(layout, from, field, first, 0, out);
    }
  }
  return out;
}

}  // namespace tw::test
