// Random tiles of attention's stages on every ISA, interpreted after every stage of compilation,
// block by block, against the reference.
#include <gtest/gtest.h>

#include <cfloat>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <numeric>
#include <optional>

#include "interpreter/random_variant.h"
#include "ir/interpreter.h"
#include "model/attention.h"
#include "pipeline/pipeline.h"
#include "reference/attention_reference.h"
#include "spec/core_reader.h"
#include "spec/isa_reader.h"
#include "spec/yaml_reader.h"
#include "support/environment.h"

namespace tw::test::attention_test {
namespace {

const std::filesystem::path templates = std::filesystem::path(TILEWRIGHT_SOURCE_DIR) / "templates";

Family attention_family(const char* positions = "f16") {
  Family family;
  family.operation = Operation::attention;
  family.lhs = find_format("f32");
  family.rhs = find_format(positions);
  family.name = family_name(family);
  return family;
}

std::vector<std::string> isas_with_attention() {
  IsaLibrary isas(templates);
  std::vector<std::string> names;
  for (const std::string& name : isas.known()) {
    // What a table of tiles extends is a table of its own.
    if (isas.get(name).usual_technique == Technique::tile) continue;
    try {
      attention_layouts(attention_family(), isas.get(name));
      names.push_back(name);
    } catch (const std::invalid_argument&) {
      continue;
    }
  }
  return names;
}

Variant make_variant(const Isa& isa, Stage stage, Tile tile, const char* positions = "f16") {
  Variant v;
  v.family = attention_family(positions);
  v.stage = stage;
  const LayoutPair layouts = attention_layouts(v.family, isa);
  v.lhs = layouts.lhs;
  v.rhs = layouts.rhs;
  v.tile = tile;
  v.technique = Technique::fma;
  v.isa = &isa;
  v.print_assembly = isa.can_print_assembly;
  return v;
}

/// The three kernels of one ISA, compiled.
struct Kernels {
  std::vector<Variant> variants;
  std::vector<Compiled> compiled;
  size_t lanes = 1;
  bool has_blocks = false;  ///< of K and V
  std::string type;         ///< of their rows
};

std::optional<Kernels> random_kernels(const Isa& isa, const char* positions_format,
                                      const CoreModel& core, Random& random) {
  Kernels kernels;
  const int64_t lanes = isa.vector_bytes.fixed / 4;
  kernels.lanes = static_cast<size_t>(lanes);
  const int64_t positions = random.between(0, 1) == 0 ? 4 : lanes;
  kernels.has_blocks = find_format(positions_format)->block != 0;
  const std::string format = positions_format;
  kernels.type = format == "qsi8c32"   ? "q8_0"
                 : format == "qsi4c32" ? "q4_0"
                 : format == "qai8dx"  ? "s8"
                                       : format;
  const int64_t vectors = kernels.has_blocks ? random.of({1, 2, 4}) : random.between(1, 4);
  kernels.variants = {
      make_variant(isa, Stage::scores, {random.of({1, 2, 4}), positions}, positions_format),
      make_variant(isa, Stage::weights, {1, lanes},
                   kernels.type == "s8" ? positions_format : "f16"),
      make_variant(isa, Stage::values, {random.of({1, 2, 4}), lanes * vectors}, positions_format)};
  try {
    for (const Variant& v : kernels.variants) kernels.compiled.push_back(compile(v, core));
  } catch (const SpecError&) {
    return std::nullopt;
  }
  return kernels;
}

/// Of what stands in front of a row's scores.
constexpr size_t state_vectors = 5;

std::vector<uint8_t> bytes_of(const std::vector<float>& values) {
  std::vector<uint8_t> bytes(values.size() * 4);
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

/// Rows of a head, `gap` bytes apart. `s8`: of each row, where that is the type.
std::vector<uint8_t> rows_of(const std::vector<float>& values, size_t rows, size_t row_values,
                             const std::string& type, size_t gap, const RowScale* s8 = nullptr) {
  const size_t stride = row_bytes_of(type, row_values) + gap;
  std::vector<uint8_t> bytes(rows * stride - gap, 0xff);
  for (size_t row = 0; row < rows; ++row) {
    put_row(type, &values[row * row_values], row_values, bytes.data() + row * stride,
            s8 == nullptr ? RowScale{} : s8[row]);
  }
  return bytes;
}

std::vector<float> floats_of(const std::vector<uint8_t>& bytes) {
  std::vector<float> values(bytes.size() / 4);
  std::memcpy(values.data(), bytes.data(), values.size() * 4);
  return values;
}

/// One head of K and V, whose rows are queries.
class BlockRunner {
 public:
  using Stages = std::vector<const Program*>;
  BlockRunner(const Attention& in, size_t lanes, Stages stages, bool physical)
      : in_(in), lanes_(lanes), stages_(std::move(stages)), physical_(physical) {
    std::vector<float> q = in.q;
    for (float& x : q) x *= in.softcap == 0 ? in.scale : in.scale / in.softcap;
    q_ = memory_.add("q", bytes_of(q), false, 4);
    states_.assign(in.queries, std::vector<float>(state_vectors * lanes, 0));
    for (size_t row = 0; row < in.queries; ++row) {
      float* state = states_[row].data();
      std::fill(state, state + lanes, -FLT_MAX);
      const float* its_q = &q[row * in.key_size];
      std::fill(state + 3 * lanes, state + 4 * lanes,
                -std::accumulate(its_q, its_q + in.key_size, 0.0F));
    }
    sums_ = memory_.add("sums", std::vector<uint8_t>(in.queries * in.value_size * 4), true, 4);
  }

  void block(size_t first, size_t count, size_t tile) {
    const size_t room = (count + tile * lanes_ - 1) / (tile * lanes_) * tile * lanes_;
    const size_t row = state_vectors * lanes_ + room;
    rows_ = {memory_.add_unwritten("rows", in_.queries * row * 4, 4), row * 4};
    multiply_keys(first, count);
    const float lowest = -INFINITY;
    for (size_t r = 0; r < in_.queries; ++r) {
      memory_.write(rows_.at + r * rows_.stride, states_[r].data(), state_vectors * lanes_ * 4);
      for (size_t p = count; p < (count + lanes_ - 1) / lanes_ * lanes_; ++p) {
        memory_.write(scores().at + r * rows_.stride + p * 4, &lowest, 4);
      }
    }
    weigh(first, count);
    multiply_values(first, count);
    for (size_t r = 0; r < in_.queries; ++r) {
      memory_.read(rows_.at + r * rows_.stride, states_[r].data(), state_vectors * lanes_ * 4);
    }
  }

  /// "" or what is wrong.
  std::string compare() {
    const std::vector<float> sums = floats_of(memory_.bytes(sums_));
    for (size_t r = 0; r < in_.queries; ++r) {
      float sum = 0;
      float surplus = 0;
      for (size_t j = 0; j < lanes_; ++j) {
        sum += states_[r][lanes_ + j];
        surplus += states_[r][4 * lanes_ + j];
      }
      const std::vector<Output> right = attend(in_, r, 0);
      for (size_t i = 0; i < in_.value_size; ++i) {
        const float value = sum == 0 ? 0 : (sums[r * in_.value_size + i] - surplus) / sum;
        if (std::fabs(value - right[i].value) <= right[i].error) continue;
        return "row " + std::to_string(r) + ", column " + std::to_string(i) + " is " +
               std::to_string(value) + ", not " + std::to_string(right[i].value);
      }
    }
    return "";
  }

 private:
  struct Rows {
    uint64_t at = 0;
    size_t stride = 0;
  };

  [[nodiscard]] Rows scores() const {
    return {rows_.at + state_vectors * lanes_ * 4, rows_.stride};
  }

  static void set(Arguments& arguments, ArgField field, uint64_t value) {
    arguments.field[static_cast<size_t>(field)] = value;
  }

  static void set(Arguments& arguments, ArgField field, ArgField stride, const Rows& rows) {
    set(arguments, field, rows.at);
    set(arguments, stride, rows.stride);
  }

  void run_stage(size_t stage, Arguments arguments) {
    if (in_.queries % 3 != 0) set(arguments, ArgField::rhs_prefetch, 4096);
    if (stage != 1) {
      set(arguments, ArgField::m, in_.queries / heads());
      set(arguments, ArgField::heads, heads());
    }
    run(*stages_[stage], arguments, memory_, {.vl = {}, .physical = physical_});
  }

  /// Two heads that have the same positions are one with the rows of both.
  [[nodiscard]] size_t heads() const {
    return in_.queries % 2 == 0 && !has_blocks(in_.key_type) ? 2 : 1;
  }

  /// A copy of rows of K or V for each head, behind which nothing may be read.
  void set_positions(Arguments& arguments, const char* name, const std::vector<float>& all,
                     const std::string& type, size_t size, size_t first, size_t count,
                     const std::vector<RowScale>& s8) {
    constexpr size_t gap = 6;
    const std::vector<float> some(
        all.begin() + static_cast<std::ptrdiff_t>(first * size),
        all.begin() + static_cast<std::ptrdiff_t>((first + count) * size));
    const size_t stride = row_bytes_of(type, size) + gap;
    const std::vector<uint8_t> head =
        rows_of(some, count, size, type, gap, s8.empty() ? nullptr : &s8[first]);
    std::vector<uint8_t> bytes = head;
    const size_t head_stride = head.size() + stride;  // NaNs between them
    if (heads() == 2) {
      bytes.resize(head_stride, 0xff);
      bytes.insert(bytes.end(), head.begin(), head.end());
    }
    set(arguments, ArgField::rhs, ArgField::rhs_stride,
        {memory_.add(name, bytes, false, 2), stride});
    set(arguments, ArgField::rhs_head_stride, head_stride);
  }

  void multiply_keys(size_t first, size_t count) {
    Arguments a;
    set(a, ArgField::m, in_.queries);
    set(a, ArgField::n, count);
    set(a, ArgField::k, in_.key_size);
    set(a, ArgField::lhs, ArgField::lhs_stride, {q_, in_.key_size * 4});
    set_positions(a, "k", in_.k, in_.key_type, in_.key_size, first, count, in_.k_scales);
    set(a, ArgField::dst, ArgField::dst_stride, scores());
    run_stage(0, a);
  }

  /// Vectors of scales and of zero points of K, then V's, for each vector of positions.
  [[nodiscard]] std::vector<float> scales_of(size_t first, size_t count) const {
    std::vector<float> all;
    for (size_t at = 0; at < count; at += lanes_) {
      for (const std::vector<RowScale>* rows : {&in_.k_scales, &in_.v_scales}) {
        for (const bool zeros : {false, true}) {
          for (size_t i = at; i < at + lanes_; ++i) {
            const RowScale& row = (*rows)[first + std::min(i, count - 1)];
            all.push_back(zeros ? static_cast<float>(row.zero) : row.scale);
          }
        }
      }
    }
    return all;
  }

  void weigh(size_t first, size_t count) {
    Arguments a;
    set(a, ArgField::m, in_.queries);
    set(a, ArgField::n, count);
    set(a, ArgField::dst, ArgField::dst_stride, rows_);
    a.min = static_cast<float>(slope_of(in_, 0));
    a.max = in_.softcap;
    uint64_t flags = in_.softcap == 0 ? 0 : 4;
    if (!in_.k_scales.empty()) {
      set(a, ArgField::rhs, memory_.add("scales", bytes_of(scales_of(first, count)), false, 4));
    }
    if (!in_.mask.empty()) {
      const size_t vectors = (count + lanes_ - 1) / lanes_ * lanes_;
      std::vector<float> rows(in_.queries * vectors, 0);
      for (size_t i = 0; i < in_.queries * count; ++i) {
        rows[i / count * vectors + i % count] =
            in_.mask[i / count * in_.positions + first + i % count];
      }
      const size_t size = bytes_of_float(in_.mask_type);
      set(a, ArgField::lhs, ArgField::lhs_stride,
          {memory_.add("mask", rows_of(rows, in_.queries, vectors, in_.mask_type, 0), false, 4),
           vectors * size});
      flags += in_.mask_type == "f16" ? 1 : 2;
    }
    set(a, ArgField::flags, flags);
    run_stage(1, a);
  }

  void multiply_values(size_t first, size_t count) {
    Arguments a;
    set(a, ArgField::m, in_.queries);
    set(a, ArgField::n, in_.value_size);
    set(a, ArgField::k, count);
    set(a, ArgField::lhs, ArgField::lhs_stride, rows_);
    set_positions(a, "v", in_.v, in_.value_type, in_.value_size, first, count, in_.v_scales);
    set(a, ArgField::dst, ArgField::dst_stride, {sums_, in_.value_size * 4});
    run_stage(2, a);
  }

  const Attention& in_;
  size_t lanes_;
  Stages stages_;
  bool physical_;
  Memory memory_;
  uint64_t q_ = 0, sums_ = 0;
  std::vector<std::vector<float>> states_;
  Rows rows_;  ///< states, behind each its row's scores
};

Attention random_attention(const Kernels& kernels, Random& random) {
  Attention in;
  in.queries = static_cast<size_t>(random.between(1, 9));
  in.positions = static_cast<size_t>(random.between(1, 40));
  const size_t together = kernels.has_blocks ? block_values : kernels.lanes;
  in.key_size = together * static_cast<size_t>(random.between(1, kernels.has_blocks ? 3 : 5));
  in.value_size = together * static_cast<size_t>(random.between(1, kernels.has_blocks ? 3 : 9));
  in.key_type = in.value_type = kernels.type;
  fill_attention(in, static_cast<uint32_t>(random.between(1, 1 << 20)));
  in.mask_type = random.of({"f16", "f32"});
  if (random.between(0, 2) != 0) fill_mask(in, 1, 17);
  if (random.between(0, 2) == 0) in.max_bias = 3;
  if (random.between(0, 3) == 0) in.softcap = 2;
  return in;
}

std::string run_blocks(const Attention& in, const Kernels& kernels,
                       const BlockRunner::Stages& stages, bool physical, size_t block) {
  try {
    BlockRunner runner(in, kernels.lanes, stages, physical);
    for (size_t first = 0; first < in.positions; first += block) {
      runner.block(first, std::min(block, in.positions - first), 4);
    }
    return runner.compare();
  } catch (const Fault& fault) {
    return std::string("fault: ") + fault.what();
  }
}

/// What is wrong with a tile on AVX2.
std::string refusal(Stage stage, Tile tile, const char* positions = "f16") {
  IsaLibrary isas(templates);
  const Isa& isa = isas.get("avx2");
  try {
    compile(make_variant(isa, stage, tile, positions), read_core(templates, isa.default_core));
  } catch (const SpecError& error) {
    const std::string text = error.what();
    return text.substr(text.find("tile"));
  }
  return "";
}

TEST(AttentionTiles, OthersAreRefused) {
  EXPECT_EQ(refusal(Stage::scores, {3, 4}),
            "tile 3x4 does not fit scores of attention on avx2: rows by powers of two do");
  EXPECT_EQ(refusal(Stage::scores, {1, 6}),
            "tile 1x6 does not fit scores of attention on avx2: 4 positions, or multiples of 8, "
            "do");
  EXPECT_EQ(refusal(Stage::weights, {2, 8}),
            "tile 2x8 does not fit weights of attention on avx2: 1x8 does");
  EXPECT_EQ(refusal(Stage::values, {1, 12}),
            "tile 1x12 does not fit values of attention on avx2: whole vectors, multiples of 8 "
            "columns, do");
  EXPECT_EQ(refusal(Stage::values, {1, 24}, "qsi8c32"),
            "tile 1x24 does not fit values of attention on avx2: whole vectors, multiples of 8 "
            "columns, that divide 32 or are multiples of it, do");
  EXPECT_EQ(refusal(Stage::scores, {4, 8}, "qsi4c32").substr(0, 42),
            "tile 4x8 needs 47 vector registers on avx2");
  EXPECT_EQ(refusal(Stage::values, {4, 32}),
            "tile 4x32 needs 21 vector registers on avx2 (16 accumulators + 5 operands), 16 exist; "
            "2x32 and 4x24 fit");
}

class AttentionInterpreter : public testing::TestWithParam<std::string> {};

/// After every stage of compiling.
void expect_agreement_of(const Kernels& kernels, const Attention& in) {
  const auto check = [&](const char* stage, auto&& program_of, bool physical) {
    BlockRunner::Stages stages;
    for (const Compiled& one : kernels.compiled) stages.push_back(program_of(one));
    if (stages.front() == nullptr) return;
    ASSERT_EQ(run_blocks(in, kernels, stages, physical, 16), "")
        << stage << ": " << kernels.variants[0].name() << ", " << kernels.variants[2].name() << ": "
        << in.queries << " queries, " << in.positions << " positions, heads of " << in.key_size
        << " and " << in.value_size;
  };
  const auto at = [](const std::optional<Program>& program) {
    return program ? &*program : nullptr;
  };
  check(
      "lowered", [](const Compiled& one) { return &one.lowered; }, false);
  check(
      "ordered", [](const Compiled& one) { return &one.ordered; }, false);
  check(
      "pipelined", [&](const Compiled& one) { return at(one.pipelined); }, false);
  check(
      "allocated", [&](const Compiled& one) { return at(one.allocated); }, true);
}

/// Tiles that do not fit are drawn anew.
void expect_agreement(const std::string& name, const char* positions, int rounds) {
  IsaLibrary isas(templates);
  const Isa& isa = isas.get(name);
  const CoreModel core = read_core(templates, isa.default_core);
  Random random(20261126);
  int refused = 0;
  for (int round = 0; round < rounds; ++round) {
    std::optional<Kernels> kernels = random_kernels(isa, positions, core, random);
    for (; !kernels; kernels = random_kernels(isa, positions, core, random)) {
      ASSERT_LT(++refused, 20 * rounds);
    }
    expect_agreement_of(*kernels, random_attention(*kernels, random));
    if (testing::Test::HasFatalFailure()) return;
  }
  std::printf("%s: %d rounds, %d more refused\n", isa.name.c_str(), rounds, refused);
}

TEST_P(AttentionInterpreter, AgreesWithTheReference) {
  expect_agreement(GetParam(), "f16", is_sanitized ? (is_long() ? 3 : 1) : 10);
}

TEST_P(AttentionInterpreter, AgreesWithTheReferenceOnOtherFloats) {
  for (const char* type : {"f32", "bf16"}) expect_agreement(GetParam(), type, is_sanitized ? 1 : 3);
}

TEST_P(AttentionInterpreter, AgreesWithTheReferenceOnInt8) {
  expect_agreement(GetParam(), "qai8dx", is_sanitized ? 2 : 6);
}

TEST_P(AttentionInterpreter, AgreesWithTheReferenceOnBlocks) {
  for (const char* type : {"qsi8c32", "qsi4c32"}) {
    expect_agreement(GetParam(), type, is_sanitized ? (is_long() ? 2 : 1) : 4);
  }
}

/// Weights of one row of scores, of which the first is 0 and the largest.
std::vector<float> weights_of(const Program& program, int64_t lanes,
                              const std::vector<float>& scores) {
  std::vector<float> row(state_vectors * static_cast<size_t>(lanes), 0);
  std::fill(row.begin(), row.begin() + lanes, -FLT_MAX);
  row.insert(row.end(), scores.begin(), scores.end());
  Memory memory;
  Arguments a;
  const uint64_t at = memory.add("row", bytes_of(row), true, 4);
  a.field[static_cast<size_t>(ArgField::m)] = 1;
  a.field[static_cast<size_t>(ArgField::n)] = scores.size();
  a.field[static_cast<size_t>(ArgField::dst)] = at;
  run(program, a, memory);
  const std::vector<float> found = floats_of(memory.bytes(at));
  return {found.begin() + static_cast<std::ptrdiff_t>(state_vectors) * lanes, found.end()};
}

TEST_P(AttentionInterpreter, ExponentialsAreWithinTwoUnits) {
  IsaLibrary isas(templates);
  const Isa& isa = isas.get(GetParam());
  const int64_t lanes = isa.vector_bytes.fixed / 4;
  const Compiled weights = compile(make_variant(isa, Stage::weights, {1, lanes}),
                                   read_core(templates, isa.default_core));
  std::vector<float> scores = {0, -87.9F, -88, -1000, -FLT_MAX, -INFINITY, -1e-30F, -1};
  Random random(3);
  while (scores.size() < 4096) {
    scores.push_back(-std::ldexp(static_cast<float>(random.between(1, 87 << 16)), -16));
  }
  const std::vector<float> found = weights_of(weights.lowered, lanes, scores);
  for (size_t i = 0; i < scores.size(); ++i) {
    const double right = scores[i] < -87.68F ? 0 : std::exp(double{scores[i]});
    const double one = right == 0 ? 0 : std::ldexp(1.0, std::ilogb(right) - 23);
    ASSERT_LE(std::fabs(found[i] - right), 2 * one) << scores[i] << ": " << found[i];
  }
}

INSTANTIATE_TEST_SUITE_P(, AttentionInterpreter, testing::ValuesIn(isas_with_attention()),
                         [](const auto& isa) { return isa.param; });

}  // namespace
}  // namespace tw::test::attention_test
