// Which memory is given back after a loader's file was read, and that nothing is lost.
#include "integrations/ggml/mapped.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <vector>

namespace tw::ggml {
namespace {

constexpr size_t kPages = 8;

/// Some pages of a file, mapped and read.
class Mapped : public testing::Test {
 protected:
  void SetUp() override {
    for (size_t i = 0; i < expected_.size(); ++i) expected_[i] = static_cast<uint8_t>(i * 37 >> 5);
    FILE* file = std::tmpfile();
    ASSERT_NE(file, nullptr);
    ASSERT_EQ(std::fwrite(expected_.data(), 1, expected_.size(), file), expected_.size());
    std::fflush(file);
    shared_ = map(MAP_SHARED, fileno(file));
    private_ = map(MAP_PRIVATE, fileno(file));
    anonymous_ = map(MAP_PRIVATE | MAP_ANONYMOUS, -1);
    std::fclose(file);
    for (uint8_t* each : {private_, anonymous_})
      std::copy(expected_.begin(), expected_.end(), each);
    expect_all_there();
  }
  void TearDown() override {
    for (uint8_t* each : {shared_, private_, anonymous_}) munmap(each, expected_.size());
  }

  [[nodiscard]] uint8_t* map(int flags, int file) const {
    void* at = mmap(nullptr, expected_.size(), PROT_READ | PROT_WRITE, flags, file, 0);
    EXPECT_NE(at, MAP_FAILED);
    return static_cast<uint8_t*>(at);
  }
  void expect_all_there() const {
    for (const uint8_t* each : {shared_, private_, anonymous_}) {
      EXPECT_EQ(std::vector<uint8_t>(each, each + expected_.size()), expected_);
    }
  }

  /// Pages of it in this process's memory: bit 63 of /proc/self/pagemap's words (man 5 proc).
  [[nodiscard]] size_t present(const uint8_t* at) const {
    uint64_t words[kPages] = {};
    const int file = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    const auto offset = static_cast<off_t>(reinterpret_cast<uintptr_t>(at) / page_ * 8);
    EXPECT_EQ(pread(file, words, sizeof words, offset), static_cast<ssize_t>(sizeof words));
    close(file);
    size_t count = 0;
    for (const uint64_t word : words) count += word >> 63;
    return count;
  }

  const size_t page_ = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  std::vector<uint8_t> expected_ = std::vector<uint8_t>(kPages * page_);
  uint8_t *shared_ = nullptr, *private_ = nullptr, *anonymous_ = nullptr;
};

TEST_F(Mapped, WholePagesOfAFileAreReleased) {
  if (TILEWRIGHT_CROSSCOMPILING)
    GTEST_SKIP() << "an emulator's pages are others than the program's";
  ASSERT_EQ(present(shared_), kPages);
  release_mapped(shared_ + 1, (kPages - 1) * page_);
  EXPECT_EQ(present(shared_), 2U) << "the first and the last page are not within";
  expect_all_there();
}

TEST_F(Mapped, OtherMemoryIsLeftAsItIs) {
  for (uint8_t* each : {private_, anonymous_}) release_mapped(each, expected_.size());
  expect_all_there();
}

TEST_F(Mapped, LessThanAPageOrNothing) {
  release_mapped(shared_ + 1, page_);
  release_mapped(shared_, 0);
  release_mapped(shared_, page_ - 1);
  expect_all_there();
}

}  // namespace
}  // namespace tw::ggml
