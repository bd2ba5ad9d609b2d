#include "ir/typing.h"

#include <algorithm>

namespace tw {

Length result_bytes(OpCode code, Length argument) {
  const OpInfo& about = info(code);
  if (about.facts.lengths == Lengths::one_segment) return 16;
  if (about.facts.lengths != Lengths::lanes) return argument;
  return (argument * about.types[1]->bytes).divided(about.types[0]->bytes);
}

static Length vector_length(OpCode code, Length bytes, const std::vector<Type>& args,
                            const Isa& isa) {
  if (bytes != Length{}) return bytes;
  auto first = std::find_if(args.begin(), args.end(),
                            [](const Type& type) { return type.kind == Kind::vector; });
  return first == args.end() ? isa.vector_bytes : result_bytes(code, first->bytes);
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
