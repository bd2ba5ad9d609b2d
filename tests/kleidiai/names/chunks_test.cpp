// KleidiAI's names for convolutions and static int8: bytes that packers write, and products, are
// those of KleidiAI's library.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

#include "kleidiai/names/chunk_libraries.h"
#include "kleidiai/names/operands.h"
#include "kleidiai/names/refused.h"

namespace tw::test::chunks_test {
namespace {

bool has(const std::string& name, const char* part) {
  return name.find(part) != std::string::npos;
}

/// "x16p", "f16_", "qsi8".
size_t value_bytes(const std::string& name) {
  if (has(name, "x32") || has(name, "f32_f32p")) return 4;
  return has(name, "x16p") || has(name, "f16") ? 2 : 1;
}

void put(uint8_t* at, float value, size_t bytes) {
  const uint16_t half = f16_from(value);
  if (bytes == 1) *reinterpret_cast<int8_t*>(at) = static_cast<int8_t>(value);
  if (bytes == 2) std::memcpy(at, &half, sizeof half);
  if (bytes == 4) std::memcpy(at, &value, sizeof value);
}

float get(const uint8_t* at, size_t bytes) {
  uint16_t half = 0;
  float value = 0;
  if (bytes == 1) return *reinterpret_cast<const int8_t*>(at);
  if (bytes == 2) std::memcpy(&half, at, sizeof half);
  if (bytes == 4) std::memcpy(&value, at, sizeof value);
  return bytes == 2 ? f32_from(half) : value;
}

/// Codes, or numbers whose sums are exact if `whole`.
std::vector<uint8_t> random_values(size_t count, size_t bytes, bool whole, std::mt19937& random) {
  std::vector<uint8_t> values(count * bytes);
  std::uniform_real_distribution<float> any(-1, 1);
  for (size_t i = 0; i < count; ++i) {
    const auto code = static_cast<float>(static_cast<int>(random() % 256) - 128);
    const auto small = static_cast<float>(static_cast<int>(random() % 4) - 1);
    put(&values[i * bytes], bytes == 1 ? code : whole ? small : any(random), bytes);
  }
  return values;
}

struct Rows {
  size_t m = 0, bytes = 0, step = 0;
  Chunks k;
  std::vector<uint8_t> values, pad;
  ChunkRows from;

  [[nodiscard]] float at(size_t row, size_t chunk, size_t i, bool alone) const {
    if (alone) return get(from.rows + row * from.stride + i * bytes, bytes);
    const size_t place = (row / step * k.count + chunk) * step + row % step;
    const auto* const begin = static_cast<const uint8_t*>(from.pointers[place]);
    return get(begin + (begin == from.pad ? 0 : from.offset) + i * bytes, bytes);
  }
};

Rows random_rows(size_t m, const Chunks& k, size_t bytes, size_t step, bool whole,
                 std::mt19937& random) {
  Rows it{m, bytes, step, k, {}, {}, {}};
  it.from.offset = random() % 4 * bytes;
  it.from.stride = (k.length + random() % 5) * bytes;
  const size_t sources = m + 9;
  it.values = random_values(sources * it.from.stride / bytes + k.length + 4, bytes, whole, random);
  it.pad = random_values(k.length, bytes, whole, random);
  it.from.rows = it.values.data();
  it.from.pad = it.pad.data();
  const size_t all = (m + step - 1) / step * step * k.count;
  for (size_t i = 0; i < all; ++i) {
    const void* const row = it.values.data() + random() % sources * it.from.stride;
    it.from.pointers.push_back(random() % 5 == 0 ? it.from.pad : row);
  }
  return it;
}

/// Nobody has to know pointers to rows that do not exist.
void forget_rows_beyond(Rows& it) {
  for (size_t place = 0; place < it.from.pointers.size(); ++place) {
    const size_t row = place / (it.step * it.k.count) * it.step + place % it.step;
    if (row >= it.m) it.from.pointers[place] = nullptr;
  }
}

struct Columns {
  size_t n = 0, bytes = 0;
  bool kxn = true;
  Chunks k;
  std::vector<uint8_t> values, bias;
  std::vector<float> scales;
  ChunkColumns from;

  [[nodiscard]] float at(size_t column, size_t chunk, size_t i) const {
    const size_t depth = chunk * k.length + i;
    const size_t row = kxn ? depth : column;
    const size_t place = row * from.stride + (kxn ? column : depth) * bytes;
    return get(&values[place], bytes);
  }
  [[nodiscard]] int32_t bias_code(size_t column) const {
    int32_t code = 0;
    std::memcpy(&code, &bias[column * sizeof code], sizeof code);
    return code;
  }
};

Columns random_columns(size_t n, const Chunks& k, size_t bytes, bool kxn, bool whole,
                       std::mt19937& random) {
  Columns it{n, bytes, kxn, k, {}, {}, {}, {}};
  const size_t depth = k.count * k.length;
  it.from.stride = ((kxn ? n : depth) + random() % 4) * bytes;
  it.values = random_values((kxn ? depth : n) * it.from.stride / bytes, bytes, whole, random);
  it.bias = random_values(n, std::max<size_t>(bytes, 2), whole, random);
  if (bytes == 1) {
    it.bias.resize(n * sizeof(int32_t));
    for (size_t i = 0; i < n; ++i) {
      const int32_t code = static_cast<int32_t>(random() % 20001) - 10000;
      std::memcpy(&it.bias[i * sizeof code], &code, sizeof code);
      it.scales.push_back(std::uniform_real_distribution<float>(0.0005F, 0.01F)(random));
    }
    it.from.scales = it.scales.data();
    it.from.lhs_zero_point = static_cast<int32_t>(random() % 256) - 128;
    it.from.multiplier = 0.37F;
  }
  it.from.values = it.values.data();
  it.from.bias = it.bias.data();
  return it;
}

Chunks random_chunks(bool alone, std::mt19937& random) {
  return {alone ? 1 : up_to(5, random), up_to(random() % 4 == 0 ? 70 : 13, random)};
}

// Packers.

class KleidiaiChunkRows : public testing::TestWithParam<Both<ChunkRowPacker>> {};

TEST_P(KleidiaiChunkRows, BytesAreTheSame) {
  const auto& [name, theirs, ours] = GetParam();
  const size_t bytes = value_bytes(name);
  ASSERT_EQ(ours.step, theirs.step);
  std::mt19937 random(3);
  for (int i = 0; i < cases; ++i) {
    const Chunks k = random_chunks(theirs.alone, random);
    const size_t m = up_to(2 * theirs.step + 5, random);
    const Rows rows = random_rows(m, k, bytes, theirs.step, false, random);
    const size_t size = theirs.packed_size(m, k);
    ASSERT_EQ(ours.packed_size(m, k), size);
    const size_t first = random() % 3 * theirs.step;
    ASSERT_EQ(ours.packed_offset(first, k), theirs.packed_offset(first, k));
    std::vector<uint8_t> wanted(size + 1, 0xab), found(size + 1, 0xab);
    theirs.run(m, k, rows.from, wanted.data());
    ours.run(m, k, rows.from, found.data());
    ASSERT_EQ(found, wanted) << m << " rows of " << k.count << " times " << k.length;
  }
}

TEST_P(KleidiaiChunkRows, RefuseRowsWithinPanels) {
  const auto packer = [&](bool their) { return their ? GetParam().theirs : GetParam().ours; };
  expect_both_refuse(true, [&](bool t) { packer(t).packed_offset(packer(t).step + 1, {2, 7}); });
}

class KleidiaiChunkColumns : public testing::TestWithParam<Both<ChunkColumnPacker>> {};

TEST_P(KleidiaiChunkColumns, BytesAreTheSame) {
  const auto& [name, theirs, ours] = GetParam();
  const size_t bytes = value_bytes(name);
  ASSERT_EQ(ours.step, theirs.step);
  std::mt19937 random(4);
  for (int i = 0; i < cases; ++i) {
    const Chunks k = random_chunks(theirs.alone, random);
    const size_t n = up_to(2 * theirs.step + 5, random);
    const Columns columns = random_columns(n, k, bytes, !has(name, "nxk"), false, random);
    const size_t size = theirs.packed_size(n, k);
    ASSERT_EQ(ours.packed_size(n, k), size);
    ASSERT_EQ(ours.packed_stride(k), theirs.packed_stride(k));
    const size_t first = random() % 3 * theirs.step;
    ASSERT_EQ(ours.packed_offset(first, k), theirs.packed_offset(first, k));
    ASSERT_EQ(ours.offset(first, columns.from.stride), theirs.offset(first, columns.from.stride));
    ASSERT_EQ(ours.bias_offset(first), theirs.bias_offset(first));
    ASSERT_EQ(ours.scale_offset(first), theirs.scale_offset(first));
    std::vector<uint8_t> wanted(size + 1, 0xab), found(size + 1, 0xab);
    theirs.run(n, k, columns.from, wanted.data());
    ours.run(n, k, columns.from, found.data());
    ASSERT_EQ(found, wanted) << n << " columns of " << k.count << " times " << k.length;
  }
}

TEST_P(KleidiaiChunkColumns, RefuseTheSame) {
  const auto packer = [&](bool their) { return their ? GetParam().theirs : GetParam().ours; };
  const size_t step = GetParam().theirs.step;
  const Chunks k = {1, 5};
  std::mt19937 random(5);
  const Columns columns = random_columns(step, k, value_bytes(GetParam().name), true, true, random);
  std::vector<uint8_t> packed(GetParam().theirs.packed_size(step, k));
  const auto run = [&](bool t, const ChunkColumns& from) {
    packer(t).run(step, k, from, packed.data());
  };
  ChunkColumns no_bias = columns.from;
  no_bias.bias = nullptr;
  ChunkColumns no_values = columns.from;
  no_values.values = nullptr;
  expect_both_refuse(false, [&](bool t) { run(t, columns.from); });
  expect_both_refuse(true, [&](bool t) { run(t, no_bias); });
  expect_both_refuse(true, [&](bool t) { run(t, no_values); });
  expect_both_refuse(true, [&](bool t) { packer(t).packed_offset(step + 1, k); });
  expect_both_refuse(true, [&](bool t) { packer(t).offset(step + 1, 64); });
}

// Products.

class KleidiaiChunkMatmuls : public testing::TestWithParam<Both<ChunkMatmul>> {};

struct Product {
  Rows rows;
  Columns columns;
  size_t m0 = 0, n0 = 0, m = 0, n = 0;  ///< the part that is computed
  size_t stride = 0;
  bool alone = false, whole = false;
  Clamp clamp;
};

Product random_product(const Both<ChunkMatmul>& kernel, std::mt19937& random) {
  const ChunkMatmul& its = kernel.theirs;
  const size_t bytes = value_bytes(kernel.name);
  Product it;
  it.alone = its.alone;
  it.whole = random() % 2 == 0;
  const Chunks k = random_chunks(its.alone, random);
  const size_t m = its.one_row ? 1 : up_to(2 * its.m_step + 6, random);
  const size_t n = up_to(2 * its.n_step + 6, random);
  it.rows = random_rows(m, k, bytes, its.m_step, it.whole, random);
  if (its.indirect) forget_rows_beyond(it.rows);
  it.columns = random_columns(n, k, bytes, true, it.whole, random);
  it.m0 = random() % ((m + its.m_step - 1) / its.m_step) * its.m_step;
  it.n0 = random() % ((n + its.n_step - 1) / its.n_step) * its.n_step;
  it.m = up_to(m - it.m0, random);
  it.n = up_to(n - it.n0, random);
  it.stride = (n + random() % 4) * bytes;
  const bool narrow = random() % 3 == 0;
  const float most = bytes == 2 ? 65504 : 3e38F;
  it.clamp = {narrow ? -0.5F : -most, narrow ? 0.75F : most, 0};
  if (bytes == 1) it.clamp = {narrow ? -30.0F : -128.0F, narrow ? 45.0F : 127.0F, -7};
  return it;
}

/// What an output may be: a code is one number, a float within the bound.
struct Wanted {
  double value = 0, bound = 0;
};

Wanted wanted_code(const Product& it, size_t i, size_t j) {
  const Columns& w = it.columns;
  int32_t sum = w.bias_code(j);
  for (size_t c = 0; c < w.k.count; ++c) {
    for (size_t d = 0; d < w.k.length; ++d) {
      const int value = static_cast<int>(it.rows.at(i, c, d, it.alone)) - w.from.lhs_zero_point;
      sum += value * static_cast<int>(w.at(j, c, d));
    }
  }
  const float scaled = static_cast<float>(sum) * (w.scales[j] * w.from.multiplier);
  const double code = std::nearbyint(double{scaled}) + it.clamp.zero_point;
  return {std::clamp(code, double{it.clamp.min}, double{it.clamp.max}), 0};
}

/// Each of k + 1 additions rounds a sum that is no larger than all sizes are together; f16 is
/// rounded to at the end.
Wanted wanted_float(const Product& it, size_t i, size_t j) {
  const Columns& w = it.columns;
  Wanted out{get(&w.bias[j * w.bytes], w.bytes), 0};
  double sizes = std::fabs(out.value);
  for (size_t c = 0; c < w.k.count; ++c) {
    for (size_t d = 0; d < w.k.length; ++d) {
      const double product = double{it.rows.at(i, c, d, it.alone)} * double{w.at(j, c, d)};
      out.value += product;
      sizes += std::fabs(product);
    }
  }
  const auto additions = static_cast<double>(w.k.count * w.k.length + 2);
  const double rounded = w.bytes == 2 ? 0x1p-11 * sizes + 0x1p-25 : 0;
  if (!it.whole) out.bound = 1.01 * additions * 0x1p-24 * sizes + rounded;
  out.value = std::clamp(out.value, double{it.clamp.min}, double{it.clamp.max});
  return out;
}

constexpr float untouched = 99;

std::vector<uint8_t> multiply(const ChunkMatmul& kernel, const Product& it,
                              const std::vector<uint8_t>& lhs, const std::vector<uint8_t>& rhs) {
  const size_t bytes = it.rows.bytes;
  std::vector<uint8_t> out(it.rows.m * it.stride);
  for (size_t at = 0; at < out.size(); at += bytes) put(&out[at], untouched, bytes);
  const Chunks& k = it.rows.k;
  kernel.run(it.m, it.n, k, {lhs.data() + kernel.lhs_offset(it.m0, k), &it.rows.from},
             rhs.data() + kernel.rhs_offset(it.n0, k),
             out.data() + kernel.dst_offset(it.m0, it.n0, it.stride), it.stride, it.clamp);
  return out;
}

void compare(const Product& it, const std::vector<uint8_t>& ours,
             const std::vector<uint8_t>& theirs) {
  const size_t bytes = it.rows.bytes;
  for (size_t at = 0; at < ours.size(); at += bytes) {
    const size_t i = at / it.stride;
    const size_t j = at % it.stride / bytes;
    const double found = get(&ours[at], bytes);
    const bool inside = i >= it.m0 && i < it.m0 + it.m && j >= it.n0 && j < it.n0 + it.n;
    if (!inside) {
      ASSERT_EQ(found, untouched) << "written outside of the part";
      continue;
    }
    const Wanted right = bytes == 1 ? wanted_code(it, i, j) : wanted_float(it, i, j);
    ASSERT_LE(std::fabs(found - right.value), right.bound)
        << "row " << i << ", column " << j << " instead of " << right.value;
    ASSERT_LE(std::fabs(found - get(&theirs[at], bytes)), 2 * right.bound)
        << "row " << i << ", column " << j;
  }
}

/// The packers of a kernel's operands; `step`: a panel, 0: any.
template <typename Packer>
const Both<Packer>& packer_of(const std::vector<Both<Packer>>& all, const Product& it,
                              size_t step) {
  for (const Both<Packer>& packer : all) {
    const bool fits = value_bytes(packer.name) == it.rows.bytes && !has(packer.name, "nxk") &&
                      (step == 0 || packer.theirs.step == step);
    if (fits && packer.theirs.alone == it.alone) return packer;
  }
  ADD_FAILURE() << "no packer";
  std::abort();
}

/// What the kernel is told of them: panels, or pointers.
std::vector<uint8_t> lhs_of(const ChunkMatmul& kernel, const Product& it) {
  const Rows& rows = it.rows;
  if (kernel.indirect) {
    const auto* const first = reinterpret_cast<const uint8_t*>(rows.from.pointers.data());
    return {first, first + rows.from.pointers.size() * sizeof(void*)};
  }
  if (kernel.one_row) return {rows.from.rows, rows.from.rows + rows.k.length};
  const auto all = chunk_row_packers();
  const ChunkRowPacker& packer = packer_of(all, it, kernel.m_step).theirs;
  std::vector<uint8_t> lhs(packer.packed_size(rows.m, rows.k));
  packer.run(rows.m, rows.k, rows.from, lhs.data());
  return lhs;
}

TEST_P(KleidiaiChunkMatmuls, ProductsAreTheSame) {
  const auto& [name, theirs, ours] = GetParam();
  ASSERT_EQ(ours.m_step, theirs.m_step);
  ASSERT_EQ(ours.n_step, theirs.n_step);
  ASSERT_EQ(ours.dst_size(7, 9), theirs.dst_size(7, 9));
  const auto all_columns = chunk_column_packers();
  std::mt19937 random(6);
  for (int i = 0; i < cases; ++i) {
    const Product it = random_product(GetParam(), random);
    const Chunks& k = it.rows.k;
    ASSERT_EQ(ours.lhs_offset(it.m0, k), theirs.lhs_offset(it.m0, k));
    ASSERT_EQ(ours.rhs_offset(it.n0, k), theirs.rhs_offset(it.n0, k));
    ASSERT_EQ(ours.dst_offset(it.m0, it.n0, it.stride), theirs.dst_offset(it.m0, it.n0, it.stride));
    const auto& columns = packer_of(all_columns, it, theirs.one_row ? 0 : theirs.n_step).theirs;
    const std::vector<uint8_t> lhs = lhs_of(theirs, it);
    std::vector<uint8_t> rhs(columns.packed_size(it.columns.n, k));
    columns.run(it.columns.n, k, it.columns.from, rhs.data());
    SCOPED_TRACE(testing::Message()
                 << it.rows.m << " x " << it.columns.n << " x " << k.count << " times " << k.length
                 << ", from " << it.m0 << ", " << it.n0 << (it.whole ? ", whole numbers" : ""));
    compare(it, multiply(ours, it, lhs, rhs), multiply(theirs, it, lhs, rhs));
    if (HasFatalFailure()) return;
  }
}

TEST_P(KleidiaiChunkMatmuls, RefuseTheSame) {
  const auto kernel = [&](bool their) { return their ? GetParam().theirs : GetParam().ours; };
  const Chunks k = {1, 7};
  const size_t m = GetParam().theirs.m_step + 1;
  const size_t n = GetParam().theirs.n_step + 1;
  expect_both_refuse(true, [&](bool t) { kernel(t).lhs_offset(m, k); });
  expect_both_refuse(true, [&](bool t) { kernel(t).rhs_offset(n, k); });
  expect_both_refuse(true, [&](bool t) { kernel(t).dst_offset(m, 0, 64); });
  expect_both_refuse(true, [&](bool t) { kernel(t).dst_offset(0, n, 64); });
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(KleidiaiChunkRows);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(KleidiaiChunkColumns);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(KleidiaiChunkMatmuls);
INSTANTIATE_TEST_SUITE_P(, KleidiaiChunkRows, testing::ValuesIn(chunk_row_packers()),
                         [](const auto& it) { return it.param.name; });
INSTANTIATE_TEST_SUITE_P(, KleidiaiChunkColumns, testing::ValuesIn(chunk_column_packers()),
                         [](const auto& it) { return it.param.name; });
INSTANTIATE_TEST_SUITE_P(, KleidiaiChunkMatmuls, testing::ValuesIn(chunk_matmuls()),
                         [](const auto& it) { return it.param.name; });

}  // namespace
}  // namespace tw::test::chunks_test
