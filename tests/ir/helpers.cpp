#include "helpers.h"

#include <map>
#include <tuple>

namespace tw::test {

const Isa& isa_of(Length vector_bytes) {
  static std::map<std::tuple<int64_t, int64_t, int64_t>, Isa> isas;
  Isa& isa = isas[{vector_bytes.fixed, vector_bytes.vl, vector_bytes.svl}];
  isa.name = "test";
  isa.vector_bytes = vector_bytes;
  isa.files = {{"t", Kind::tile, vector_bytes, vector_bytes.divided(4), {}, {}}};
  return isa;
}

Program written(const Isa& isa, const Write& write) {
  Builder b("test", isa);
  Value input = b.arg(ArgField::lhs);
  Value result = b.arg(ArgField::dst);
  write(b, input, result);
  return b.finish();
}

Bytes run_written(const Isa& isa, const Bytes& input, size_t result_bytes, const Write& write,
                  VectorLength vl) {
  Program program = written(isa, write);
  Memory memory;
  Arguments arguments;
  arguments.field[static_cast<size_t>(ArgField::lhs)] = memory.add("lhs", input, false);
  uint64_t dst = memory.add_unwritten("dst", result_bytes);
  arguments.field[static_cast<size_t>(ArgField::dst)] = dst;
  run(program, arguments, memory, {.vl = vl});
  return memory.bytes(dst);
}

static Value make(Builder& b, OpCode code, const std::vector<Value>& v, Builder::With with) {
  switch (v.size()) {
    case 0:
      return b.op(code, {}, with);
    case 1:
      return b.op(code, {v[0]}, with);
    case 2:
      return b.op(code, {v[0], v[1]}, with);
    default:
      return b.op(code, {v[0], v[1], v[2]}, with);
  }
}

Bytes run_vector(const Isa& isa, OpCode code, Builder::With with, int args, const Bytes& input,
                 size_t result_bytes, VectorLength vl, Length arg_bytes) {
  Length bytes = arg_bytes == Length{} ? isa.vector_bytes : arg_bytes;
  return run_written(
      isa, input, result_bytes,
      [&](Builder& b, Value from, Value to) {
        std::vector<Value> values;
        for (int i = 0; i < args; ++i) {
          values.push_back(b.op(OpCode::load, {from}, {.offset = bytes * i, .bytes = bytes}));
        }
        b.op(OpCode::store, {to, make(b, code, values, with)});
      },
      vl);
}

uint64_t run_scalar(OpCode code, Builder::With with, const std::vector<uint64_t>& args,
                    VectorLength vl) {
  Bytes result = run_written(
      fixed16(), {}, 8,
      [&](Builder& b, Value, Value to) {
        std::vector<Value> values;
        for (uint64_t arg : args) values.push_back(b.constant(static_cast<int64_t>(arg)));
        b.op(OpCode::store_i64, {to, make(b, code, values, with)});
      },
      vl);
  return as<uint64_t>(result)[0];
}

std::string fault_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const Fault& fault) {
    return fault.what();
  }
  return "no fault";
}

Bytes random_bytes(size_t n, unsigned seed) {
  std::mt19937 random(seed);
  Bytes bytes(n);
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
  return bytes;
}

}  // namespace tw::test
