// Weights come back from their packed form bit by bit, however they got there.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>

#include "ggml/tensors.h"
#include "integrations/ggml/buffer.h"
#include "integrations/ggml/grids.h"

namespace tw::ggml {
namespace {

class Packed : public testing::TestWithParam<int32_t> {
 protected:
  /// All bits that there are, NaNs and zeros of both signs included.
  Bytes random_bytes(size_t count, size_t offset = 0) {
    Bytes bytes = ggml::random_bytes(random_, count);
    make_writable(GetParam(), offset, bytes);
    return bytes;
  }
  std::mt19937 random_{7};
};

const Extents shapes[] = {{32, 1, 1, 1}, {32, 16, 1, 1}, {64, 33, 1, 1},   {160, 100, 1, 1},
                          {96, 7, 3, 1}, {64, 50, 2, 3}, {2048, 257, 1, 1}};

TEST_P(Packed, BytesComeBack) {
  for (Extents shape : shapes) {
    shape[0] = whole_blocks(GetParam(), shape[0]);
    const OwnTensor tensor = make_tensor(GetParam(), shape);
    const Packing* packing = packing_of(tensor.tensor);
    ASSERT_NE(packing, nullptr);
    const size_t matrices = matrices_of(tensor.tensor), size = tensor.bytes.size();
    const Bytes source = random_bytes(size);
    Bytes packed(packing->bytes * matrices), back(size);
    set_span(*packing, matrices, {0, size}, source.data(), packed.data());
    get_span(*packing, matrices, {0, size}, packed.data(), back.data());
    EXPECT_EQ(source, back) << shape[0] << " x " << shape[1] << " x " << shape[2];
  }
}

TEST_P(Packed, AnyPartCanBeSetAndRead) {
  for (Extents shape : shapes) {
    shape[0] = whole_blocks(GetParam(), shape[0]);
    const OwnTensor tensor = make_tensor(GetParam(), shape);
    const Packing& packing = *packing_of(tensor.tensor);
    const size_t matrices = matrices_of(tensor.tensor), size = tensor.bytes.size();
    Bytes expect = random_bytes(size), packed(packing.bytes * matrices);
    set_span(packing, matrices, {0, size}, expect.data(), packed.data());
    const int parts = size > 100000 ? 4 : 20;  // large ones take long under an emulator
    for (int i = 0; i < parts; ++i) {
      const size_t begin = random_() % size, bytes = 1 + random_() % (size - begin);
      const Bytes part = random_bytes(bytes, begin);
      std::memcpy(expect.data() + begin, part.data(), bytes);
      set_span(packing, matrices, {begin, bytes}, part.data(), packed.data());
      const size_t from = random_() % size, count = 1 + random_() % (size - from);
      Bytes back(count);
      get_span(packing, matrices, {from, count}, packed.data(), back.data());
      EXPECT_EQ(back, Bytes(expect.begin() + static_cast<ptrdiff_t>(from),
                            expect.begin() + static_cast<ptrdiff_t>(from + count)));
    }
  }
}

TEST_P(Packed, NothingBeyondItsBytesIsTouched) {
  const OwnTensor tensor = make_tensor(GetParam(), {whole_blocks(GetParam(), 64), 50, 2, 1});
  const Packing& packing = *packing_of(tensor.tensor);
  const size_t size = tensor.bytes.size(), total = 2 * packing.bytes;
  const Bytes source = random_bytes(size);
  Bytes packed(total + 64, 0xab), back(size + 64, 0xab);
  set_span(packing, 2, {0, size}, source.data(), packed.data());
  get_span(packing, 2, {0, size}, packed.data(), back.data());
  EXPECT_EQ(Bytes(packed.end() - 64, packed.end()), Bytes(64, 0xab));
  EXPECT_EQ(Bytes(back.end() - 64, back.end()), Bytes(64, 0xab));
}

TEST_P(Packed, TakesLittleMoreThanTheFile) {
  const OwnTensor tensor = make_tensor(GetParam(), {2048, 2048, 1, 1});
  const Packing& packing = *packing_of(tensor.tensor);
  EXPECT_GE(packing.bytes, tensor.bytes.size());
  // Of numbers of 4 and 6 bits bytes are made: in each super-block 16 for 12, 8 for 6, 32 for 16;
  // of scales of 8 bits f16, 32 for 16. Flat codes of grids take 138 bytes, or 114.
  const std::map<int32_t, size_t> added = {
      {type_q4_k, 4},    {type_q5_k, 4},   {type_iq4_xs, 2}, {type_q3_k, 4},     {type_q2_k, 16},
      {type_nvfp4, 16},  {type_tq1_0, 12}, {type_iq3_s, 28}, {type_iq3_xxs, 40}, {type_iq2_xxs, 48},
      {type_iq2_xs, 40}, {type_iq2_s, 32}, {type_iq1_s, 64}, {type_iq1_m, 58}};
  const auto its = added.find(GetParam());
  size_t more = its != added.end() ? its->second : 0;
  // Plans may also take codes of 6 bits as bytes, where unpacking takes longer than reading those.
  const bool bytes = tw_plan_rhs_layout(packing.plan.get())->data_bits == 8;
  if (GetParam() == type_q6_k && bytes) more += 256 / 4;
  const size_t wider = more * (2048 * 2048 / 256);
  EXPECT_LE(packing.bytes, tensor.bytes.size() + wider + 8 * 2048 + kAlignment);
}

INSTANTIATE_TEST_SUITE_P(Types, Packed, testing::ValuesIn(types_here()), [](const auto& info) {
  return std::string(weight_type(info.param)->name);
});

TEST(Packing, IsRefusedForWhatIsNotRows) {
  OwnTensor tensor = make_tensor(type_q4_0, {64, 32, 1, 1});
  EXPECT_NE(packing_of(tensor.tensor), nullptr);
  tensor.tensor.nb[1] += 18;
  EXPECT_EQ(packing_of(tensor.tensor), nullptr);
  EXPECT_EQ(packing_of(make_tensor(type_i32, {64, 32, 1, 1}).tensor), nullptr);
}

TEST(Packing, IsFoundOnce) {
  EXPECT_EQ(find_packing(*weight_type(type_q8_0), 64, 64),
            find_packing(*weight_type(type_q8_0), 64, 64));
  EXPECT_EQ(find_packing(*weight_type(type_q8_0), 64, 48), nullptr) << "half a block";
}

TEST(Packing, TypesThatGrowMuchAreTakenOnRequestOnly) {
  if (types_here().size() < std::size(kTypes)) GTEST_SKIP() << "no function of the host is found";
  unsetenv("TILEWRIGHT_GROW");
  for (const int32_t type : {type_iq2_xs, type_iq2_xxs, type_iq1_m, type_iq1_s}) {
    EXPECT_EQ(find_packing(*weight_type(type), 48, 512), nullptr) << weight_type(type)->name;
  }
  for (const int32_t type : {type_iq3_s, type_iq3_xxs, type_iq2_s}) {
    EXPECT_NE(find_packing(*weight_type(type), 48, 512), nullptr) << weight_type(type)->name;
  }
  setenv("TILEWRIGHT_GROW", "1", 1);
  EXPECT_NE(find_packing(*weight_type(type_iq1_s), 48, 768), nullptr);
}

// Their codes would be those of other values.
TEST(Grids, ThatHoldOtherValuesAreLeftToTheHost) {
  const auto halves = [](const void*, float* values, int64_t count) {
    std::fill_n(values, count, 0.5F);
  };
  for (const int32_t type : {type_iq3_s, type_iq3_xxs, type_iq2_s, type_iq1_s}) {
    EXPECT_EQ(read_grid(type, halves), nullptr) << weight_type(type)->name;
  }
  EXPECT_EQ(read_grid(type_q4_0, halves), nullptr);
}

TEST(Packing, FewRowsAreNotWorthIt) {
  for (const size_t rows : {8, 31}) {
    EXPECT_FALSE(is_worth_it(*find_packing(*weight_type(type_f32), rows, 2048))) << rows;
  }
}

}  // namespace
}  // namespace tw::ggml
