#include "command/job_matmuls.h"

namespace tw {
namespace {

tuner::JobMatmul job_matmul(const Matmul& matmul, const std::vector<Rows>& rows) {
  tuner::JobMatmul made;
  made.name = matmul.name;
  made.count = static_cast<double>(matmul.count);
  tuner::Wanted& wanted = made.wanted;
  wanted.family = matmul.family;
  wanted.n = static_cast<size_t>(matmul.n);
  wanted.k = static_cast<size_t>(matmul.k);
  wanted.block = static_cast<size_t>(matmul.block);
  wanted.scales = matmul.scales;
  wanted.regime = matmul.regime == Regime::hot ? tuner::Regime::hot : tuner::Regime::streamed;
  for (const Rows& r : rows) {
    wanted.mix.push_back({static_cast<size_t>(r.m), static_cast<double>(r.calls)});
  }
  return made;
}

bool same_weights(const tuner::Wanted& a, const tuner::Wanted& b) {
  return a.family == b.family && a.n == b.n && a.k == b.k && a.block == b.block &&
         a.scales == b.scales && a.regime == b.regime;
}

}  // namespace

std::vector<tuner::JobMatmul> job_matmuls(const Workload& workload) {
  std::vector<tuner::JobMatmul> matmuls;
  for (const Matmul& matmul : workload.matmuls) {
    tuner::JobMatmul made = job_matmul(matmul, workload.rows);
    bool known = false;
    for (tuner::JobMatmul& other : matmuls) {
      if (!same_weights(other.wanted, made.wanted)) continue;
      other.name += "," + made.name;
      other.count += made.count;
      known = true;
    }
    if (!known) matmuls.push_back(std::move(made));
  }
  return matmuls;
}

}  // namespace tw
