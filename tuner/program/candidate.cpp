#include "tuner/program/candidate.h"

#include <algorithm>
#include <stdexcept>

namespace tw::tuner {
namespace {

struct Destroy {
  void operator()(tw_plan* plan) const { tw_plan_destroy(plan); }
};
using Plan = std::unique_ptr<tw_plan, Destroy>;

/// Null when the plan is refused. kernel null: the plan's.
Plan plan_with(const tw_device& device, const Wanted& wanted, size_t m, const char* kernel,
               tw_decode decode) {
  tw_tuning tuning = {};
  tuning.decode = decode;
  const tw_setting setting{m, m, kernel, tuning};
  const tw_mix mix{m, 1};
  tw_matmul matmul = matmul_of(wanted);
  matmul.mix = &mix;
  matmul.mix_count = 1;
  matmul.settings = &setting;
  matmul.setting_count = kernel != nullptr ? 1 : 0;
  tw_plan* plan = nullptr;
  if (tw_plan_create(&device, &matmul, &plan) != TW_OK) return nullptr;
  return Plan(plan);
}

/// What the plan does for m rows.
Candidate candidate_of(const tw_plan* plan, size_t m) {
  tw_segment segments[TW_MAX_SEGMENTS];
  size_t count = 0;
  Candidate candidate;
  if (tw_plan_segments(plan, m, segments, &count) != TW_OK ||
      tw_plan_tuning(plan, m, &candidate.tuning) != TW_OK) {
    throw std::runtime_error(tw_error_message());
  }
  candidate.kernel = segments[0].kernel;
  if (candidate.tuning.rhs_prefetch == 0) candidate.tuning.rhs_prefetch = TW_PREFETCH_OFF;
  return candidate;
}

}  // namespace

Configuration configuration_of(const Candidate& candidate) {
  const tw_kernel& kernel = *candidate.kernel;
  Configuration run;
  run.kernel = kernel.name;
  run.hash = kernel.content_hash;
  run.isa = kernel.isa;
  run.layout = kernel.rhs->id;
  run.compiler = std::string(kernel.printer) == "assembly" ? "" : TILEWRIGHT_COMPILER;
  run.n_block = candidate.tuning.n_block;
  run.m_block = candidate.tuning.m_block;
  run.order = candidate.tuning.order == TW_ROWS_FIRST ? "rows" : "columns";
  const size_t prefetch = candidate.tuning.rhs_prefetch;
  run.prefetch = prefetch == TW_PREFETCH_OFF ? 0 : prefetch;
  const tw_decode decode = candidate.tuning.decode;
  run.decodes = decode == TW_DECODE_UNSET ? "" : decode == TW_DECODE_ALWAYS ? "yes" : "no";
  return run;
}

Candidate planned_candidate(const tw_device& device, const Wanted& wanted, size_t m) {
  const Plan plan = plan_with(device, wanted, m, nullptr, TW_DECODE_UNSET);
  if (plan == nullptr) throw std::runtime_error(tw_error_message());
  return candidate_of(plan.get(), m);
}

std::vector<Candidate> kernel_candidates(const tw_device& device, const Wanted& wanted, size_t m,
                                         double hopeless) {
  std::vector<const tw_kernel*> rows(tw_list_kernels(&device, nullptr, 0));
  tw_list_kernels(&device, rows.data(), rows.size());
  std::vector<std::pair<double, Candidate>> found;
  for (const tw_kernel* row : rows) {
    if (row->family != wanted.family) continue;
    const Plan plan = plan_with(device, wanted, m, row->name, TW_DECODE_NEVER);
    if (plan != nullptr)
      found.push_back({tw_plan_cycles(plan.get(), m), candidate_of(plan.get(), m)});
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<Candidate> candidates;
  for (const auto& [cycles, candidate] : found) {
    if (cycles <= hopeless * found.front().first) candidates.push_back(candidate);
  }
  return candidates;
}

std::vector<Candidate> prefetch_neighbors(const Candidate& candidate, const Wanted& wanted) {
  const tw_layout& rhs = *candidate.kernel->rhs;
  const size_t panel = rhs.panel * wanted.k * rhs.data_bits / 8;
  std::vector<size_t> distances = {TW_PREFETCH_OFF, 2048, 4096, 8192, 16384, 32768};
  if (panel > 32768) distances.push_back(panel);
  std::vector<Candidate> neighbors;
  for (const size_t distance : distances) {
    if (distance == candidate.tuning.rhs_prefetch) continue;
    Candidate other = candidate;
    other.tuning.rhs_prefetch = distance;
    neighbors.push_back(other);
  }
  return neighbors;
}

std::vector<Candidate> decode_neighbors(const tw_device& device, const Candidate& candidate,
                                        const Wanted& wanted, size_t m) {
  constexpr double hopeless = 2;
  if (candidate.tuning.decode != TW_DECODE_NEVER) return {};
  const Plan packed = plan_with(device, wanted, m, candidate.kernel->name, TW_DECODE_NEVER);
  const Plan decoded = plan_with(device, wanted, m, candidate.kernel->name, TW_DECODE_ALWAYS);
  const double cycles = tw_plan_cycles(decoded.get(), m);
  if (cycles > hopeless * tw_plan_cycles(packed.get(), m)) return {};
  return {candidate_of(decoded.get(), m)};
}

std::vector<Candidate> block_neighbors(const Candidate& candidate, const Wanted& wanted, size_t m) {
  std::vector<Candidate> neighbors;
  const auto add = [&](size_t n_block, size_t m_block, tw_order order) {
    Candidate other = candidate;
    other.tuning = {std::min(n_block, wanted.n), std::min(m_block, m),
                    candidate.tuning.rhs_prefetch, order, candidate.tuning.decode};
    neighbors.push_back(other);
  };
  const tw_tuning& t = candidate.tuning;
  for (const size_t times : {2, 4}) {
    if (t.n_block * times <= wanted.n) add(t.n_block * times, t.m_block, t.order);
    if (t.n_block / times >= 64) add(t.n_block / times, t.m_block, t.order);
  }
  if (m < 32) return neighbors;
  add(t.n_block, t.m_block / 2, TW_COLUMNS_FIRST);
  add(t.n_block, t.m_block / 2, TW_ROWS_FIRST);
  if (t.m_block < m) {
    add(t.n_block, m, t.order);
    add(t.n_block, t.m_block, t.order == TW_ROWS_FIRST ? TW_COLUMNS_FIRST : TW_ROWS_FIRST);
  }
  return neighbors;
}

}  // namespace tw::tuner
