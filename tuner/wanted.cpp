#include "tuner/wanted.h"
#include "tilewright/tilewright.hpp"

namespace tw::tuner {

tw_matmul matmul_of(const Wanted& wanted) {
  auto matmul = tilewright::sized<tw_matmul>();
  matmul.family = wanted.family.c_str();
  matmul.n = wanted.n;
  matmul.k = wanted.k;
  matmul.block = wanted.block;
  matmul.scales = scales_from_name(wanted.scales);
  return matmul;
}

bool is_of_weights(const Problem& problem, const Wanted& wanted) {
  return problem.family == wanted.family && problem.block == wanted.block &&
         problem.scales == wanted.scales;
}

bool is_of_matrix(const Record& record, const Wanted& wanted) {
  return is_of_weights(record.problem, wanted) && record.problem.n == wanted.n &&
         record.problem.k == wanted.k && record.regime == wanted.regime &&
         record.threads == wanted.threads;
}

tw_scales scales_from_name(const std::string& name) {
  if (name == "f32") return TW_SCALES_F32;
  if (name == "f16") return TW_SCALES_F16;
  if (name == "e8m0") return TW_SCALES_E8M0;
  return name == "bf16" ? TW_SCALES_BF16 : TW_SCALES_UNSET;
}

}  // namespace tw::tuner
