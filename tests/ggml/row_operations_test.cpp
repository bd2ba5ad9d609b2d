// Operations between products, against what they are by definition.
#include "integrations/ggml/row_operations.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <stdexcept>

#include "ggml/host.h"
#include "ggml/tensors.h"
#include "integrations/ggml/rows.h"
#include "reference/rows_reference.h"

extern "C" const char* ggml_op_name(int32_t op);

namespace tw::ggml::row_operations_test {
namespace {

/// By four numbers, the innermost first.
using ValueAt = std::function<double(size_t, size_t, size_t, size_t)>;

class RowOperations : public testing::Test {
 protected:
  void SetUp() override {
    if (dlsym(RTLD_DEFAULT, "ggml_op_name") == nullptr) {
      GTEST_SKIP() << "a static program: a plug-in finds no names in it";
    }
    find_row_operations(ggml_op_name);
  }

  OwnTensor floats(Extents extents) { return random_floats(random_, extents); }
  static OwnTensor positions(const std::vector<int32_t>& values) {
    OwnTensor made = make_tensor(type_i32, {values.size(), 1, 1, 1});
    std::memcpy(made.bytes.data(), values.data(), made.bytes.size());
    return made;
  }

  std::mt19937 random_{3};
};

Tensor make_op(int32_t number, const OwnTensor& output, std::vector<Tensor*> sources) {
  Tensor op = output.tensor;
  op.op = number;
  std::copy(sources.begin(), sources.end(), op.src);
  return op;
}

void set_float(Tensor& op, size_t number, float value) {
  std::memcpy(&op.op_params[number], &value, sizeof value);
}

void compute(const Tensor& op, int threads) {
  const RowOperation* operation = covering_row_operation(op);
  ASSERT_NE(operation, nullptr);
  ASSERT_EQ(compute_rows(*operation, op, threads), success);
}

void expect_values(const Tensor& op, const ValueAt& wanted) {
  for (size_t i3 = 0; i3 < extent(op, 3); ++i3) {
    for (size_t i2 = 0; i2 < extent(op, 2); ++i2) {
      for (size_t i1 = 0; i1 < extent(op, 1); ++i1) {
        for (size_t i0 = 0; i0 < extent(op, 0); ++i0) {
          const double value = wanted(i0, i1, i2, i3);
          ASSERT_NEAR(float_at(op, i0, i1, i2, i3), value, 1e-6 + std::abs(value) * 2e-6)
              << i0 << " " << i1 << " " << i2 << " " << i3;
        }
      }
    }
  }
}

void expect_at_any_threads(const Tensor& op, const ValueAt& wanted) {
  for (const int threads : {1, 3}) {
    compute(op, threads);
    expect_values(op, wanted);
  }
}

TEST_F(RowOperations, NormDividesByTheRootOfTheMeanSquare) {
  OwnTensor in = floats({67, 50, 3, 2});
  const OwnTensor output = make_tensor(type_f32, {67, 50, 3, 2});
  Tensor op = make_op(kRmsNormNumber, output, {&in.tensor});
  set_float(op, 0, 0.25F);
  expect_at_any_threads(op, [&](size_t i0, size_t i1, size_t i2, size_t i3) {
    double sum = 0;
    for (size_t i = 0; i < 67; ++i) sum += std::pow(float_at(in.tensor, i, i1, i2, i3), 2);
    return float_at(in.tensor, i0, i1, i2, i3) / std::sqrt(sum / 67 + 0.25);
  });
}

TEST_F(RowOperations, SumsAndProductsWithRowsThatRepeat) {
  for (const int32_t number : {kAddNumber, kMulNumber}) {
    for (const size_t values : {70, 1}) {
      OwnTensor a = floats({70, 6, 4, 2}), b = floats({values, 3, 1, 2});
      const OwnTensor before = a;
      const Tensor op = make_op(number, a, {&a.tensor, &b.tensor});  // in place
      compute(op, 2);
      expect_values(op, [&](size_t i0, size_t i1, size_t i2, size_t i3) {
        Tensor was = before.tensor;
        was.data = const_cast<uint8_t*>(before.bytes.data());
        const double x = float_at(was, i0, i1, i2, i3);
        const double y = float_at(b.tensor, i0 % values, i1 % 3, 0, i3);
        return number == kAddNumber ? x + y : x * y;
      });
    }
  }
}

TEST_F(RowOperations, ScaleMultipliesAndAdds) {
  OwnTensor in = floats({33, 400, 1, 1});
  const OwnTensor output = make_tensor(type_f32, {33, 400, 1, 1});
  Tensor op = make_op(kScaleNumber, output, {&in.tensor});
  set_float(op, 0, -1.5F);
  set_float(op, 1, 2);
  expect_at_any_threads(op, [&](size_t i0, size_t i1, size_t i2, size_t i3) {
    return float_at(in.tensor, i0, i1, i2, i3) * -1.5 + 2;
  });
}

double silu(double x) {
  return x / (1 + std::exp(-x));
}

TEST_F(RowOperations, SwigluOfTwoTensorsAndOfHalves) {
  OwnTensor in = floats({90, 150, 2, 1}), gate = floats({90, 150, 2, 1});
  auto* values = reinterpret_cast<float*>(in.bytes.data());
  for (size_t i = 0; i < 90; ++i) values[i] = static_cast<float>(i) * 5 - 225;  // also far from 0
  const OwnTensor output = make_tensor(type_f32, {90, 150, 2, 1});
  Tensor op = make_op(kGluNumber, output, {&in.tensor, &gate.tensor});
  op.op_params[0] = kSwigluNumber;
  expect_at_any_threads(op, [&](size_t i0, size_t i1, size_t i2, size_t i3) {
    return silu(float_at(in.tensor, i0, i1, i2, i3)) * float_at(gate.tensor, i0, i1, i2, i3);
  });
  const OwnTensor half = make_tensor(type_f32, {45, 150, 2, 1});
  for (const int32_t swapped : {0, 1}) {
    op = make_op(kGluNumber, half, {&in.tensor});
    op.op_params[0] = kSwigluNumber;
    op.op_params[1] = swapped;
    compute(op, 2);
    expect_values(op, [&](size_t i0, size_t i1, size_t i2, size_t i3) {
      const size_t x = swapped == 1 ? i0 + 45 : i0, y = swapped == 1 ? i0 : i0 + 45;
      return silu(float_at(in.tensor, x, i1, i2, i3)) * float_at(in.tensor, y, i1, i2, i3);
    });
  }
}

TEST_F(RowOperations, RopeTurnsPairs) {
  OwnTensor in = floats({40, 5, 60, 2}), numbers = positions(std::vector<int32_t>(60));
  auto* position = reinterpret_cast<int32_t*>(numbers.bytes.data());
  for (int32_t i = 0; i < 60; ++i) position[i] = 7 * i;
  OwnTensor factors = floats({16, 1, 1, 1});
  auto* factor = reinterpret_cast<float*>(factors.bytes.data());
  for (size_t i = 0; i < 16; ++i) factor[i] = 1 + static_cast<float>(i) / 4;
  const OwnTensor output = make_tensor(type_f32, {40, 5, 60, 2});
  for (const int32_t how : {0, 2}) {
    for (const bool has_factors : {false, true}) {
      Tensor op = make_op(kRopeNumber, output, {&in.tensor, &numbers.tensor});
      if (has_factors) op.src[2] = &factors.tensor;
      op.op_params[1] = 32;
      op.op_params[2] = how;
      set_float(op, 5, 10000);
      set_float(op, 6, 0.5F);
      set_float(op, 8, 1.25F);
      compute(op, 2);
      for (size_t i2 = 0; i2 < 60; ++i2) {
        for (size_t i0 = 0; i0 < 40; ++i0) {
          const double x = float_at(in.tensor, i0, 4, i2, 1);
          double wanted = x;
          if (i0 < 32) {
            const size_t pair = how == 0 ? i0 / 2 : i0 % 16;
            const bool is_first = how == 0 ? i0 % 2 == 0 : i0 < 16;
            const size_t step = how == 0 ? 1 : 16, other = is_first ? i0 + step : i0 - step;
            const double y = float_at(in.tensor, other, 4, i2, 1);
            const double angle = 0.5 * position[i2] *
                                 std::pow(10000, -static_cast<double>(pair) / 16) /
                                 (has_factors ? factor[pair] : 1);
            wanted = 1.25 * (x * std::cos(angle) + (is_first ? -y : y) * std::sin(angle));
          }
          ASSERT_NEAR(float_at(op, i0, 4, i2, 1), wanted, 3e-5) << how << " " << i0 << " " << i2;
        }
      }
    }
  }
}

TEST_F(RowOperations, RowsAreSetByTheirNumbers) {
  OwnTensor rows = floats({48, 3, 2, 1}), numbers = positions({4, 0, 6});
  const size_t targets[] = {4, 0, 6};
  for (const int32_t type : {type_f16, type_bf16}) {
    OwnTensor cache = make_tensor(type, {48, 7, 2, 1});
    compute(make_op(kSetRowsNumber, cache, {&rows.tensor, &numbers.tensor}), 2);
    for (size_t i2 = 0; i2 < 2; ++i2) {
      for (size_t i1 = 0; i1 < 3; ++i1) {
        for (size_t i0 = 0; i0 < 48; ++i0) {
          uint16_t found;
          std::memcpy(&found, cache.bytes.data() + (i2 * 7 + targets[i1]) * 96 + i0 * 2, 2);
          const char* name = type == type_f16 ? "f16" : "bf16";
          const float value = test::rounded_to(name, float_at(rows.tensor, i0, i1, i2, 0));
          ASSERT_EQ(found, test::float_bits(name, value)) << name;
        }
      }
    }
  }
  OwnTensor cache = make_tensor(type_f16, {48, 7, 2, 1});
  reinterpret_cast<int32_t*>(numbers.bytes.data())[2] = 7;
  const Tensor op = make_op(kSetRowsNumber, cache, {&rows.tensor, &numbers.tensor});
  EXPECT_THROW(compute(op, 2), std::out_of_range);
}

/// Writes a row of blocks as the host does.
void put_blocks(const Tensor& floats, size_t row, const char* type, uint8_t* at) {
  const auto* values = row_in<const float>(floats, row_at(floats, row));
  std::vector<float> rounded(values, values + extent(floats, 0));
  test::round_rows(type, rounded);
  test::put_row(type, rounded.data(), rounded.size(), at);
}

TEST_F(RowOperations, RowsAreSetAndCopiedAsBlocks) {
  OwnTensor rows = floats({64, 30, 2, 1}), numbers = make_tensor(type_i32, {30, 1, 1, 1});
  const auto target = [](size_t row) { return (row * 7 + 3) % 31; };
  for (size_t i = 0; i < 30; ++i) {
    reinterpret_cast<int32_t*>(numbers.bytes.data())[i] = static_cast<int32_t>(target(i));
  }
  for (const auto& [type, name] : {std::pair{type_q8_0, "q8_0"}, {type_q4_0, "q4_0"}}) {
    const size_t bytes = test::row_bytes_of(name, 64);
    OwnTensor cache = make_tensor(type, {64, 31, 2, 1});
    OwnTensor copies = make_tensor(type, {64, 30, 2, 1});
    Bytes wanted = cache.bytes, wanted_copies = copies.bytes;
    for (size_t row = 0; row < 60; ++row) {
      put_blocks(rows.tensor, row, name, &wanted[(row / 30 * 31 + target(row % 30)) * bytes]);
      put_blocks(rows.tensor, row, name, &wanted_copies[row * bytes]);
    }
    const int threads = type == type_q8_0 ? 1 : 3;
    compute(make_op(kSetRowsNumber, cache, {&rows.tensor, &numbers.tensor}), threads);
    compute(make_op(kCpyNumber, copies, {&rows.tensor}), threads);
    EXPECT_EQ(cache.bytes, wanted) << name;
    EXPECT_EQ(copies.bytes, wanted_copies) << name;
  }
  OwnTensor odd = floats({48, 3, 1, 1});
  Tensor op = make_op(kCpyNumber, odd, {&odd.tensor});
  op.type = type_q8_0;
  op.nb[0] = 34;
  EXPECT_EQ(covering_row_operation(op), nullptr) << "half a block";
}

TEST_F(RowOperations, RowsAreLookedUpAndCopied) {
  OwnTensor rows = floats({48, 9, 1, 1}), numbers = positions({8, 0, 3, 3});
  const OwnTensor found = make_tensor(type_f32, {48, 4, 1, 1});
  const Tensor get = make_op(kGetRows, found, {&rows.tensor, &numbers.tensor});
  const size_t wanted[] = {8, 0, 3, 3};
  expect_at_any_threads(get, [&](size_t i0, size_t i1, size_t, size_t) {
    return float_at(rows.tensor, i0, wanted[i1], 0, 0);
  });
  reinterpret_cast<int32_t*>(numbers.bytes.data())[0] = 9;
  EXPECT_THROW(compute(get, 1), std::out_of_range);
  const OwnTensor copy = make_tensor(type_f32, {48, 9, 1, 1});
  for (const int32_t number : {kCpyNumber, kContNumber}) {
    expect_at_any_threads(make_op(number, copy, {&rows.tensor}),
                          [&](size_t i0, size_t i1, size_t i2, size_t i3) {
                            return float_at(rows.tensor, i0, i1, i2, i3);
                          });
  }
}

TEST_F(RowOperations, NothingElseIsCovered) {
  OwnTensor in = floats({64, 4, 2, 1}), numbers = positions({0, 1}),
            short_row = floats({2, 4, 2, 1});
  const OwnTensor output = make_tensor(type_f32, {64, 4, 2, 1});
  const auto refuses = [&](int32_t number, std::vector<Tensor*> sources,
                           const std::function<void(Tensor&)>& change) {
    Tensor op = make_op(number, output, std::move(sources));
    if (number == kRopeNumber) op.op_params[1] = 64;
    if (number == kGluNumber) op.op_params[0] = kSwigluNumber;
    EXPECT_NE(covering_row_operation(op), nullptr) << ggml_op_name(number);
    change(op);
    return covering_row_operation(op) == nullptr;
  };
  Tensor half = in.tensor;
  half.type = type_f16;
  const auto source = [](size_t number, Tensor* changed) {
    return [=](Tensor& op) { op.src[number] = changed; };
  };
  const auto parameter = [](size_t number, int32_t value) {
    return [=](Tensor& op) { op.op_params[number] = value; };
  };
  EXPECT_TRUE(refuses(kRmsNormNumber, {&in.tensor}, source(0, &half)));
  EXPECT_TRUE(refuses(kRmsNormNumber, {&in.tensor}, parameter(1, 1)));
  EXPECT_TRUE(refuses(kAddNumber, {&in.tensor, &in.tensor}, source(1, &short_row.tensor)));
  EXPECT_TRUE(refuses(kMulNumber, {&in.tensor, &in.tensor}, source(2, &in.tensor)));
  EXPECT_TRUE(refuses(kScaleNumber, {&in.tensor}, parameter(2, 1)));
  EXPECT_TRUE(refuses(kGluNumber, {&in.tensor, &in.tensor}, parameter(0, kSwigluNumber - 1)));
  EXPECT_TRUE(refuses(kGluNumber, {&in.tensor, &in.tensor}, parameter(2, 1)));
  EXPECT_TRUE(refuses(kRopeNumber, {&in.tensor, &numbers.tensor}, parameter(2, 8)));
  EXPECT_TRUE(refuses(kRopeNumber, {&in.tensor, &numbers.tensor}, parameter(1, 66)));
  EXPECT_TRUE(refuses(kRopeNumber, {&in.tensor, &numbers.tensor}, parameter(15, 2)));
  EXPECT_TRUE(
      refuses(kRopeNumber, {&in.tensor, &numbers.tensor}, [](Tensor& op) { set_float(op, 7, 1); }));
  EXPECT_TRUE(refuses(kContNumber, {&in.tensor}, source(0, &half)));
  EXPECT_TRUE(refuses(kCpyNumber, {&in.tensor}, [](Tensor& op) { op.type = type_q8_0; }));
  EXPECT_TRUE(refuses(kCpyNumber, {&in.tensor}, [](Tensor& op) {
    op.type = type_q4_1;
    op.nb[0] = 20;
  }));
}

}  // namespace
}  // namespace tw::ggml::row_operations_test
