// Reading packed weights back. Layouts are the generator's business, so nothing about them is known
// here: numbers are packed, and where they come to lie is where any weight's bits do. Whoever
// changes a layout need not come here, and a layout that does not keep all bits is found out.
#include <algorithm>
#include <cstring>
#include <random>

#include "integrations/ggml/packing.h"

namespace tw::ggml {

namespace {

/// Of value `value` of a row in ggml's order.
void set_code(const WeightType& type, uint8_t* row, size_t value, uint32_t code) {
  if (type.block == 0) {
    std::memcpy(row + value * type.block_bytes, &code, type.block_bytes);
    return;
  }
  uint8_t* block = row + value / type.block * type.block_bytes + 2;
  const size_t at = value % type.block, half = type.block / 2;
  if (type.code_bits == 8) {
    block[at] = static_cast<uint8_t>(code);
    return;
  }
  const size_t shift = at / half * 4;
  block[at % half] =
      static_cast<uint8_t>((block[at % half] & ~(15u << shift)) | (code & 15) << shift);
}

uint32_t packed_code(const uint8_t* packed, size_t bits, size_t index) {
  if (bits == 4) return packed[index / 2] >> (index % 2 * 4) & 15;
  uint32_t code = 0;
  std::memcpy(&code, packed + index * (bits / 8), bits / 8);
  return code;
}

uint32_t mask_of(size_t bits) {
  return bits == 32 ? UINT32_MAX : (1u << bits) - 1;
}

using Bytes = std::vector<uint8_t>;

/// Packs one panel of depth map.depth whose codes and scales the functions give.
template <class Code, class Scale>
Bytes pack_probe(const Packing& probe, const Code& code, const Scale& scale) {
  const WeightType& type = *probe.type;
  const size_t bytes = row_bytes(type, probe.k);
  Bytes rows(probe.panel * bytes), packed(probe.panel_bytes);
  for (size_t row = 0; row < probe.panel; ++row) {
    for (size_t v = 0; v < probe.k; ++v) set_code(type, &rows[row * bytes], v, code(row, v));
    if (type.block == 0) continue;
    const uint16_t bits = scale(row);
    std::memcpy(&rows[row * bytes], &bits, sizeof bits);
  }
  pack_panel(probe, probe.panel, rows.data(), packed.data());
  return packed;
}

/// Number + 1 of the value whose code lies at each place of the packed block; 0: none.
std::vector<uint32_t> find_values(const Packing& probe, const Bytes& zero, size_t places) {
  const size_t bits = probe.type->code_bits, count = probe.panel * probe.k;
  std::vector<uint32_t> values(places);
  for (size_t shift = 0; shift < 32 && count >> shift != 0; shift += bits) {
    const Bytes packed = pack_probe(
        probe,
        [&](size_t row, size_t v) {
          return static_cast<uint32_t>((row * probe.k + v + 1) >> shift) & mask_of(bits);
        },
        [](size_t) { return uint16_t{0}; });
    for (size_t i = 0; i < places; ++i) {
      const uint32_t digit =
          packed_code(packed.data(), bits, i) ^ packed_code(zero.data(), bits, i);
      values[i] |= digit << shift;
    }
  }
  return values;
}

bool find_codes(const Packing& probe, const Bytes& zero, PanelMap& map) {
  const size_t bits = probe.type->code_bits, count = probe.panel * probe.k;
  const std::vector<uint32_t> values = find_values(probe, zero, map.stride * 8 / bits);
  std::vector<bool> seen(count);
  map.codes.resize(count);
  map.flips.resize(count);
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i] == 0) continue;
    const size_t value = values[i] - 1;
    if (value >= count || seen[value]) return false;
    seen[value] = true;
    map.codes[value] = static_cast<uint32_t>(i);
    map.flips[value] = static_cast<uint8_t>(packed_code(zero.data(), bits, i));
  }
  return std::find(seen.begin(), seen.end(), false) == seen.end();
}

bool find_scales(const Packing& probe, const Bytes& zero, PanelMap& map) {
  if (probe.type->block == 0) return true;
  const Bytes packed = pack_probe(
      probe, [](size_t, size_t) { return 0u; },
      [](size_t row) { return static_cast<uint16_t>(row + 1); });
  map.scales.assign(probe.panel, UINT32_MAX);
  for (size_t at = 0; at + 2 <= map.stride; at += 2) {
    uint16_t now, before;
    std::memcpy(&now, &packed[at], sizeof now);
    std::memcpy(&before, &zero[at], sizeof before);
    if (now == before || now > probe.panel) continue;
    map.scales[now - 1] = static_cast<uint32_t>(at);
  }
  return std::find(map.scales.begin(), map.scales.end(), UINT32_MAX) == map.scales.end();
}

/// A packing of the same layout for one panel of depth k.
Packing probe_of(const Packing& packing, size_t k) {
  Packing probe;
  probe.type = packing.type;
  probe.n = probe.panel = packing.panel;
  probe.k = k;
  probe.packer = packing.packer;
  probe.vector_bytes = packing.vector_bytes;
  const tw_layout& layout = *packing.packer->layout;
  const size_t blocks = layout.block != 0 ? k / layout.block : 0;
  probe.panel_bytes = packing.panel * (k * layout.data_bits / 8 + layout.per_row_bytes +
                                       blocks * layout.per_row_block_bytes);
  return probe;
}

/// Random bits of several blocks come back.
bool round_trip(const Packing& packing) {
  Packing several = probe_of(packing, 3 * packing.map.depth);
  several.map = packing.map;
  const size_t bytes = several.panel * row_bytes(*several.type, several.k);
  std::mt19937 random(1);
  Bytes rows(bytes), packed(several.panel_bytes), back(bytes);
  for (uint8_t& byte : rows) byte = static_cast<uint8_t>(random());
  pack_panel(several, several.panel, rows.data(), packed.data());
  unpack_panel(several, several.panel, packed.data(), back.data());
  return rows == back;
}

}  // namespace

bool find_map(Packing& packing) {
  const tw_layout& layout = *packing.packer->layout;
  PanelMap& map = packing.map;
  map.depth = layout.block != 0 ? layout.block : layout.k_multiple;
  if (layout.block != packing.type->block || layout.data_bits != packing.type->code_bits ||
      packing.k % map.depth != 0) {
    return false;
  }
  const Packing probe = probe_of(packing, map.depth);
  map.stride = probe.panel_bytes - probe.panel * layout.per_row_bytes;
  const Bytes zero = pack_probe(
      probe, [](size_t, size_t) { return 0u; }, [](size_t) { return uint16_t{0}; });
  return find_codes(probe, zero, map) && find_scales(probe, zero, map) && round_trip(packing);
}

void unpack_panel(const Packing& packing, size_t rows, const uint8_t* panel, uint8_t* rows_out) {
  const WeightType& type = *packing.type;
  const PanelMap& map = packing.map;
  const size_t bytes = row_bytes(type, packing.k);
  for (size_t block = 0; block < packing.k / map.depth; ++block, panel += map.stride) {
    for (size_t row = 0; row < rows; ++row) {
      uint8_t* out = rows_out + row * bytes;
      const size_t first = row * map.depth;
      for (size_t v = 0; v < map.depth; ++v) {
        const uint32_t code = packed_code(panel, type.code_bits, map.codes[first + v]);
        set_code(type, out, block * map.depth + v, code ^ map.flips[first + v]);
      }
      if (type.block == 0) continue;
      std::memcpy(out + block * type.block_bytes, panel + map.scales[row], sizeof(uint16_t));
    }
  }
}

}  // namespace tw::ggml
