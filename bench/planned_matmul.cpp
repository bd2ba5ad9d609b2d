#include "planned_matmul.h"

#include <fmt/format.h>

#include <cmath>

namespace tw::bench {

void require(tw_status status, const std::string& what) {
  if (status != TW_OK) fail(fmt::format("{}: {}", what, tw_error_message()));
}

PlannedMatmul::PlannedMatmul(const tw_device& device, const Weights& weights,
                             const MatmulOptions& options)
    : weights_(weights) {
  tw_matmul matmul{};
  matmul.family = options.family;
  matmul.n = weights.n;
  matmul.k = weights.k;
  matmul.kernel = options.kernel;
  if (options.rhs_prefetch) {
    matmul.tuning.rhs_prefetch =
        *options.rhs_prefetch == 0 ? TW_PREFETCH_OFF : *options.rhs_prefetch;
  }
  tw_plan* plan = nullptr;
  require(tw_plan_create(&device, &matmul, &plan), "plan");
  plan_.reset(plan);

  rhs_bytes_ = tw_rhs_bytes(plan);
  rhs_ = std::make_unique<Copies>(rhs_bytes_, options.rotate_bytes);
  tw_rhs_source source{};
  source.order = TW_NXK;
  source.data = weights.codes.data();
  source.data_bytes = weights.codes.size();
  source.stride = weights.stride();
  source.scales = weights.scales.data();
  source.scale_count = weights.scales.size();
  source.bias = weights.bias.data();
  source.bias_count = weights.bias.size();
  for (size_t s = 0; s < tw_rhs_slices(plan); ++s) {
    require(tw_pack_rhs(plan, &source, rhs_->first(), rhs_bytes_, s), "packing the weights");
  }
  rhs_->spread();
}

void PlannedMatmul::prepare(size_t m) {
  m_ = m;
  values_ = random_values(m * weights_.k);
  require(tw_lhs_bytes(plan_.get(), m, &lhs_bytes_), "size of the packed activations");
  lhs_ = std::make_unique<Memory>(lhs_bytes_);
  dst_bytes_ = m * weights_.n * sizeof(float);
  dst_ = std::make_unique<Memory>(dst_bytes_);
  pack_lhs();
}

void PlannedMatmul::pack_lhs() {
  tw_lhs_source source{};
  source.data = values_.data();
  source.data_bytes = values_.size() * sizeof(float);
  source.stride = weights_.k * sizeof(float);
  const size_t slices = tw_lhs_slices(plan_.get(), m_);
  for (size_t s = 0; s < slices; ++s) {
    require(tw_pack_lhs(plan_.get(), m_, &source, lhs_->data(), lhs_bytes_, s),
            "packing the activations");
  }
}

void PlannedMatmul::run() {
  tw_run_args args{};
  args.m = m_;
  args.lhs = lhs_->data();
  args.lhs_bytes = lhs_bytes_;
  args.rhs = rhs_->next();
  args.rhs_bytes = rhs_bytes_;
  args.dst = reinterpret_cast<float*>(dst_->data());
  args.dst_bytes = dst_bytes_;
  args.dst_stride = weights_.n * sizeof(float);
  const size_t slices = tw_run_slices(plan_.get(), m_);
  for (size_t s = 0; s < slices; ++s) require(tw_run(plan_.get(), &args, s), "running");
}

void PlannedMatmul::check() const {
  const auto* dst = reinterpret_cast<const float*>(dst_->data());
  constexpr size_t samples = 64;
  for (size_t i = 0; i < samples; ++i) {
    // Corners first, then a walk that meets every row and column modulo small numbers.
    const size_t row = i == 0 ? 0 : (i == 1 ? m_ - 1 : i * 7919 % m_);
    const size_t column = i == 0 ? 0 : (i == 1 ? weights_.n - 1 : i * 104729 % weights_.n);
    double sum = weights_.bias[column], error = 1e-4;
    for (size_t j = 0; j < weights_.k; ++j) {
      const double w = weights_.value(column, j);
      sum += values_[row * weights_.k + j] * w;
      error += w * w / 12;  // variance of rounding to a step of 1 ...
    }
    // ... and a step is 2 / 255. Eight standard deviations.
    const double allowed = 8 * 2.0 / 255 * std::sqrt(error);
    const double got = dst[row * weights_.n + column];
    if (!(std::abs(got - sum) <= allowed)) {
      fail(fmt::format("{} computed {} for row {}, column {} of {}x{}x{}; the product is {} +- {}",
                       short_names(segments(m_)), got, row, column, m_, weights_.n, weights_.k, sum,
                       allowed));
    }
  }
}

std::vector<tw_segment> PlannedMatmul::segments(size_t m) const {
  std::vector<tw_segment> segments(TW_MAX_SEGMENTS);
  size_t count = 0;
  require(tw_plan_segments(plan_.get(), m, segments.data(), &count), "segments of the plan");
  segments.resize(count);
  return segments;
}

std::string short_name(const tw_kernel& kernel) {
  return fmt::format("{} {}x{} {}", kernel.isa, kernel.tile_m, kernel.tile_n, kernel.printer);
}

std::string short_names(const std::vector<tw_segment>& segments) {
  std::string names;
  for (const tw_segment& s : segments) {
    names += (names.empty() ? "" : " + ") + short_name(*s.kernel);
  }
  return names;
}

}  // namespace tw::bench
