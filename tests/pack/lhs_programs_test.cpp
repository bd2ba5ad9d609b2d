// The inner loops that quantize activations, run by the interpreter, against the formulas.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "pack/programs.h"
#include "reference/quantize_reference.h"

namespace tw::test {
namespace {

void check_lhs(const Isa& on, Ties ties, size_t steps, uint32_t seed) {
  const Rounding rounding = ties == Ties::even ? Rounding::even : Rounding::away;
  const int64_t together = seed % 3 == 0 ? 32 : 256;
  const int64_t step = lhs_step(on, rounding, together);
  SCOPED_TRACE(on.name + " steps " + std::to_string(steps));
  std::mt19937 random(seed);
  std::vector<float> row(steps * static_cast<size_t>(step));
  for (float& x : row) x = std::uniform_real_distribution<float>(-2, 5)(random);
  if (seed % 2 == 0) {  // ties: codes are twice as far apart as these values
    for (float& x : row) x = static_cast<float>(static_cast<int>(random() % 511) - 200) / 2;
    row[0] = -100;
    row[1] = 155;
  }
  const QuantizedRow wanted = quantize_row_qai8dx(row.data(), row.size(), ties);
  const auto vector_bytes = static_cast<size_t>(on.vector_bytes.fixed);

  Memory memory;
  Arguments arguments;
  field(arguments, ArgField::lhs) = memory.add("row", bytes_of(row.data(), row.size() * 4), false);
  field(arguments, ArgField::n) = steps;
  const uint64_t range = memory.add_unwritten("range", 3 * vector_bytes);
  field(arguments, ArgField::dst) = range;
  run(lower_row_range(on, "range", step), arguments, memory);
  const auto low = lanes<float>(memory, range, 0, vector_bytes / 4);
  const auto high = lanes<float>(memory, range, vector_bytes, vector_bytes / 4);
  const float lowest = std::min(0.0F, *std::min_element(row.begin(), row.end()));
  const float highest = std::max(0.0F, *std::max_element(row.begin(), row.end()));
  EXPECT_EQ(*std::min_element(low.begin(), low.end()), lowest);
  EXPECT_EQ(*std::max_element(high.begin(), high.end()), highest);

  for (const float lane : lanes<float>(memory, range, 2 * vector_bytes, vector_bytes / 4)) {
    EXPECT_EQ(lane, 0);
  }

  const auto zero_point = static_cast<float>(wanted.zero_point);
  const float floats[] = {255.0F / (highest - lowest), -128.0F - zero_point, 127.0F - zero_point};
  std::vector<uint8_t> parameters = bytes_of(floats, sizeof floats);
  const auto integer = bytes_of(&wanted.zero_point, 4);
  parameters.insert(parameters.end(), integer.begin(), integer.end());
  field(arguments, ArgField::lookup) = memory.add("parameters", parameters, false);
  const uint64_t codes = memory.add_unwritten("codes", row.size() + vector_bytes);
  field(arguments, ArgField::dst) = codes;
  field(arguments, ArgField::dst_stride) = row.size();
  run(lower_quantize_row(on, "quantize", rounding, step), arguments, memory);
  EXPECT_EQ(bytes_of(memory.bytes(codes).data(), row.size()),
            bytes_of(wanted.codes.data(), row.size()));
  int32_t sum = 0;
  for (const int32_t lane : lanes<int32_t>(memory, codes, row.size(), vector_bytes / 4))
    sum += lane;
  int32_t wanted_sum = 0;
  for (const int8_t code : wanted.codes) wanted_sum += code;
  EXPECT_EQ(sum, wanted_sum);
}

/// One value that is not finite, anywhere: seen in its lane, and made code 0.
void check_not_finite(const Isa& on, size_t at, float value) {
  SCOPED_TRACE(on.name + " value " + std::to_string(at));
  const int64_t step = lhs_step(on, Rounding::even, 256);
  std::vector<float> row(2 * static_cast<size_t>(step), 1.5F);
  row[at] = value;
  const auto vector_bytes = static_cast<size_t>(on.vector_bytes.fixed);
  Memory memory;
  Arguments arguments;
  field(arguments, ArgField::lhs) = memory.add("row", bytes_of(row.data(), row.size() * 4), false);
  field(arguments, ArgField::n) = 2;
  const uint64_t range = memory.add_unwritten("range", 3 * vector_bytes);
  field(arguments, ArgField::dst) = range;
  run(lower_row_range(on, "range", step), arguments, memory);
  const auto seen = lanes<float>(memory, range, 2 * vector_bytes, vector_bytes / 4);
  for (size_t lane = 0; lane < seen.size(); ++lane) {
    EXPECT_EQ(std::isnan(seen[lane]), lane == at % seen.size());
  }
  const float parameters[] = {NAN, 0, 0, 0};
  field(arguments, ArgField::lookup) =
      memory.add("parameters", bytes_of(parameters, sizeof parameters), false);
  const uint64_t codes = memory.add_unwritten("codes", row.size() + vector_bytes);
  field(arguments, ArgField::dst) = codes;
  field(arguments, ArgField::dst_stride) = row.size();
  run(lower_quantize_row(on, "quantize", Rounding::even, step), arguments, memory);
  EXPECT_EQ(memory.bytes(codes), std::vector<uint8_t>(row.size() + vector_bytes, 0));
}

TEST(PackPrograms, LhsSeesWhatIsNotFinite) {
  for (const char* name : {"avx512_vnni", "neon_i8mm"}) {
    for (const float value : {NAN, -NAN, INFINITY, -INFINITY}) {
      for (size_t at = 0; at < 2 * static_cast<size_t>(lhs_step(isa(name), Rounding::even, 256));
           at += 7) {
        check_not_finite(isa(name), at, value);
      }
    }
  }
}

TEST(PackPrograms, LhsAgreesWithTheFormulas) {
  for (const char* name : {"avx512_vnni", "avx2", "neon_i8mm"}) {
    for (const auto& [rounding, ties] :
         {std::pair{Rounding::even, Ties::even}, {Rounding::away, Ties::away}}) {
      if (lhs_step(isa(name), rounding, 256) == 0) {
        EXPECT_EQ(rounding, Rounding::away) << name;
        continue;
      }
      for (uint32_t steps = 1; steps < 5; ++steps) check_lhs(isa(name), ties, steps, steps);
    }
  }
  EXPECT_NE(lhs_step(isa("neon_i8mm"), Rounding::away, 256), 0);
}

/// Of any size; the first of several is so small that it counts as zeros.
std::vector<float> random_blocks(size_t count, size_t block, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<float> row(count * block);
  for (size_t b = 0; b < count; ++b) {
    const float size = std::ldexp(1.0F, static_cast<int>(random() % 40) - 20);
    for (size_t i = 0; i < block; ++i) {
      row[b * block + i] = size * std::uniform_real_distribution<float>(-1, 1)(random);
    }
  }
  if (count > 1) std::fill_n(row.begin(), block, 0x1p-101F);
  return row;
}

/// As packers have it done: ranges, what the skeleton chooses, codes and sums.
void check_blocks(const Isa& on, size_t block, const std::vector<float>& row) {
  const size_t count = row.size() / block;
  const auto length = block == block_step ? BlockLength::step : BlockLength::argument;
  const auto vector_bytes = static_cast<size_t>(on.vector_bytes.fixed);
  SCOPED_TRACE(on.name + " block " + std::to_string(block) + " of " + std::to_string(count));
  Memory memory;
  Arguments arguments;
  field(arguments, ArgField::lhs) = memory.add("row", bytes_of(row.data(), row.size() * 4), false);
  field(arguments, ArgField::n) = count;
  field(arguments, ArgField::block) = block;
  const uint64_t ranges = memory.add_unwritten("ranges", 4 * (count - 1) + vector_bytes);
  field(arguments, ArgField::dst) = ranges;
  run(lower_block_ranges(on, "ranges", length), arguments, memory);
  const auto largest = lanes<float>(memory, ranges, 0, count);

  std::vector<uint8_t> parameters;
  std::vector<int8_t> wanted;
  std::vector<int32_t> wanted_sums;
  for (size_t b = 0; b < count; ++b) {
    const float* const values = row.data() + b * block;
    const QuantizedRow quantized = quantize_block_qsi8d32(values, block);
    float magnitude = 0;
    for (size_t i = 0; i < block; ++i) {
      magnitude = std::isfinite(values[i]) ? std::max(magnitude, std::fabs(values[i])) : INFINITY;
      if (std::isinf(magnitude)) break;
    }
    EXPECT_EQ(largest[b], magnitude) << "block " << b;
    const bool codes = magnitude >= 0x1p-100F && std::isfinite(magnitude);
    const float bound = std::isfinite(magnitude) ? 127.0F : 0.0F;
    const float fields[] = {codes ? 127.0F / magnitude : 0.0F, -bound, bound, 0, quantized.scale};
    const auto bytes = bytes_of(fields, sizeof fields);
    parameters.insert(parameters.end(), bytes.begin(), bytes.end());
    wanted.insert(wanted.end(), quantized.codes.begin(), quantized.codes.end());
    wanted_sums.push_back(std::accumulate(quantized.codes.begin(), quantized.codes.end(), 0));
  }
  field(arguments, ArgField::lookup) = memory.add("parameters", parameters, false);
  const uint64_t codes = memory.add_unwritten("codes", row.size() + 4 * (count - 1) + vector_bytes);
  field(arguments, ArgField::dst) = codes;
  field(arguments, ArgField::dst_stride) = row.size();
  run(lower_quantize_blocks(on, "codes", Rounding::even, length), arguments, memory);
  EXPECT_EQ(bytes_of(memory.bytes(codes).data(), row.size()),
            bytes_of(wanted.data(), wanted.size()));
  EXPECT_EQ(lanes<int32_t>(memory, codes, row.size(), count), wanted_sums);
}

constexpr const char* block_isas[] = {"avx512_vnni", "avx2", "neon_dotprod"};

TEST(PackPrograms, LhsBlocksAgreeWithTheFormulas) {
  for (const char* name : block_isas) {
    for (const size_t block : {32, 64, 256}) {
      ASSERT_TRUE(can_quantize_blocks(isa(name), Rounding::even));
      for (const size_t count : {1, 2, 5}) {
        check_blocks(isa(name), block, random_blocks(count, block, static_cast<uint32_t>(block)));
      }
    }
  }
}

TEST(PackPrograms, LhsBlocksSeeWhatIsNotFinite) {
  for (const char* name : block_isas) {
    for (const float value : {NAN, -NAN, INFINITY, -INFINITY}) {
      for (size_t at = 0; at < 96; at += 5) {
        std::vector<float> row = random_blocks(3, 32, 7);
        row[at] = value;
        check_blocks(isa(name), 32, row);
      }
    }
  }
}

}  // namespace
}  // namespace tw::test
