#include "tuner/plans.h"

namespace tw::tuner {
namespace {

/// 0: there are no such vectors.
double length(size_t fixed, size_t scalable, const tw_layout& layout, const Core& core) {
  const size_t vector = (layout.streaming != 0 ? core.streaming : core.vector) / 16;
  return scalable != 0 && vector == 0 ? 0 : static_cast<double>(fixed + scalable * vector);
}

double weight_bits(const tw_layout& rhs) {
  const double of_blocks = rhs.block == 0 ? 0
                                          : 8 * static_cast<double>(rhs.per_row_block_bytes) /
                                                static_cast<double>(rhs.block);
  return static_cast<double>(rhs.data_bits) + of_blocks;
}

}  // namespace

Plan plan_of(const tw_device& device, const Wanted& wanted, uint64_t layout, const char* kernel) {
  std::vector<tw_mix> mix;
  for (const Calls& c : wanted.mix) mix.push_back({c.m, c.calls});
  tw_matmul matmul = matmul_of(wanted);
  matmul.mix = mix.data();
  matmul.mix_count = mix.size();
  matmul.rhs_layout = layout;
  matmul.kernel = kernel;
  tw_plan* plan = nullptr;
  if (tw_plan_create(&device, &matmul, &plan) != TW_OK) return nullptr;
  return Plan(plan);
}

const tw_kernel* main_kernel(const tw_plan* plan, size_t m) {
  tw_segment segments[TW_MAX_SEGMENTS];
  size_t count = 0;
  if (tw_plan_segments(plan, m, segments, &count) != TW_OK || count == 0) return nullptr;
  return segments[0].kernel;
}

std::vector<const tw_kernel*> kernels_for(const tw_device& device, const Wanted& wanted) {
  std::vector<const tw_kernel*> rows(tw_list_kernels(&device, nullptr, 0));
  tw_list_kernels(&device, rows.data(), rows.size());
  std::vector<const tw_kernel*> kernels;
  for (const tw_kernel* row : rows) {
    if (row->family != wanted.family || row->rhs->block != wanted.block) continue;
    if (row->rhs->block_scales == scales_from_name(wanted.scales)) kernels.push_back(row);
  }
  return kernels;
}

std::optional<KernelFacts> registry_facts(const std::string& kernel, const Core& core) {
  const tw_kernel* row = tw_find_kernel(kernel.c_str());
  if (row == nullptr) return std::nullopt;
  KernelFacts facts;
  facts.isa = row->isa;
  facts.tile_m = length(row->tile_m, row->tile_m_scalable, *row->lhs, core);
  facts.tile_n = length(row->tile_n, row->tile_n_scalable, *row->rhs, core);
  if (facts.tile_m == 0 || facts.tile_n == 0) return std::nullopt;
  // The prediction is for vectors of 16 bytes.
  if (row->macs_per_cycle > 0) facts.macs_per_cycle = row->macs_per_cycle;
  if (row->tile_m_scalable != 0) facts.macs_per_cycle *= length(0, 1, *row->lhs, core);
  if (row->tile_n_scalable != 0) facts.macs_per_cycle *= length(0, 1, *row->rhs, core);
  facts.weight_bits = weight_bits(*row->rhs);
  return facts;
}

}  // namespace tw::tuner
