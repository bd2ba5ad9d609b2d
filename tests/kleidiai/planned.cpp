#include "kleidiai/planned.h"

#include <gtest/gtest.h>

#include <cstring>

namespace tw::test {

std::vector<uint8_t> planned_product(const tw_matmul& matmul, const tw_rhs_source& weights,
                                     const tw_lhs_source& rows, size_t m, size_t bytes,
                                     tw_run_args args) {
  const tilewright::Plan plan(tilewright::detect(), matmul);
  std::vector<uint8_t> rhs(plan.rhs_bytes());
  for (size_t s = 0; s < plan.rhs_slices(); ++s) plan.pack_rhs(weights, rhs.data(), rhs.size(), s);
  std::vector<uint8_t> lhs(plan.lhs_bytes(m));
  for (size_t s = 0; s < plan.lhs_slices(m); ++s) {
    plan.pack_lhs(m, rows, lhs.data(), lhs.size(), s);
  }
  std::vector<uint8_t> out(m * matmul.n * bytes);
  args.m = m;
  args.lhs = lhs.data();
  args.lhs_bytes = lhs.size();
  args.rhs = rhs.data();
  args.rhs_bytes = rhs.size();
  args.dst = out.data();
  args.dst_bytes = out.size();
  args.dst_stride = matmul.n * bytes;
  for (size_t s = 0; s < plan.run_slices(m); ++s) plan.run(args, s);
  return out;
}

std::vector<float> planned_floats(const tw_matmul& matmul, const tw_rhs_source& weights,
                                  const std::vector<float>& rows, float min, float max) {
  auto source = tilewright::sized<tw_lhs_source>();
  source.data = rows.data();
  source.data_bytes = rows.size() * sizeof(float);
  source.stride = matmul.k * sizeof(float);
  auto args = tilewright::sized<tw_run_args>();
  args.clamp = 1;
  args.min = min;
  args.max = max;
  const size_t m = rows.size() / matmul.k;
  const std::vector<uint8_t> bytes =
      planned_product(matmul, weights, source, m, sizeof(float), args);
  std::vector<float> out(m * matmul.n);
  std::memcpy(out.data(), bytes.data(), bytes.size());
  return out;
}

}  // namespace tw::test
