#include "interpreter/run_program.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <sstream>
#include <utility>

#include "interpreter/pack_codes.h"
#include "reference/code_tables.h"
#include "reference/half_reference.h"

namespace tw::test {
namespace {

/// Codes whose bias is not to be looked at.
Codes with_wrong_bias(Codes codes) {
  for (float& value : codes.bias) value = 1e6F;
  return codes;
}

/// Of static activations they are no floats.
std::string type_of_biases(const Variant& variant) {
  if (field_index(variant.rhs, FieldKind::bias) < 0) return "f32";  // there are none
  const ElementType type = field_of(variant.rhs, FieldKind::bias).type;
  return std::string(name(is_float(type) ? type : ElementType::f32));
}

template <typename T>
std::vector<uint8_t> bytes_of(const std::vector<T>& values) {
  std::vector<uint8_t> bytes(values.size() * sizeof(T));
  if (!values.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

std::vector<int32_t> folded_biases(const Codes& codes) {
  const StaticMatmul in = as_static(codes);
  std::vector<int32_t> biases;
  for (size_t column = 0; column < in.n; ++column) biases.push_back(folded_bias(in, column));
  return biases;
}

std::string compare(const Memory& memory, uint64_t dst, uint64_t stride, const Call& call,
                    const std::string& type) {
  const std::vector<uint8_t>& bytes = memory.bytes(dst);
  const std::vector<bool>& written = memory.written(dst);
  std::vector<bool> ours(bytes.size(), false);
  const Codes& codes = call.codes;
  for (size_t i = 0; i < call.expected.size(); ++i) {
    const size_t size = bytes_of_float(type);
    const size_t at = i / codes.n * stride + i % codes.n * size;
    for (size_t j = at; j < at + size; ++j) ours[j] = true;
    uint32_t found = 0;
    std::memcpy(&found, bytes.data() + at, size);
    const uint32_t right = output_bits(type, call.expected[i]);
    if (found == right && written[at]) continue;
    std::ostringstream text;
    text << std::hexfloat << "dst[" << i / codes.n << "][" << i % codes.n << "] is "
         << value_of_bits(type, found) << (written[at] ? "" : " (never written)") << ", should be "
         << value_of_bits(type, right);
    return text.str();
  }
  return written == ours ? "" : "it wrote between the rows of dst";
}

/// Writes the outputs as they were; what is between their rows stays unwritten.
void put_old(Memory& memory, uint64_t dst, uint64_t stride, const Codes& codes,
             const std::string& type) {
  const size_t size = bytes_of_float(type);
  for (size_t i = 0; i < codes.old.size(); ++i) {
    const uint32_t bits = float_bits(type, codes.old[i]);
    memory.write(dst + i / codes.n * stride + i % codes.n * size, &bits, size);
  }
}

/// Some chunks of rows are zeros.
void clear_chunks(Codes& codes, size_t chunk) {
  for (size_t row = 0; row < codes.m; ++row) {
    for (size_t k = 0; k < codes.k; k += chunk) {
      const auto first = codes.lhs.begin() + static_cast<std::ptrdiff_t>(row * codes.k + k);
      if ((7 * row + 3 * k / chunk) % 5 == 0) {
        std::fill(first, first + static_cast<std::ptrdiff_t>(chunk), int8_t{0});
      }
    }
  }
}

/// A table of pointers to the chunks of each tile's rows, and the arguments that tell it. Those
/// that are zeros are the pad; rows that do not exist have none.
template <typename Set>
void put_table(Memory& memory, const Call& call, const Set& set) {
  constexpr uint64_t offset = 48;
  const size_t chunk = call.options.chunk;
  const size_t m = call.codes.m;
  const auto tile = static_cast<size_t>(call.variant->tile.m.fixed);
  const size_t bytes = chunk * static_cast<size_t>(bits(call.variant->lhs.element)) / 8;
  const size_t chunks = call.codes.k / chunk;
  const std::vector<uint8_t> zeros(bytes);
  const uint64_t pad = memory.add("pad", zeros, false, call.options.misalign);
  std::vector<uint64_t> table((m + tile - 1) / tile * tile * chunks);
  for (size_t i = 0; i < table.size(); ++i) {
    const size_t row = i / (tile * chunks) * tile + i % tile;
    if (row >= m) continue;
    const auto from =
        call.lhs.begin() + static_cast<std::ptrdiff_t>((row * chunks + i / tile % chunks) * bytes);
    const std::vector<uint8_t> values(from, from + static_cast<std::ptrdiff_t>(bytes));
    const bool padded = values == zeros;
    table[i] = padded ? pad : memory.add("chunk", values, false, call.options.misalign) - offset;
  }
  set(ArgField::block, chunk);
  set(ArgField::lhs, memory.add("table", bytes_of(table), false));
  set(ArgField::lhs_stride, chunks * sizeof(uint64_t));
  set(ArgField::lhs_pad, pad);
  set(ArgField::lhs_offset, offset);
  set(ArgField::lhs_chunk_stride, tile * sizeof(uint64_t));
}

}  // namespace

Call::Call(const Variant& variant, Codes codes, const CallOptions& options)
    : variant(&variant), codes(std::move(codes)), options(options) {
  const std::string type = type_of_biases(variant);
  if (options.chunk != 0) clear_chunks(this->codes, options.chunk);
  for (float& bias : this->codes.bias) bias = rounded_to(type, bias);
  const Codes packed = options.bias_argument ? with_wrong_bias(this->codes) : this->codes;
  lhs = pack(variant.lhs, packed, options.vl);
  rhs = pack(variant.rhs, packed, options.vl);
  if (variant.family.dst == ElementType::i32) {
    for (const int32_t sum : multiply(as_sums(this->codes))) {
      expected.push_back(std::bit_cast<float>(sum));
    }
  } else {
    expected =
        is_static(*variant.family.lhs) ? multiply(as_static(this->codes)) : multiply(this->codes);
  }
}

std::string run_and_compare(const Program& program, const Call& call, bool physical,
                            bool verified) {
  const Variant& variant = *call.variant;
  const Codes& codes = call.codes;
  const CallOptions& options = call.options;
  const VectorLength vl = options.vl;
  const std::string type(name(variant.family.dst));
  const uint64_t row_bytes = codes.n * bytes_of_float(type);
  const uint64_t stride = row_bytes + options.dst_padding;
  const size_t dst_bytes = codes.m == 0 || codes.n == 0 ? 0 : (codes.m - 1) * stride + row_bytes;
  const auto k = static_cast<int64_t>(codes.k);

  Memory memory;
  Arguments arguments;
  const auto set = [&](ArgField field, uint64_t value) {
    arguments.field[static_cast<size_t>(field)] = value;
  };
  const uint64_t dst = memory.add_unwritten("dst", dst_bytes, options.misalign);
  put_old(memory, dst, stride, codes, type);
  set(ArgField::m, codes.m);
  set(ArgField::n, codes.n);
  set(ArgField::k, codes.k);
  set(ArgField::block, codes.block);
  if (options.chunk != 0) {
    put_table(memory, call, set);
  } else {
    set(ArgField::lhs, memory.add("lhs", call.lhs, false, options.misalign));
    set(ArgField::lhs_stride, static_cast<uint64_t>(panel_bytes(variant.lhs, k).at(vl)));
  }
  set(ArgField::rhs, memory.add("rhs", call.rhs, false, options.misalign));
  set(ArgField::rhs_stride, static_cast<uint64_t>(panel_bytes(variant.rhs, k).at(vl)));
  set(ArgField::dst, dst);
  set(ArgField::dst_stride, stride);
  set(ArgField::rhs_prefetch, options.prefetch);
  set(ArgField::flags, options.flags);
  if (options.bias_argument) {
    const auto bytes = is_static(*variant.family.lhs)
                           ? bytes_of(folded_biases(codes))
                           : bytes_of_floats(type_of_biases(variant), codes.bias);
    set(ArgField::bias, memory.add("bias", bytes, false, options.misalign));
  }
  if (takes_table(*variant.family.rhs)) {
    const CodeValues* const table = code_values(std::string(variant.rhs.table->name));
    std::vector<uint8_t> lookup(16, 0x55);  // three of four bytes are of no meaning
    for (size_t i = 0; i < 4; ++i) lookup[4 * i] = static_cast<uint8_t>(table->values[i]);
    set(ArgField::lookup, memory.add("lookup", lookup, false, options.misalign));
  }
  arguments.min = codes.min;
  arguments.max = codes.max;
  if (is_static(*variant.family.lhs)) {
    const StaticMatmul in = as_static(codes);
    arguments.min = static_cast<float>(in.min);
    arguments.max = static_cast<float>(in.max);
    set(ArgField::dst_zero_point, static_cast<uint32_t>(in.dst_zero_point));
  }
  try {
    run(program, arguments, memory, {.vl = vl, .physical = physical, .verified = verified});
  } catch (const Fault& fault) {
    return std::string("fault: ") + fault.what();
  }
  return compare(memory, dst, stride, call, type);
}

}  // namespace tw::test
