#include "model/format.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace tw {

/// Names and bits, in the order of ElementType.
static constexpr std::pair<std::string_view, int> element_types[] = {
    {"i1", 1},   {"i2", 2},   {"i4", 4},   {"i8", 8},   {"i16", 16},  {"i32", 32}, {"e8m0", 8},
    {"e5m3", 8}, {"e4m3", 8}, {"e5m2", 8}, {"f16", 16}, {"bf16", 16}, {"f32", 32},
};
static_assert(std::size(element_types) == static_cast<size_t>(ElementType::f32) + 1);

std::string_view name(ElementType type) {
  return element_types[static_cast<size_t>(type)].first;
}

int bits(ElementType type) {
  return element_types[static_cast<size_t>(type)].second;
}

/// ggml's IQ4_NL and IQ4_XS.
static const CodeTable iq4{
    "iq4", {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113}, 1};
/// E2M1 of the OCP microscaling formats: 0, 0.5, 1, 1.5, 2, 3, 4, 6 and the same negated.
static constexpr CodeTable e2m1{
    "e2m1", {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12}, 0.5F};
/// The same of NVFP4, whose scales of E4M3 are as bits of f16, e5m3, 2^-8 of what they are.
static constexpr CodeTable nv4{"nv4", e2m1.values, 256 * e2m1.unit};
/// Rows of ggml's grids hold these, and signs stand beside them: IQ3_S, IQ3_XXS, and with codes of
/// three bits IQ2_XXS, IQ2_XS and IQ2_S. Those of IQ1_S and IQ1_M hold -1, 0 and 1, and an eighth
/// is added to them or taken away.
static constexpr CodeTable iq3s{
    "iq3s", {1, 3, 5, 7, 9, 11, 13, 15, -1, -3, -5, -7, -9, -11, -13, -15}, 1};
static constexpr CodeTable iq3x{
    "iq3x", {4, 12, 20, 28, 36, 44, 52, 62, -4, -12, -20, -28, -36, -44, -52, -62}, 0.25F};
static constexpr CodeTable iq2{"iq2", {8, 25, 43, 0, -8, -25, -43, 0}, 0.125F};
static constexpr CodeTable iq1{"iq1", {1, 7, 9, 0, -1, -7, -9, 0}, 0.125F};
/// Of 1 bit: ggml's Q1_0.
static constexpr CodeTable signs{"signs", {-1, 1}, 1};

/// Of 2 bits: the caller's.
static const CodeTable given{"given", {-2, -1, 0, 1}, 1, true};

const std::vector<Format>& formats() {
  static const std::vector<Format> table = {
      // name, element, scales, zero point, quantized on the fly, block, minimums, super-block,
      // top bits, table, type of scales, bytes of
      {"qai8dx", ElementType::i8, Granularity::row, true, true, 0},
      {"qai8", ElementType::i8, Granularity::tensor, true, false, 0},
      {"qsi8d32", ElementType::i8, Granularity::block, false, true, 32},
      {"qsi2cx", ElementType::i2, Granularity::channel, true, false, 0},
      {"qsu2cx", ElementType::i2, Granularity::channel, false, false, 0, false, 0, 0, &given},
      {"qsi4cx", ElementType::i4, Granularity::channel, false, false, 0},
      {"qsi8cx", ElementType::i8, Granularity::channel, false, false, 0},
      {"qai8cx", ElementType::i8, Granularity::channel, true, false, 0},
      {"qsi4c32", ElementType::i4, Granularity::block, false, false, 32},
      {"qsi8c32", ElementType::i8, Granularity::block, false, false, 32},
      {"qsi2c32", ElementType::i2, Granularity::block, false, false, 32},
      {"qai2c32", ElementType::i2, Granularity::block, true, false, 32},
      {"qai4c32", ElementType::i4, Granularity::block, true, false, 32},
      {"qai8c32", ElementType::i8, Granularity::block, true, false, 32},
      {"qmi4c32", ElementType::i4, Granularity::block, false, false, 32, true},
      {"qmi4k32", ElementType::i4, Granularity::block, false, false, 32, true, 256},
      {"qsi5c32", ElementType::i4, Granularity::block, false, false, 32, false, 0, 1},
      {"qmi5c32", ElementType::i4, Granularity::block, false, false, 32, true, 0, 1},
      {"qmi5k32", ElementType::i4, Granularity::block, false, false, 32, true, 256, 1},
      {"qsi6k16", ElementType::i4, Granularity::block, false, false, 16, false, 256, 2},
      {"qsi8k16", ElementType::i8, Granularity::block, false, false, 16, false, 256, 0, nullptr,
       ElementType::f16, "qsi6k16"},
      {"qmi2k16", ElementType::i2, Granularity::block, false, false, 16, true, 256},
      {"qsi3k16", ElementType::i2, Granularity::block, false, false, 16, false, 256, 1},
      {"qnl4c32", ElementType::i4, Granularity::block, false, false, 32, false, 0, 0, &iq4},
      {"qnl4k32", ElementType::i4, Granularity::block, false, false, 32, false, 256, 0, &iq4},
      {"qsi1c128", ElementType::i1, Granularity::block, false, false, 128, false, 0, 0, &signs},
      {"qi3s4k32", ElementType::i4, Granularity::block, false, false, 32, false, 256, 0, &iq3s},
      {"qi3x4k32", ElementType::i4, Granularity::block, false, false, 32, false, 256, 0, &iq3x},
      {"qi2x3k16", ElementType::i2, Granularity::block, false, false, 16, false, 256, 1, &iq2},
      {"qi1x3k16", ElementType::i2, Granularity::block, false, false, 16, false, 256, 1, &iq1},
      {"qmx4c32", ElementType::i4, Granularity::block, false, false, 32, false, 0, 0, &e2m1,
       ElementType::e8m0},
      {"qnv4k16", ElementType::i4, Granularity::block, false, false, 16, false, 64, 0, &nv4,
       ElementType::f16, "", true},
      {"f8e4m3cx", ElementType::e4m3, Granularity::channel, false, false, 0},
      {"f8e5m2cx", ElementType::e5m2, Granularity::channel, false, false, 0},
      {"f8e4m3c128", ElementType::e4m3, Granularity::block, false, false, 128, false, 0, 0, nullptr,
       ElementType::f32},
      {"f32", ElementType::f32, Granularity::none, false, false, 0},
      {"f16", ElementType::f16, Granularity::none, false, false, 0},
      {"bf16", ElementType::bf16, Granularity::none, false, false, 0},
  };
  return table;
}

bool has_steps(const Format& format) {
  return format.super_block != 0 && !format.float_scales;
}

bool takes_table(const Format& format) {
  return format.table != nullptr && format.table->given;
}

int code_bits(const Format& format) {
  return bits(format.element) + format.top_bits;
}

const Format* as_bytes(const Format& format) {
  for (const Format& other : formats()) {
    if (other.bytes_of == format.name) return &other;
  }
  return nullptr;
}

const Format* with_wide_codes(const Format& format) {
  const bool plain = format.element == ElementType::i4 && format.table == nullptr &&
                     format.scales == Granularity::channel;
  for (const Format& other : formats()) {
    const bool alike = other.element == ElementType::i8 && other.scales == format.scales &&
                       other.has_zero_point == format.has_zero_point;
    if (plain && alike) return &other;
  }
  return nullptr;
}

int unsigned_offset(const CodeTable& table) {
  int offset = 1;
  while (offset < -*std::min_element(table.values.begin(), table.values.end())) offset *= 2;
  return offset;
}

bool keeps_block_sums(const Format& format) {
  return !format.has_minimums && format.super_block == 0 && format.top_bits == 0 &&
         format.table == nullptr && !is_byte_float(format.element);
}

int middle_code(const Format& format) {
  return 1 << ((format.has_minimums ? bits(format.element) : code_bits(format)) - 1);
}

bool is_float(ElementType type) {
  return type == ElementType::f32 || type == ElementType::f16 || type == ElementType::bf16;
}

bool is_byte_float(ElementType type) {
  return type == ElementType::e4m3 || type == ElementType::e5m2;
}

bool holds_floats(ElementType type) {
  return is_float(type) || is_byte_float(type);
}

bool is_float(const Format& format) {
  return format.scales == Granularity::none && bits(format.element) >= 16;
}

bool is_static(const Format& format) {
  return format.scales == Granularity::tensor;
}

bool is_packed(const Format& lhs, ElementType sums) {
  return lhs.element != sums;
}

bool multiplies_as_halves(const Format& lhs, const Format& rhs) {
  return lhs.element == ElementType::f16 && rhs.element == ElementType::i4 &&
         rhs.scales == Granularity::block && rhs.block == 32 && rhs.super_block == 0 &&
         !rhs.has_zero_point && keeps_block_sums(rhs);
}

bool can_multiply(const Format& lhs, const Format& rhs) {
  const bool by_channel = rhs.scales == Granularity::channel;
  if (multiplies_as_halves(lhs, rhs)) return true;
  if (is_float(lhs) && is_packed(lhs)) return rhs.element == lhs.element;
  const bool by_block = rhs.scales == Granularity::block && !rhs.quantized_on_the_fly;
  const bool takes_sums = rhs.has_zero_point || rhs.has_minimums;
  const bool byte_floats = is_byte_float(rhs.element);
  if (is_float(lhs)) {
    return is_float(rhs) || byte_floats || (by_block && keeps_block_sums(rhs)) ||
           (by_channel && !takes_sums);
  }
  if (is_float(rhs) || byte_floats || is_static(rhs) || rhs.quantized_on_the_fly) return false;
  if (is_static(lhs)) return by_channel;
  if (by_channel) return lhs.quantized_on_the_fly && lhs.scales != Granularity::block;
  // Zero points and minimums of blocks are taken with what a row's block adds up to. Zero points
  // of rows need sums of columns.
  const bool by_rows = !rhs.has_zero_point && keeps_block_sums(rhs);
  return lhs.quantized_on_the_fly && (lhs.scales == Granularity::block || by_rows);
}

std::string_view output_name(ElementType dst) {
  return dst == ElementType::i8 ? "qai8" : name(dst);
}

std::string_view source_name(ElementType values) {
  return values == ElementType::i8 ? "s8" : name(values);
}

std::string operation_name(ElementType dst, bool accumulate, Operation operation) {
  if (operation == Operation::decode) return "decode";
  const char* name = operation == Operation::matmul     ? "matmul"
                     : operation == Operation::indirect ? "imatmul"
                     : operation == Operation::part     ? "matmul_part"
                     : operation == Operation::decoded  ? "matmul_decoded"
                                                        : "dwconv";
  const char* sums = dst == ElementType::i32 ? "" : accumulate ? "acc_clamp_" : "clamp_";
  return fmt::format("{}_{}{}", name, sums, output_name(dst));
}

const Format* find_format(std::string_view wanted) {
  for (const Format& format : formats()) {
    if (format.name == wanted) return &format;
  }
  return nullptr;
}

}  // namespace tw
