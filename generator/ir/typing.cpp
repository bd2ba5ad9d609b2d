#include "ir/typing.h"

#include <algorithm>

namespace tw {

Kind kind_of(char letter) {
  switch (letter) {
    case 'v':
      return Kind::vector;
    case 'p':
      return Kind::predicate;
    case 't':
      return Kind::tile;
    default:
      return Kind::scalar;
  }
}

static Length vector_length(OpCode code, Length bytes, const std::vector<Type>& args,
                            const Isa& isa) {
  if (bytes != Length{}) return bytes;
  auto first = std::find_if(args.begin(), args.end(),
                            [](const Type& type) { return type.kind == Kind::vector; });
  if (first == args.end()) return isa.vector_bytes;
  if (code == OpCode::narrow_32_8) return first->bytes.divided(4);
  if (code == OpCode::cvt_f16_f32 || code == OpCode::cvt_bf16_f32) return first->bytes * 2;
  if (code == OpCode::segment) return 16;
  return first->bytes;
}

Type result_type(OpCode code, int bits, Length bytes, const std::vector<Type>& args,
                 const Isa& isa) {
  Kind kind = kind_of(info(code).result);
  switch (kind) {
    case Kind::vector:
      return {kind, vector_length(code, bytes, args, isa)};
    case Kind::predicate: {
      Length governed = bytes != Length{} ? bytes : isa.vector_bytes;
      return {kind, governed.divided(std::max(bits / 8, 1))};
    }
    case Kind::tile:
      return {kind, 0};
    case Kind::scalar:
      break;
  }
  return {Kind::scalar, 8};
}

}  // namespace tw
