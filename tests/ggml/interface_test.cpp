// Hosts of other versions of the plug-in interface, and of none.
#include "integrations/ggml/interface.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "ggml/host.h"

namespace tw::ggml {
namespace {

class InterfaceOf : public testing::Test {
 protected:
  void SetUp() override {
    if (dlsym(RTLD_DEFAULT, "ggml_tensor_overhead") == nullptr) {
      GTEST_SKIP() << "a static program: a plug-in finds no names in it";
    }
    fake_host = {};
    unsetenv("TILEWRIGHT_GGML_ANY_VERSION");
  }
  void TearDown() override {
    fake_host = {};
    unsetenv("TILEWRIGHT_GGML_ANY_VERSION");
  }

  /// What is said of it; empty: nothing, as it is accepted.
  static std::string refusal() {
    testing::internal::CaptureStderr();
    Interface found;
    const bool accepted = find_interface(found);
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_EQ(accepted, said.empty()) << said;
    return said;
  }
  static Interface accepted() {
    Interface found;
    EXPECT_TRUE(find_interface(found));
    return found;
  }
  static void expect_refused(const std::string& because) {
    const std::string said = refusal();
    EXPECT_NE(said.find(because), std::string::npos) << said;
    EXPECT_EQ(said.find('\n'), said.size() - 1) << said;
  }
};

TEST_F(InterfaceOf, KnownVersionsWhoseTablesAgree) {
  EXPECT_EQ(accepted().buffer_type_slots, 8U);
  fake_host.version = 2;
  fake_host.buffer_type_slots = 6;
  EXPECT_EQ(accepted().version, 2);
  EXPECT_EQ(accepted().buffer_type_slots, 6U);
}

TEST_F(InterfaceOf, KnownVersionsWithoutACpuToCompareWith) {
  fake_host.has_cpu = false;
  EXPECT_EQ(accepted().version, 3);
  fake_host.has_others = false;  // and no ggml_backend_buft_get_alloc_size_n
  EXPECT_EQ(accepted().version, 2);
}

TEST_F(InterfaceOf, KnownVersionsWithOtherTablesAreRefused) {
  struct Other {
    size_t FakeHost::*slots;
    size_t fewer, more;
    const char* whose;
  };
  const std::vector<Other> others = {
      {&FakeHost::device_slots, 14, 16, "devices"},
      {&FakeHost::backend_slots, 15, 17, "backends"},
      {&FakeHost::buffer_slots, 10, 12, "buffers"},
      {&FakeHost::buffer_type_slots, 6, 9, "buffer types"},
  };
  for (const Other& other : others) {
    for (const size_t slots : {other.fewer, other.more}) {
      fake_host = {};
      fake_host.*other.slots = slots;
      expect_refused(std::string("version 3 of the plug-in interface, but the table of its ") +
                     other.whose + " has");
    }
  }
  fake_host = {};
  fake_host.version = 2;
  expect_refused("buffer types has 8 slots, not 6");
}

TEST_F(InterfaceOf, OtherVersionsAreTriedOnRequestOnly) {
  for (const size_t slots : {6U, 7U, 8U}) {
    fake_host = {};
    fake_host.version = 6;
    fake_host.buffer_type_slots = slots;
    unsetenv("TILEWRIGHT_GGML_ANY_VERSION");
    expect_refused("version 6 of the plug-in interface, we know 2 and 3;");
    setenv("TILEWRIGHT_GGML_ANY_VERSION", "1", 1);
    EXPECT_EQ(accepted().version, 6);
    EXPECT_EQ(accepted().buffer_type_slots, slots);
  }
}

TEST_F(InterfaceOf, OtherVersionsWithOtherTablesAreRefused) {
  setenv("TILEWRIGHT_GGML_ANY_VERSION", "1", 1);
  const std::vector<size_t FakeHost::*> tables = {&FakeHost::device_slots, &FakeHost::backend_slots,
                                                  &FakeHost::buffer_slots,
                                                  &FakeHost::buffer_type_slots};
  for (size_t FakeHost::*slots : tables) {
    for (const size_t count : {5U, 17U}) {
      fake_host = {};
      fake_host.version = 4;
      fake_host.*slots = count;
      expect_refused("not as long as theirs");
    }
  }
  fake_host = {};
  fake_host.version = 4;
  fake_host.has_cpu = false;
  expect_refused("devices is not there to compare");
}

}  // namespace
}  // namespace tw::ggml
