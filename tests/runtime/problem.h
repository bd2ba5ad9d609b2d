// A small matrix multiplication with everything the runtime needs, and what it must compute.
#pragma once

#include <random>
#include <vector>

#include "reference/matmul_reference.h"
#include "runtime/fake_rows.h"
#include "tilewright/tilewright.hpp"

namespace tw::test {

struct Problem {
  Problem(size_t m, size_t n, size_t k, tw_rhs_order rhs_order = TW_NXK) : order(rhs_order) {
    std::mt19937 random(static_cast<unsigned>(m * 7919 + n * 31 + k));
    std::uniform_real_distribution<float> value(-2, 2);
    std::uniform_int_distribution<int> code(-8, 7);
    matmul.m = m;
    matmul.n = n;
    matmul.k = k;
    for (size_t i = 0; i < m * k; ++i) matmul.lhs.push_back(value(random));
    for (size_t i = 0; i < n * k; ++i) matmul.rhs.push_back(static_cast<int8_t>(code(random)));
    for (size_t i = 0; i < n; ++i) {
      matmul.scales.push_back(value(random) / 100);
      matmul.bias.push_back(value(random));
    }
    fill_codes();
  }

  [[nodiscard]] tw_rhs_source rhs_source() const {
    auto source = tilewright::sized<tw_rhs_source>();
    source.order = order;
    source.data = codes.data();
    source.data_bytes = codes.size();
    source.stride = stride;
    source.scales = matmul.scales.data();
    source.scale_count = matmul.n;
    source.bias = matmul.bias.data();
    source.bias_count = matmul.n;
    return source;
  }
  [[nodiscard]] tw_lhs_source lhs_source() const {
    auto source = tilewright::sized<tw_lhs_source>();
    source.data = matmul.lhs.data();
    source.data_bytes = matmul.lhs.size() * sizeof(float);
    source.stride = matmul.k * sizeof(float);
    return source;
  }

  Matmul matmul;
  tw_rhs_order order;
  size_t stride = 0;
  std::vector<uint8_t> codes;  ///< two's complement nibbles

 private:
  void fill_codes() {
    const bool nxk = order == TW_NXK;
    const size_t rows = nxk ? matmul.n : matmul.k;
    const size_t values = nxk ? matmul.k : matmul.n;
    stride = (values + 1) / 2;
    codes.assign(rows * stride, 0);
    for (size_t r = 0; r < rows; ++r) {
      for (size_t v = 0; v < values; ++v) {
        const int code = nxk ? matmul.rhs[r * matmul.k + v] : matmul.rhs[v * matmul.k + r];
        uint8_t& byte = codes[r * stride + v / 2];
        byte = static_cast<uint8_t>(byte | (code & 15) << (v % 2 * 4));
      }
    }
  }
};

/// A plan that destroys itself.
class TestPlan {
 public:
  TestPlan(const tw_device& device, const tw_matmul& matmul) {
    status = tw_plan_create(&device, &matmul, &plan_);
  }
  TestPlan(const tw_device& device, size_t n, size_t k) : TestPlan(device, basic(n, k)) {}
  ~TestPlan() { tw_plan_destroy(plan_); }
  TestPlan(const TestPlan&) = delete;
  TestPlan& operator=(const TestPlan&) = delete;

  static tw_matmul basic(size_t n, size_t k) {
    auto matmul = tilewright::sized<tw_matmul>();
    matmul.family = kFamily;
    matmul.n = n;
    matmul.k = k;
    return matmul;
  }
  [[nodiscard]] const tw_plan* get() const { return plan_; }
  /// "8:vnni_8x32 4:vnni_4x32": how it splits m rows.
  [[nodiscard]] std::string split(size_t m) const {
    tw_segment segments[TW_MAX_SEGMENTS];
    size_t count = 0;
    if (tw_plan_segments(plan_, m, segments, &count) != TW_OK) return tw_error_message();
    std::string text;
    for (size_t i = 0; i < count; ++i) {
      if (i > 0) text += ' ';
      text += std::to_string(segments[i].rows);
      text += ':';
      text += segments[i].kernel->name;
    }
    return text;
  }
  [[nodiscard]] size_t lhs_bytes(size_t m) const {
    size_t bytes = 0;
    tw_lhs_bytes(plan_, m, &bytes);
    return bytes;
  }
  tw_status status;

 private:
  tw_plan* plan_ = nullptr;
};

}  // namespace tw::test
