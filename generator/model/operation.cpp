#include "model/operation.h"

#include <algorithm>
#include <array>
#include <stdexcept>

namespace tw {
namespace {

constexpr std::string_view bare(std::string_view name) {
  if (name.ends_with('_')) name.remove_suffix(1);
  return name;
}

/// The words of a row's operands.
constexpr OperandType operand_types[] = {
    {"n", Kind::scalar, Element::number, 0},
    {"divisor", Kind::scalar, Element::divisor, 0},
    {"below_256", Kind::scalar, Element::below_256, 0},
    {"row", Kind::scalar, Element::tile_row, 0},
    {"four_rows", Kind::scalar, Element::four_rows, 0},
    {"row_bytes", Kind::scalar, Element::row_bytes, 0},
    {"v", Kind::vector, Element::lanes, 0},
    {"s8", Kind::vector, Element::s8, 1},
    {"u8", Kind::vector, Element::u8, 1},
    {"below_16", Kind::vector, Element::below_16, 1},
    {"s16", Kind::vector, Element::s16, 2},
    {"i32", Kind::vector, Element::i32, 4},
    {"f16", Kind::vector, Element::f16, 2},
    {"bf16", Kind::vector, Element::bf16, 2},
    {"f32", Kind::vector, Element::f32, 4},
    {"i32_float", Kind::vector, Element::i32_float, 4},
    {"p", Kind::predicate, Element::flags, 0},
    {"tile", Kind::tile, Element::i32, 4},
    {"tile_f32", Kind::tile, Element::f32, 4},
    {"tile_s8", Kind::tile, Element::s8, 1},
    {"tile_u8", Kind::tile, Element::u8, 1},
    {"tile_bf16", Kind::tile, Element::bf16, 2},
};

constexpr const OperandType* operand_type(std::string_view word) {
  for (const OperandType& type : operand_types) {
    if (type.word == word) return &type;
  }
  throw std::logic_error("no type of operands");  // while this file is compiled
}

constexpr std::string_view kind_letters = "svpt";  // in the order of Kind

struct Operands {
  const OperandType* types[11] = {};
  char letters[10] = {};
  size_t args = 0;
  char result = '-';
};

constexpr Operands read_operands(std::string_view words) {
  Operands all;
  size_t at = 0;
  bool is_result = false;
  while (at < words.size()) {
    const size_t end = std::min(words.find(' ', at), words.size());
    const std::string_view word = words.substr(at, end - at);
    at = end + 1;
    if (word == "->") {
      is_result = true;
      continue;
    }
    const OperandType* type = operand_type(word);
    all.types[all.args] = type;
    if (is_result) {
      all.result = kind_letters[static_cast<size_t>(type->kind)];
    } else {
      all.letters[all.args++] = kind_letters[static_cast<size_t>(type->kind)];
    }
  }
  return all;
}

constexpr Operands operands[] = {
#define OP(name, operands, ...) read_operands(operands),
#include "model/operations.h"
#undef OP
};

constexpr const Operands& operands_of(OpCode code) {
  return operands[static_cast<size_t>(code)];
}

constexpr OpInfo table[] = {
#define OP(name, operands, attributes, meaning, ...)                    \
  {bare(#name),                                                         \
   {operands_of(OpCode::name).letters, operands_of(OpCode::name).args}, \
   operands_of(OpCode::name).result,                                    \
   attributes,                                                          \
   operands_of(OpCode::name).types,                                     \
   OpFacts{__VA_ARGS__}},
#include "model/operations.h"
#undef OP
};

constexpr std::array<std::string_view, static_cast<size_t>(ArgField::all_count)> field_names = {
    "size", "m", "n", "k", "block", "lhs", "lhs_stride", "lhs_pad", "lhs_offset",
    "lhs_chunk_stride", "rhs", "rhs_stride", "dst", "dst_stride", "bias", "clamp", "dst_zero_point",
    "lookup", "flags", "rhs_prefetch", "heads", "rhs_head_stride",
    // of tw_pack_args
    "size", "rows", "k", "row_begin", "row_end", "block", "source", "source_stride", "scales",
    "bias", "packed", "packed_stride", "flags", "vector_bytes", "scale_stride", "sum_factor",
    "sum_copies", "scale_copies", "lhs_zero_point", "dst_scale", "zero_points"};

}  // namespace

bool is_address(ArgField field) {
  return field == ArgField::clamp || field == ArgField::pack_sum_factor ||
         field == ArgField::pack_lhs_zero_point;
}

const OpInfo& info(OpCode code) {
  return table[static_cast<size_t>(code)];
}

std::optional<OpCode> find_operation(std::string_view name) {
  for (size_t i = 0; i < std::size(table); ++i) {
    if (table[i].name == name) return static_cast<OpCode>(i);
  }
  return std::nullopt;
}

std::vector<std::string> operation_names() {
  std::vector<std::string> names;
  for (const OpInfo& operation : table) names.emplace_back(operation.name);
  return names;
}

Kind kind_of(char letter) {
  const size_t at = kind_letters.find(letter);
  return at == std::string_view::npos ? Kind::scalar : static_cast<Kind>(at);
}

bool reads_memory(OpCode code) {
  return info(code).facts.memory == MemoryUse::reads;
}

bool writes_memory(OpCode code) {
  return info(code).facts.memory == MemoryUse::writes;
}

bool prefetches(OpCode code) {
  return info(code).facts.memory == MemoryUse::prefetches;
}

bool uses_frame(OpCode code) {
  return info(code).facts.immediate.last == Last::slot;
}

std::string_view name(Kind kind) {
  constexpr std::string_view names[] = {"scalar", "vector", "predicate", "tile"};
  return names[static_cast<size_t>(kind)];
}

std::string_view name(ArgField field) {
  return field_names[static_cast<size_t>(field)];
}

}  // namespace tw
