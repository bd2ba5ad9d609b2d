// What generated packers have always written, as hashes: golden.txt has one for each source, layout
// and length of vectors, made from a few shapes: all ISAs write the same. For packers that this
// machine runs; the file is the same for all machines. TILEWRIGHT_WRITE_GOLDEN=1 sets the hashes of
// those that run.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "kernels/rows.h"
#include "reference/ggml_blocks.h"
#include "reference/half_reference.h"
#include "tilewright/registry.h"

namespace tw::test {
namespace {

const char* const golden_file = TILEWRIGHT_SOURCE_DIR "/tests/pack/golden.txt";

/// The first bytes of those of a seed, which are made once: making them takes longer than packing.
struct RandomBytes {
  uint64_t state;
  std::vector<uint8_t> bytes;

  /// No float of any type among them, at an even address, is infinite or no number.
  const std::vector<uint8_t>& at_least(size_t count) {
    bytes.reserve(count);
    while (bytes.size() < count) {
      state = state * 6364136223846793005U + 1442695040888963407U;
      bytes.push_back(static_cast<uint8_t>(state >> 56 & (bytes.size() % 2 == 0 ? 0xff : 0xbf)));
    }
    return bytes;
  }
};

const std::vector<uint8_t>& random_bytes(size_t count, uint64_t seed) {
  static std::map<uint64_t, RandomBytes> made;
  return made.try_emplace(seed, RandomBytes{seed, {}}).first->second.at_least(count);
}

std::vector<float> random_floats(size_t count, uint64_t seed) {
  static std::map<uint64_t, std::vector<float>> made;  // likewise
  std::vector<float>& floats = made[seed];
  const std::vector<uint8_t>& bytes = random_bytes(2 * count, seed);
  for (size_t i = floats.size(); i < count; ++i) {
    floats.push_back(static_cast<float>(bytes[2 * i] * 256 + bytes[2 * i + 1] - 25000) / 8192);
  }
  return {floats.begin(), floats.begin() + static_cast<ptrdiff_t>(count)};
}

struct Shape {
  size_t rows, k;
  uint64_t seed;
};

std::vector<Shape> shapes(const tw_layout& layout) {
  const size_t panel = panel_rows(layout);
  const size_t block = layout.block == 0 ? 1 : layout.block;
  std::vector<Shape> out;
  for (const uint64_t seed : {1, 2}) {
    for (const auto& [rows, k] : {std::pair{size_t{1}, size_t{1}},
                                  {panel + 1, 35},
                                  {2 * panel, 256},
                                  {2 * panel - 1, 291}}) {
      out.push_back({rows, (k + block - 1) / block * block, seed});
    }
  }
  return out;
}

bool is_half(const tw_packer& packer) {
  const std::string source = packer.source;
  return source == "f16" || source == "bf16";
}

/// `halves`: rows of the lhs have the values of these 16 bits, as such or as f32; null: of f32 any.
std::vector<uint8_t> pack(const tw_packer& packer, const Shape& shape,
                          const char* halves = nullptr) {
  const tw_layout& layout = *packer.layout;
  const bool lhs = std::strcmp(packer.operand, "lhs") == 0;
  const bool scales_inside = find_ggml(packer.source) != nullptr;
  const size_t panel = panel_rows(layout);
  const size_t padded = (shape.k + layout.k_multiple - 1) / layout.k_multiple * layout.k_multiple;
  const size_t blocks = layout.block == 0 ? 0 : padded / layout.block;
  const size_t panel_bytes = panel * (padded * layout.data_bits / 8 + layout.per_row_bytes +
                                      blocks * layout.per_row_block_bytes);
  const size_t panels = (shape.rows + panel - 1) / panel;

  // Rows are longer than those of any source.
  const size_t longest = std::max(shape.rows, shape.k);
  const size_t stride = 4 * longest + 64;
  const bool whole = lhs && !is_half(packer) && std::strcmp(packer.source, "s8") != 0;
  std::vector<float> floats = random_floats(whole ? longest * stride / 4 : 0, shape.seed);
  const std::vector<uint8_t>& bytes = random_bytes(longest * stride, shape.seed);
  const std::vector<uint8_t>& scales = random_bytes(longest * stride, shape.seed + 10);
  const std::vector<float> bias = random_floats(shape.rows, shape.seed + 20);
  for (size_t i = 0; halves != nullptr && i < shape.rows * shape.k; ++i) {
    const size_t row = i / shape.k * stride, at = row + i % shape.k * 2;
    floats[row / 4 + i % shape.k] = value_of_bits(halves, bytes[at] | bytes[at + 1] << 8);
  }
  std::vector<uint8_t> packed(panels * panel_bytes + 64);

  tw_pack_args args;
  std::memset(&args, 0, sizeof args);
  args.size = sizeof args;
  tw_pack_into(&args, &layout);
  args.rows = shape.rows;
  args.k = shape.k;
  args.row_end = shape.rows;
  args.source = whole ? static_cast<const void*>(floats.data()) : bytes.data();
  args.source_stride = stride;
  args.lhs_zero_point = 3;
  args.lhs_scale = args.dst_scale = 1;
  if (!lhs) {
    if (layout.scales != 0 && !scales_inside) args.scales = scales.data();
    args.scale_stride = layout.block == 0 ? sizeof(float) : stride;
    if (shape.seed == 1) args.bias = bias.data();
    if (shape.seed == 1) args.zero_points = layout.block == 0 ? args.bias : args.scales;
    const bool nibbles = layout.data_bits == 4 && !scales_inside;
    args.flags = nibbles && shape.seed == 2 ? TW_PACK_UNSIGNED_NIBBLES : 0;
  }
  args.packed = packed.data() + (64 - reinterpret_cast<uintptr_t>(packed.data()) % 64) % 64;
  args.packed_stride = panel_bytes;
  args.vector_bytes = vector_bytes(layout);
  packer.run(&args);
  const auto* begin = static_cast<const uint8_t*>(args.packed);
  return {begin, begin + panels * panel_bytes};
}

/// FNV-1a.
void add(uint64_t& hash, const std::vector<uint8_t>& bytes) {
  for (const uint8_t byte : bytes) hash = (hash ^ byte) * 0x100000001b3U;
}

/// "nxk:LAYOUT", and what panels as wide as vectors were packed for.
std::string key(const tw_packer& packer) {
  char text[64];
  std::snprintf(text, sizeof text, "%s:%016llx", packer.source,
                static_cast<unsigned long long>(packer.layout->id));
  const size_t bytes = packer.layout->panel_scalable == 0 ? 0 : vector_bytes(*packer.layout);
  return std::string(text) + (bytes == 0 ? "" : "/" + std::to_string(bytes));
}

std::string hash_of(const tw_packer& packer) {
  uint64_t hash = 0xcbf29ce484222325U;
  for (const Shape& shape : shapes(*packer.layout)) add(hash, pack(packer, shape));
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(hash));
  return text;
}

std::map<std::string, std::string> read_golden() {
  std::map<std::string, std::string> hashes;
  std::ifstream in(golden_file);
  for (std::string name, hash; in >> name >> hash;) hashes[name] = hash;
  return hashes;
}

void write_golden(const std::map<std::string, std::string>& hashes) {
  std::ofstream out(golden_file);
  for (const auto& [name, hash] : hashes) out << name << ' ' << hash << '\n';
}

TEST(GoldenBytes, PackersWriteWhatTheyAlwaysHave) {
  std::map<std::string, std::string> golden = read_golden();
  const bool write = std::getenv("TILEWRIGHT_WRITE_GOLDEN") != nullptr;
  size_t count = 0;
  for (size_t i = 0; i < tw_generated_packer_count; ++i) {
    const tw_packer& packer = tw_generated_packers[i];
    if (packer.run == nullptr || !should_run(packer.isa, packer.features)) continue;
    if (is_half(packer)) continue;  // below
    const std::string found = hash_of(packer);
    if (write) golden[key(packer)] = found;
    EXPECT_EQ(golden[key(packer)], found) << packer.name << ", " << key(packer);
    ++count;
  }
  EXPECT_GT(count, 0U);
  if (write) write_golden(golden);
}

/// Floats of 16 bits become what the same values as f32 do.
TEST(GoldenBytes, OfHalvesAreThoseOfF32) {
  size_t count = 0;
  for (size_t i = 0; i < tw_generated_packer_count; ++i) {
    const tw_packer& packer = tw_generated_packers[i];
    if (packer.run == nullptr || !should_run(packer.isa, packer.features)) continue;
    if (!is_half(packer)) continue;
    for (size_t j = 0; j < tw_generated_packer_count; ++j) {
      const tw_packer& whole = tw_generated_packers[j];
      const bool same = whole.layout == packer.layout && whole.isa == std::string(packer.isa);
      if (!same || whole.source != std::string("f32")) continue;
      ++count;
      for (const Shape& shape : shapes(*packer.layout)) {
        EXPECT_EQ(pack(packer, shape), pack(whole, shape, packer.source))
            << packer.name << ", " << shape.rows << " rows, k " << shape.k;
      }
    }
  }
  EXPECT_GT(count, 0U);
}

TEST(GoldenBytes, AreThoseOfPackersThatExist) {
  std::set<std::string> keys;
  for (size_t i = 0; i < tw_generated_packer_count; ++i) {
    const std::string text = key(tw_generated_packers[i]);
    keys.insert(text.substr(0, text.find('/')));
  }
  for (const auto& [text, hash] : read_golden()) {
    EXPECT_EQ(keys.count(text.substr(0, text.find('/'))), 1U) << text;
  }
}

}  // namespace
}  // namespace tw::test
