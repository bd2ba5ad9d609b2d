// Weights and activations of any family through the run-time API, for tests that compare calls with
// one another: any values will do.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tilewright/tilewright.hpp"

namespace tw::test {

struct Family {
  const char* name;
  size_t weight_bits;
  size_t block = 0;  ///< scales of f16
  tw_type lhs = TW_F32, dst = TW_F32;
  bool accumulate = false;
  tw_type weights = TW_F32;  ///< of 16 or 32 bits
};
/// One of each arithmetic, type of outputs, way to read activations.
const std::vector<Family>& families();

inline constexpr tw_tuning kSmallSlices = {33, 5, 0, TW_ROWS_FIRST, TW_DECODE_UNSET};

/// A plan for n columns of depth k.
class Layer {
 public:
  Layer(const Family& family, size_t n, size_t k, size_t taps = 0,
        const tw_tuning& tuning = kSmallSlices);

  [[nodiscard]] const tw_plan* get() const { return plan_.get(); }
  [[nodiscard]] const tilewright::Plan& plan() const { return plan_; }
  [[nodiscard]] size_t lhs_row() const;  ///< bytes
  [[nodiscard]] size_t dst_row() const;  ///< bytes
  [[nodiscard]] std::vector<uint8_t> packed_weights(unsigned seed) const;
  /// Fills `bytes` with values of activations.
  void fill(uint8_t* values, size_t bytes, unsigned seed) const;
  /// What activations mean where they are codes; nothing is set that says where they are.
  [[nodiscard]] tw_lhs_source source() const;
  /// Clamped, with a bias where there may be one.
  [[nodiscard]] tw_run_args args() const;
  /// By tw_pack_lhs and tw_run.
  void multiply(size_t m, const uint8_t* lhs, size_t lhs_stride, const std::vector<uint8_t>& rhs,
                uint8_t* dst, size_t dst_stride) const;

 private:
  Family family_;
  size_t n_, k_;
  tilewright::Plan plan_;
  std::vector<float> bias_;
};

std::string to_string(const Family& family);

}  // namespace tw::test
