// Whether the libraries' debug builds refuse a call, each in a process of its own.
#pragma once

#include <gtest/gtest.h>

#include <functional>

namespace tw::test {

bool is_refused(const std::function<void()>& call);

/// `call` is told whether to call theirs.
template <typename Call>
void expect_both_refuse(bool refused, const Call& call) {
  EXPECT_EQ(is_refused([&] { call(true); }), refused) << "theirs";
  EXPECT_EQ(is_refused([&] { call(false); }), refused) << "ours";
}

}  // namespace tw::test
