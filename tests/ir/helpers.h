// ISAs made up for these tests, and Programs of one operation run on given bytes.
#pragma once

#include <cstdint>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "ir/builder.h"
#include "ir/interpreter.h"

namespace tw::test {

using Bytes = std::vector<uint8_t>;

/// An ISA of which only the vector length matters.
const Isa& isa_of(Length vector_bytes);
inline const Isa& fixed16() {
  return isa_of(16);
}
inline const Isa& fixed64() {
  return isa_of(64);
}
inline const Isa& scalable() {
  return isa_of({0, 16});
}
inline const Isa& streaming() {
  return isa_of({0, 0, 16});
}

/// Runs what `write` writes; it gets the addresses lhs (read-only `input`) and dst (`result_bytes`
/// unwritten bytes), and its result is what dst holds then.
using Write = std::function<void(Builder& b, Value input, Value result)>;
Bytes run_written(const Isa& isa, const Bytes& input, size_t result_bytes, const Write& write,
                  VectorLength vl = {});

/// The Program that run_written() runs.
Program written(const Isa& isa, const Write& write);

/// One operation on vectors of `arg_bytes` (zero: the ISA's), one after the other in `input`.
Bytes run_vector(const Isa& isa, OpCode code, Builder::With with, int args, const Bytes& input,
                 size_t result_bytes, VectorLength vl = {}, Length arg_bytes = {});

/// One operation on scalars.
uint64_t run_scalar(OpCode code, Builder::With with, const std::vector<uint64_t>& args,
                    VectorLength vl = {});

/// The message of the Fault that `f` ends with; "no fault".
std::string fault_of(const std::function<void()>& f);

Bytes random_bytes(size_t n, unsigned seed);

template <typename T>
std::vector<T> as(const Bytes& bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
  return values;
}

template <typename T>
Bytes bytes_of(const std::vector<T>& values) {
  Bytes bytes(values.size() * sizeof(T));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

}  // namespace tw::test
