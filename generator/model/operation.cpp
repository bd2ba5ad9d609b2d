#include "model/operation.h"

#include <array>

namespace tw {
namespace {

constexpr std::string_view bare(std::string_view name) {
  if (name.ends_with('_')) name.remove_suffix(1);
  return name;
}

constexpr OpInfo table[] = {
#define TW_X(name, args, result, attributes) {bare(#name), args, result[0], attributes},
    TW_OPERATIONS(TW_X)
#undef TW_X
};

constexpr std::array<std::string_view, static_cast<size_t>(ArgField::count)> field_names = {
    "size",     "m",        "n",           "k",      "block",      "lhs",         "lhs_stride",
    "lhs_rows", "lhs_zero", "lhs_offset",  "rhs",    "rhs_stride", "dst",         "dst_stride",
    "bias",     "clamp",    "output_zero", "lookup", "flags",      "rhs_prefetch"};

}  // namespace

const OpInfo& info(OpCode code) {
  return table[static_cast<size_t>(code)];
}

std::optional<OpCode> find_operation(std::string_view name) {
  for (size_t i = 0; i < std::size(table); ++i) {
    if (table[i].name == name) return static_cast<OpCode>(i);
  }
  return std::nullopt;
}

bool reads_memory(OpCode code) {
  switch (code) {
    case OpCode::load:
    case OpCode::load_dup:
    case OpCode::load_lane:
    case OpCode::load_pred:
    case OpCode::load_i64:
    case OpCode::frame_load:
      return true;
    default:
      return false;
  }
}

bool writes_memory(OpCode code) {
  switch (code) {
    case OpCode::store:
    case OpCode::store_stream:
    case OpCode::store_pred:
    case OpCode::store_lane:
    case OpCode::store_i64:
    case OpCode::frame_store:
      return true;
    default:
      return false;
  }
}

bool prefetches(OpCode code) {
  return code == OpCode::prefetch || code == OpCode::prefetch_near ||
         code == OpCode::prefetch_write;
}

std::string_view name(Kind kind) {
  switch (kind) {
    case Kind::scalar:
      return "scalar";
    case Kind::vector:
      return "vector";
    case Kind::predicate:
      return "predicate";
    case Kind::tile:
      return "tile";
  }
  return "?";
}

std::string_view name(ArgField field) {
  return field_names[static_cast<size_t>(field)];
}

}  // namespace tw
