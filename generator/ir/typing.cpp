#include "ir/typing.h"

#include <algorithm>

namespace tw {

Length result_bytes(OpCode code, Length argument) {
  const OpInfo& about = info(code);
  if (about.facts.lengths == Lengths::one_segment) return 16;
  if (about.facts.lengths != Lengths::lanes) return argument;
  return (argument * about.types[1]->bytes).divided(about.types[0]->bytes);
}

static Length vector_length(OpCode code, Length bytes, const Types& args, const Isa& isa) {
  if (bytes != Length{}) return bytes;
  auto first = std::find_if(args.begin(), args.end(),
                            [](const Type& type) { return type.kind == Kind::vector; });
  return first == args.end() ? isa.vector_bytes : result_bytes(code, first->bytes);
}

static Type tile_type(Length bytes, Length rows, const Types& args, const Isa& isa) {
  for (const Type& type : args) {
    if (type.kind == Kind::tile) return type;
  }
  const RegisterFile* file = isa.file_of(Kind::tile);
  if (rows != Length{} || file == nullptr) return {Kind::tile, bytes, rows};
  return {Kind::tile, file->bytes, file->rows};
}

Type result_type(OpCode code, int bits, Length bytes, const Types& args, const Isa& isa,
                 Length rows) {
  Kind kind = kind_of(info(code).result);
  switch (kind) {
    case Kind::vector:
      return {kind, vector_length(code, bytes, args, isa)};
    case Kind::predicate: {
      Length governed = bytes != Length{} ? bytes : isa.vector_bytes;
      return {kind, governed.divided(std::max(bits / 8, 1))};
    }
    case Kind::tile:
      return tile_type(bytes, rows, args, isa);
    case Kind::scalar:
      break;
  }
  return {Kind::scalar, 8};
}

bool holds(const RegisterFile& file, const Type& type) {
  if (file.kind != type.kind) return false;
  return type.kind != Kind::tile || (file.bytes == type.bytes && file.rows == type.rows);
}

bool fits(const Isa& isa, const Operand& operand, const Type& type) {
  const RegisterFile* file = isa.file(operand.file);
  return file == nullptr || holds(*file, type);
}

}  // namespace tw
