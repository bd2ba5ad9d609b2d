#include <gtest/gtest.h>

#include "runtime/devices.h"
#include "runtime/problem.h"
#include "tilewright/tilewright.hpp"

namespace tw::test {
namespace {

class Container : public ::testing::Test {
 protected:
  Container() : plan_(zen4(), 40, 64), rhs_(tw_rhs_bytes(plan_.get())), header_(64) {
    for (size_t i = 0; i < rhs_.size(); ++i) rhs_[i] = static_cast<char>(i * 7);
    EXPECT_EQ(tw_container_write(plan_.get(), rhs_.data(), rhs_.size(), header_.data(), 64), TW_OK);
  }
  [[nodiscard]] tw_status check(const TestPlan& plan) const {
    return tw_container_check(plan.get(), header_.data(), header_.size(), rhs_.data(), rhs_.size());
  }
  /// Puts a number into the header and repairs the header's checksum.
  void forge(size_t at, uint64_t value, size_t bytes) {
    for (size_t i = 0; i < bytes; ++i) header_[at + i] = static_cast<uint8_t>(value >> 8 * i);
    const uint64_t sum = tw_checksum(header_.data(), 56);
    for (size_t i = 0; i < 8; ++i) header_[56 + i] = static_cast<uint8_t>(sum >> 8 * i);
  }
  void expect_mismatch(const std::string& message) {
    EXPECT_EQ(check(plan_), TW_MISMATCH);
    EXPECT_EQ(tw_error_message(), message);
  }
  TestPlan plan_;
  std::vector<char> rhs_;
  std::vector<uint8_t> header_;
};

TEST_F(Container, RoundTrip) {
  EXPECT_EQ(check(plan_), TW_OK) << tw_error_message();
  auto found = tilewright::sized<tw_container>();
  ASSERT_EQ(tw_container_read(header_.data(), 64, &found), TW_OK);
  EXPECT_EQ(found.layout, 0x220U);
  EXPECT_EQ(found.n, 40U);
  EXPECT_EQ(found.k, 64U);
  EXPECT_EQ(found.block, 0U);
  EXPECT_EQ(found.vector_bytes, 0U);
  EXPECT_EQ(found.bytes, rhs_.size());
  tw_matmul matmul = TestPlan::basic(found.n, found.k);
  matmul.rhs_layout = found.layout;
  EXPECT_EQ(check(TestPlan(zen5(), matmul)), TW_OK);
}

TEST_F(Container, EveryFlippedBitOfTheHeaderIsNoticed) {
  for (size_t bit = 0; bit < 64 * 8; ++bit) {
    header_[bit / 8] = static_cast<uint8_t>(header_[bit / 8] ^ 1U << bit % 8);
    EXPECT_EQ(check(plan_), TW_MISMATCH) << "bit " << bit;
    header_[bit / 8] = static_cast<uint8_t>(header_[bit / 8] ^ 1U << bit % 8);
  }
  EXPECT_EQ(check(plan_), TW_OK);
}

TEST_F(Container, EveryFlippedByteOfThePayloadIsNoticed) {
  for (size_t i = 0; i < rhs_.size(); ++i) {
    rhs_[i] = static_cast<char>(rhs_[i] ^ 0x10);
    expect_mismatch("container: the payload is damaged (its checksum is wrong)");
    rhs_[i] = static_cast<char>(rhs_[i] ^ 0x10);
  }
}

TEST_F(Container, MessagesNameTheField) {
  const std::vector<uint8_t> good = header_;
  const auto expect = [&](size_t at, uint64_t value, size_t bytes, const std::string& message) {
    forge(at, value, bytes);
    expect_mismatch(message);
    header_ = good;
  };
  expect(0, 0x4b50574dU, 4,
         "container: header starts with 4d 57 50 4b, not with the magic \"TWPK\"");
  expect(4, 2, 4, "container: version is 2; this build reads version 1");
  expect(8, 0x208, 8,
         "container: layout id is 0x0000000000000208; this plan reads 0x0000000000000220 (rhs 32)");
  expect(16, 41, 8, "container: n is 41; this plan has 40");
  expect(24, 65, 8, "container: k is 65; this plan has 64");
  expect(32, 32, 4, "container: block is 32; this plan has 0");
  expect(36, 64, 4, "container: vector bytes is 64; this plan has 0");
  expect(40, 1, 8, "container: payload bytes is 1; this plan has " + std::to_string(rhs_.size()));
  header_[17] = 1;
  expect_mismatch("container: header is damaged (its own checksum is wrong)");
}

TEST_F(Container, ForeignPlansRefuse) {
  EXPECT_EQ(check(TestPlan(zen4(), 40, 32)), TW_MISMATCH);
  EXPECT_STREQ(tw_error_message(), "container: k is 64; this plan has 32");
  EXPECT_EQ(check(TestPlan(neoverse_v1(), 40, 32)), TW_MISMATCH);
}

TEST(Checksum, NoticesEveryByteOfAnyLength) {
  std::vector<uint8_t> bytes(40, 1);
  for (size_t length = 1; length <= bytes.size(); ++length) {
    const uint64_t right = tw_checksum(bytes.data(), length);
    for (size_t i = 0; i < length; ++i) {
      bytes[i] ^= 0x80;
      EXPECT_NE(tw_checksum(bytes.data(), length), right) << "byte " << i << " of " << length;
      bytes[i] ^= 0x80;
    }
  }
}

// Weights packed at one vector length are refused at another.
TEST(ScalableContainer, KeepsTheVectorLength) {
  tw_device narrow = neoverse_n2();
  tw_device wide = neoverse_n2();
  wide.vector_bytes = 32;
  tw_matmul matmul = TestPlan::basic(8, 32);
  matmul.rhs_layout = 0x404;
  const TestPlan at16(narrow, matmul);
  const TestPlan at32(wide, matmul);
  ASSERT_EQ(at16.status, TW_OK) << tw_error_message();
  ASSERT_EQ(tw_rhs_bytes(at16.get()), tw_rhs_bytes(at32.get()));
  std::vector<char> rhs(tw_rhs_bytes(at16.get()));
  std::vector<uint8_t> header(64);
  ASSERT_EQ(tw_container_write(at32.get(), rhs.data(), rhs.size(), header.data(), 64), TW_OK);
  EXPECT_EQ(tw_container_check(at16.get(), header.data(), 64, rhs.data(), rhs.size()), TW_MISMATCH);
  EXPECT_STREQ(tw_error_message(), "container: vector bytes is 32; this plan has 16");
}

}  // namespace
}  // namespace tw::test
