#include "rows/operand_values.h"

#include <bit>
#include <cmath>
#include <map>

namespace tw::test {
namespace {

bool fits_in_i32(uint64_t bits) {
  const auto value = std::bit_cast<float>(static_cast<uint32_t>(bits));
  return value >= -2147483648.0F && value < 2147483648.0F;
}

std::vector<uint64_t> integer_corners(int bits) {
  const uint64_t ones = ~uint64_t{0} >> (64 - bits);
  const uint64_t top = uint64_t{1} << (bits - 1);
  return {0, 1, ones, top, top - 1, top + 1, 2, ones - 1, 0x5555555555555555U & ones, top >> 1};
}

std::vector<uint64_t> float_corners() {
  std::vector<uint64_t> list;
  for (float value :
       {0.0F, 1.0F, 0.5F, 1.5F, 2.5F, 0x1p-149F, 0x1.fffffcp-127F, 0x1p-126F, 0x1p-75F, 8388607.5F,
        8388609.0F, 16777217.0F, 0x1.fffffep-1F, 0x1.000002p0F, 0x1.555556p-2F, 2147483520.0F,
        2147483648.0F, 0x1p100F, 0x1.fffffep127F,
        // between neighbors of f16: halfway, and just beside it
        0x1.002p0F, 0x1.006p0F, 0x1.002002p0F, 0x1.001ffep0F, 0x1.ffep15F, 0x1.ffdffep15F,
        0x1.ffcp-15F, 0x1.8p-24F, 0x1p-25F, 0x1.000002p-25F, INFINITY}) {
    list.push_back(std::bit_cast<uint32_t>(value));
    list.push_back(std::bit_cast<uint32_t>(-value));
  }
  for (uint32_t nan : {0x7FC00000U, 0xFFC00000U, 0x7F800001U, 0xFFFFFFFFU, 0x7FD55555U}) {
    list.push_back(nan);
  }
  return list;
}

std::vector<uint64_t> half_corners() {
  std::vector<uint64_t> list;
  for (uint64_t half :
       {0x0000U, 0x0001U, 0x03FFU, 0x0400U, 0x3C00U, 0x3555U, 0x7BFFU, 0x7C00U, 0x7E00U, 0x7C01U}) {
    list.push_back(half);
    list.push_back(half | 0x8000U);
  }
  return list;
}

std::vector<uint64_t> make_corners(Element element) {
  switch (element) {
    case Element::below_16:
      return {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    case Element::tile_row:
      return {0, 1, 2, 3};
    case Element::four_rows:
      return {0, 4, 8, 12, 24, 60};
    case Element::row_bytes:  // as many as any tile's row has, and more
      return {256, 260, 320};
    case Element::f16:
      return half_corners();
    case Element::f32:
      return float_corners();
    case Element::i32_float: {
      std::vector<uint64_t> list = float_corners();
      std::erase_if(list, [](uint64_t bits) { return !fits_in_i32(bits); });
      return list;
    }
    default:
      break;
  }
  std::vector<uint64_t> list = integer_corners(static_cast<int>(8 * bytes_of(element)));
  if (element == Element::divisor) list.erase(list.begin());  // 0
  if (bytes_of(element) == 8) {                               // scalars: counts, shifts, sizes
    const uint64_t half = 0xFFFFFFFFU;
    list.insert(list.end(), {3, 15, 16, 17, 31, 32, 63, 64, 65, 255, half, half + 1, half >> 1});
  }
  return list;
}

}  // namespace

size_t bytes_of(Element element) {
  switch (element) {
    case Element::s8:
    case Element::u8:
    case Element::below_16:
    case Element::below_256:
    case Element::lanes:
    case Element::flags:
      return 1;
    case Element::s16:
    case Element::f16:
    case Element::bf16:
      return 2;
    case Element::number:
    case Element::divisor:
    case Element::tile_row:
    case Element::four_rows:
    case Element::row_bytes:
      return 8;
    default:
      return 4;
  }
}

Element element_of(const MeansNode& node, size_t argument) {
  const Element element = info(node.code).types[argument]->element;
  if (element != Element::lanes) return element;
  switch (node.bits) {
    case 16:
      return Element::s16;
    case 32:
      return Element::i32;
    case 64:
      return Element::number;
    default:
      return Element::s8;
  }
}

Element element_of(const Row& row, const std::string& operand) {
  for (const MeansNode& node : row.means) {
    for (size_t i = 0; i < node.args.size(); ++i) {
      if (node.args[i].operand == operand) return element_of(node, i);
    }
  }
  return Element::s8;
}

Element loaded_element(const Row& row) {
  for (const MeansNode& node : row.means) {
    for (size_t i = 0; i < node.args.size(); ++i) {
      const int inner = node.args[i].node;
      if (inner >= 0 && reads_memory(row.means[static_cast<size_t>(inner)].code)) {
        return element_of(node, i);
      }
    }
  }
  return Element::s8;
}

const std::vector<uint64_t>& corners(Element element) {
  static std::map<Element, std::vector<uint64_t>> lists;
  const auto [at, is_new] = lists.try_emplace(element);
  if (is_new) at->second = make_corners(element);
  return at->second;
}

uint64_t random_value(Element element, std::mt19937_64& random) {
  const std::vector<uint64_t>& list = corners(element);
  const bool is_listed = element == Element::below_16 || element == Element::tile_row ||
                         element == Element::four_rows || element == Element::row_bytes;
  if (random() % 4 == 0 || is_listed) return list[random() % list.size()];
  const uint64_t bits = random() >> (64 - 8 * bytes_of(element));
  const bool is_float = element == Element::f32 || element == Element::i32_float;
  // Random bits are far apart; near 1, roundings and cancellations meet.
  const bool near = is_float && (random() % 2 == 0 || !fits_in_i32(bits));
  if (!near) return bits;
  return (bits & 0x807FFFFFU) | (120 + random() % 12) << 23;
}

}  // namespace tw::test
