// Structs of other versions of the headers, and the version.
#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include "runtime/devices.h"
#include "runtime/problem.h"
#include "tilewright/choices.h"
#include "tilewright/tilewright.hpp"

namespace tw::test {
namespace {

/// What a later version's header has: members that this library does not know.
template <class Struct>
struct Later {
  Struct known;
  uint64_t unknown[3];
};

template <class Struct>
Later<Struct> later(const Struct& known) {
  Later<Struct> made{known, {0, 0, 0}};
  made.known.size = sizeof made;
  return made;
}

std::string unknown_text(const char* who, const char* type, size_t size, size_t known) {
  return std::string(who) + ".size is " + std::to_string(size) + "; this library (0.1.0) knows " +
         std::to_string(known) + " bytes of " + type + ", and what follows them is not 0";
}

std::string size_text(const char* who, const char* type, size_t size) {
  return std::string(who) + ".size is " + std::to_string(size) + "; sizeof(" + type + ") is legal";
}

/// `call` gets a struct like `good` that is longer, or whose size is none.
template <class Struct, class Call>
void expect_sizes(const char* who, const char* type, const Struct& good, const Call& call) {
  Later<Struct> next = later(good);
  EXPECT_EQ(call(&next.known), TW_OK) << tw_error_message();
  next.unknown[2] = 1;
  EXPECT_EQ(call(&next.known), TW_UNSUPPORTED);
  EXPECT_EQ(tw_error_message(), unknown_text(who, type, sizeof next, sizeof good));
  for (const size_t size : {size_t{0}, size_t{7}, sizeof good + 4097, SIZE_MAX}) {
    Struct bad = good;
    bad.size = size;
    EXPECT_EQ(call(&bad), TW_INVALID);
    EXPECT_EQ(tw_error_message(), size_text(who, type, size));
  }
}

TEST(Structs, OfPlans) {
  const tw_device device = zen4();
  const tw_matmul matmul = TestPlan::basic(8, 8);
  expect_sizes("tw_plan_create: device", "tw_device", device, [&](const tw_device* given) {
    tw_plan* plan = nullptr;
    const tw_status status = tw_plan_create(given, &matmul, &plan);
    EXPECT_EQ(plan != nullptr, status == TW_OK);
    tw_plan_destroy(plan);
    return status;
  });
  expect_sizes("tw_plan_create: matmul", "tw_matmul", matmul,
               [&](const tw_matmul* given) { return TestPlan(device, *given).status; });
}

TEST(Structs, OfOperands) {
  const Problem problem(5, 40, 64);
  const TestPlan plan(zen4(), 40, 64);
  std::vector<char> lhs(plan.lhs_bytes(5));
  std::vector<char> rhs(tw_rhs_bytes(plan.get()));
  std::vector<float> dst(5 * 40);
  expect_sizes("tw_pack_rhs: source", "tw_rhs_source", problem.rhs_source(),
               [&](const tw_rhs_source* given) {
                 return tw_pack_rhs(plan.get(), given, rhs.data(), rhs.size(), 0);
               });
  expect_sizes("tw_pack_lhs: source", "tw_lhs_source", problem.lhs_source(),
               [&](const tw_lhs_source* given) {
                 return tw_pack_lhs(plan.get(), 5, given, lhs.data(), lhs.size(), 0);
               });
  auto args = tilewright::sized<tw_run_args>();
  args.m = 5;
  args.lhs = lhs.data();
  args.lhs_bytes = lhs.size();
  args.rhs = rhs.data();
  args.rhs_bytes = rhs.size();
  args.dst = dst.data();
  args.dst_bytes = dst.size() * sizeof(float);
  args.dst_stride = 40 * sizeof(float);
  expect_sizes("tw_run: args", "tw_run_args", args,
               [&](const tw_run_args* given) { return tw_run(plan.get(), given, 0); });
}

// An earlier version's has no settings, no tuning, no mix: nothing behind its end is read.
TEST(Structs, WhatAnEarlierVersionLacksIsZero) {
  tw_matmul matmul = TestPlan::basic(64, 64);
  matmul.size = offsetof(tw_matmul, mix);
  std::memset(reinterpret_cast<char*>(&matmul) + matmul.size, 0x7f, sizeof matmul - matmul.size);
  const tw_device device = zen4();
  tw_plan* plan = nullptr;
  ASSERT_EQ(tw_plan_create(&device, &matmul, &plan), TW_OK) << tw_error_message();
  tw_plan_destroy(plan);
}

// Nothing is written behind the end of what the caller has, all of what it has is.
TEST(Structs, ThatAreFilled) {
  const auto device = tilewright::detect();
  Later<tw_device> next = later(tw_device{});
  std::memset(next.unknown, 1, sizeof next.unknown);
  ASSERT_EQ(tw_device_detect(&next.known), TW_OK);
  EXPECT_EQ(next.known.size, sizeof next);
  EXPECT_EQ(next.unknown[0] + next.unknown[1] + next.unknown[2], 0U);
  EXPECT_STREQ(next.known.name, device.name);
  for (const size_t size : {size_t{0}, sizeof device - 16, SIZE_MAX}) {
    next.known.size = size;
    EXPECT_EQ(tw_device_detect(&next.known), TW_INVALID);
    EXPECT_EQ(tw_error_message(), size_text("tw_device_detect: device", "tw_device", size));
    EXPECT_EQ(tw_device_limit(&next.known, "scalar"), TW_INVALID);
    EXPECT_EQ(tw_error_message(), size_text("tw_device_limit: device", "tw_device", size));
  }

  const TestPlan plan(zen4(), 40, 64);
  const std::vector<char> rhs(tw_rhs_bytes(plan.get()));
  std::vector<char> header(TW_CONTAINER_BYTES);
  ASSERT_EQ(
      tw_container_write(plan.get(), rhs.data(), rhs.size(), header.data(), TW_CONTAINER_BYTES),
      TW_OK);
  auto found = tilewright::sized<tw_container>();
  found.size = offsetof(tw_container, block);
  found.block = 77;
  ASSERT_EQ(tw_container_read(header.data(), header.size(), &found), TW_OK);
  EXPECT_EQ(found.k, 64U);
  EXPECT_EQ(found.block, 77U);
  found.size = 0;
  EXPECT_EQ(tw_container_read(header.data(), header.size(), &found), TW_INVALID);
  EXPECT_EQ(tw_error_message(), size_text("tw_container_read: container", "tw_container", 0));
}

TEST(Structs, OfChoices) {
  const tw_device device = zen4();
  tw_matmul matmul = TestPlan::basic(8, 8);
  auto found = tilewright::sized<tw_found>();
  const auto find = [&] {
    return tw_choice_find(nullptr, 0, &device, nullptr, 1, &matmul, &found);
  };
  EXPECT_EQ(find(), TW_OK);
  found.size = 8;
  EXPECT_EQ(find(), TW_INVALID);
  EXPECT_EQ(tw_error_message(), size_text("tw_choice_find: found", "tw_found", 8));
  found.size = sizeof found;
  matmul.size = 8;
  EXPECT_EQ(find(), TW_INVALID);
  EXPECT_EQ(tw_error_message(), size_text("tw_choice_find: matmul", "tw_matmul", 8));
}

TEST(Version, IsTheProjects) {
  EXPECT_EQ(tw_version(), TILEWRIGHT_VERSION_NUMBER);
  EXPECT_EQ(std::to_string(TILEWRIGHT_VERSION_MAJOR) + "." +
                std::to_string(TILEWRIGHT_VERSION_MINOR) + "." +
                std::to_string(TILEWRIGHT_VERSION_PATCH),
            TILEWRIGHT_PROJECT_VERSION);
}

// ---- the C++ header ----

static_assert(std::is_nothrow_move_constructible_v<tilewright::Plan>);
static_assert(std::is_nothrow_move_assignable_v<tilewright::Plan>);
static_assert(!std::is_copy_constructible_v<tilewright::Plan>);
static_assert(noexcept(std::declval<tilewright::Plan>().get()));
static_assert(noexcept(std::declval<tilewright::FirstFailure>().note(TW_OK)));

TEST(Cpp, PlansAreAssigned) {
  tilewright::Plan plan(zen4(), TestPlan::basic(40, 64));
  tilewright::Plan other(zen4(), TestPlan::basic(80, 64));
  const tw_plan* kept = other.get();
  plan = std::move(other);
  EXPECT_EQ(plan.get(), kept);
}

TEST(Cpp, FirstFailureIsKeptWithItsMessage) {
  tilewright::FirstFailure failure;
  failure.note(TW_OK);
  failure.check();
  std::thread([&] { failure.note(tw_run(nullptr, nullptr, 0)); }).join();
  failure.note(tw_plan_create(nullptr, nullptr, nullptr));
  try {
    failure.check();
    FAIL();
  } catch (const tilewright::Error& error) {
    EXPECT_EQ(error.status, TW_INVALID);
    EXPECT_STREQ(error.what(), "tw_run: plan is null");
  }
}

TEST(Cpp, CountsThatFailThrow) {
  EXPECT_THROW((void)tilewright::rhs_slices(nullptr), tilewright::Error);
  EXPECT_THROW((void)tilewright::lhs_slices(nullptr, 1), tilewright::Error);
  EXPECT_THROW((void)tilewright::run_slices(nullptr, 1), tilewright::Error);
}

}  // namespace
}  // namespace tw::test
