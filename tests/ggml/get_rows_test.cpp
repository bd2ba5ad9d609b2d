// Rows of packed weights as floats.
#include "integrations/ggml/get_rows.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstring>
#include <stdexcept>

#include "ggml/host.h"
#include "ggml/tensors.h"

namespace tw::ggml {
namespace {

/// What is looked up in matrices of `weights`, each by `numbers.ne[0]` numbers.
struct Lookup {
  Lookup(const Tensor& table, OwnTensor rows)
      : weights(table), numbers(std::move(rows)), output(make_tensor(type_f32, extents())) {
    numbers.tensor.data = numbers.bytes.data();
    op = output.tensor;
    op.op = kGetRows;
    op.src[0] = &weights;
    op.src[1] = &numbers.tensor;
  }
  Lookup(const Lookup&) = delete;
  [[nodiscard]] Extents extents() const {
    const int64_t* ne = numbers.tensor.ne;
    return {static_cast<size_t>(weights.ne[0]), static_cast<size_t>(ne[0]),
            static_cast<size_t>(ne[1]), static_cast<size_t>(ne[2])};
  }

  Tensor weights;
  OwnTensor numbers, output;
  Tensor op;
};

OwnTensor numbers_of(Extents extents, const std::vector<int32_t>& values) {
  OwnTensor numbers = make_tensor(type_i32, extents);
  std::memcpy(numbers.bytes.data(), values.data(), numbers.bytes.size());
  return numbers;
}

class GetRows : public testing::TestWithParam<int32_t> {
 protected:
  void SetUp() override {
    if (dlsym(RTLD_DEFAULT, "ggml_type_name") == nullptr) {
      GTEST_SKIP() << "a static program: a plug-in finds no names in it";
    }
  }
  std::mt19937 random_{9};
};

TEST_P(GetRows, FloatsAreTheHosts) {
  const size_t k = whole_blocks(GetParam(), 96), n = 70;
  const PackedTensor packed = pack(random_weights(random_, GetParam(), {k, n, 2, 3}));
  std::vector<int32_t> numbers(5 * 2 * 3);
  for (int32_t& number : numbers) number = static_cast<int32_t>(random_() % n);
  numbers[0] = n - 1;
  for (const int threads : {1, 3, 40}) {
    for (const bool is_packed : {true, false}) {
      Lookup lookup(is_packed ? packed.tensor : packed.source.tensor,
                    numbers_of({5, 2, 3, 1}, numbers));
      if (!is_packed) lookup.weights.data = const_cast<uint8_t*>(packed.source.bytes.data());
      ASSERT_TRUE(can_get_rows(lookup.op));
      ASSERT_EQ(get_rows(lookup.op, threads), success);
      for (size_t i = 0; i < numbers.size(); ++i) {
        const auto want = row_of(packed.source, i / 5 * n + static_cast<size_t>(numbers[i]));
        EXPECT_EQ(std::memcmp(&lookup.output.bytes[i * k * sizeof(float)], want.data(),
                              k * sizeof(float)),
                  0)
            << i;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Types, GetRows, testing::ValuesIn(types_here()), [](const auto& info) {
  return std::string(weight_type(info.param)->name);
});

TEST_F(GetRows, RowsThatAreNotThereAreAnError) {
  const PackedTensor packed = pack(random_weights(random_, type_q4_0, {64, 40, 1, 1}));
  for (const int32_t number : {-1, 40}) {
    Lookup lookup(packed.tensor, numbers_of({1, 1, 1, 1}, {number}));
    EXPECT_THROW(get_rows(lookup.op, 1), std::out_of_range);
  }
}

TEST_F(GetRows, OtherTypesAndShapesAreRefused) {
  const PackedTensor packed = pack(random_weights(random_, type_q4_0, {64, 40, 2, 1}));
  Lookup lookup(packed.tensor, numbers_of({3, 2, 1, 1}, std::vector<int32_t>(6)));
  EXPECT_TRUE(can_get_rows(lookup.op));
  lookup.op.type = type_f16;
  EXPECT_FALSE(can_get_rows(lookup.op));
  lookup.op.type = type_f32;
  lookup.numbers.tensor.ne[1] = 1;
  EXPECT_FALSE(can_get_rows(lookup.op)) << "numbers for one of two matrices";
}

}  // namespace
}  // namespace tw::ggml
