#include "measure/planned_matmul.h"
#include "tilewright/tilewright.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace tw::measure {

void require(tw_status status, const std::string& what) {
  if (status != TW_OK) fail(fmt::format("{}: {}", what, tw_error_message()));
}

// Activations and outputs that are codes.
constexpr int32_t lhs_zero_point = 3, dst_zero_point = -5;
constexpr float lhs_scale = 1.0F / 120;

/// Few sums are beyond the codes.
static float dst_scale(const Weights& weights) {
  return 0.001F * std::sqrt(static_cast<float>(weights.k));
}

PackedWeights::PackedWeights(const tw_plan* plan, const Weights& weights, size_t rotate_bytes,
                             tw_type dst)
    : layout_(tw_plan_rhs_layout(plan)->id),
      bytes_(tw_rhs_bytes(plan)),
      copies_(bytes_, rotate_bytes) {
  auto source = tilewright::sized<tw_rhs_source>();
  source.order = TW_NXK;
  if (dst == TW_S8) {
    source.lhs_zero_point = lhs_zero_point;
    source.lhs_scale = lhs_scale;
    source.dst_scale = dst_scale(weights);
  } else {
    source.bias = weights.bias.data();
    source.bias_count = weights.bias.size();
  }
  source.data = weights.codes.data();
  source.data_bytes = weights.codes.size();
  source.stride = weights.stride();
  source.scales = weights.scales.empty() ? nullptr : weights.scale_data();
  source.scale_count = weights.scales.size();
  std::vector<uint8_t> rows;
  const tw_layout& rhs = *tw_plan_rhs_layout(plan);
  if (has_own_rows(*rhs.axes)) {
    rows = source_rows(weights, rhs);
    source.order = source_of(rhs).order;
    source.data = rows.data();
    source.data_bytes = rows.size();
    source.stride = rows.size() / weights.n;
  }
  for (size_t s = 0; s < tilewright::rhs_slices(plan); ++s) {
    require(tw_pack_rhs(plan, &source, copies_.first(), bytes_, s), "packing the weights");
  }
  copies_.spread();
}

PlannedMatmul::PlannedMatmul(const tw_device& device, const Weights& weights,
                             const MatmulOptions& options)
    : weights_(weights),
      team_(options.team),
      scratch_(options.scratch),
      accumulates_(options.accumulate != 0),
      dst_(options.dst),
      rhs_(options.packed) {
  auto matmul = tilewright::sized<tw_matmul>();
  matmul.family = options.family;
  matmul.block = weights.block;
  matmul.scales = weights.type;
  matmul.n = weights.n;
  matmul.k = weights.k;
  matmul.kernel = options.kernel;
  matmul.accumulate = options.accumulate;
  matmul.dst_type = options.dst;
  if (options.dst == TW_S8) matmul.lhs_type = TW_S8;
  matmul.rhs_layout = options.rhs_layout;
  matmul.threads = team_ != nullptr ? team_->threads() : 1;
  matmul.settings = options.settings.data();
  matmul.setting_count = options.settings.size();
  if (options.rhs_prefetch) {
    matmul.tuning.rhs_prefetch =
        *options.rhs_prefetch == 0 ? TW_PREFETCH_OFF : *options.rhs_prefetch;
  }
  tw_plan* plan = nullptr;
  require(tw_plan_create(&device, &matmul, &plan), "plan");
  plan_.reset(plan);
  floats_ = weights.scales.empty();
  if (rhs_ == nullptr) {
    rhs_ = std::make_shared<PackedWeights>(plan, weights, options.rotate_bytes, options.dst);
  }
  if (rhs_->layout() != tw_plan_rhs_layout(plan)->id) fail("packed weights of another layout");
}

Activations::Activations(size_t rows, const Weights& weights)
    : m(rows),
      values(random_values(rows * weights.k)),
      dst_bytes(rows * weights.n * sizeof(float)),
      dst(dst_bytes) {
  for (const float value : values) {
    codes.push_back(static_cast<int8_t>(std::lround(value / lhs_scale) + lhs_zero_point));
  }
}

void PlannedMatmul::prepare(std::shared_ptr<Activations> activations) {
  activations_ = std::move(activations);
  m_ = activations_->m;
  require(tw_lhs_bytes(plan_.get(), m_, &lhs_bytes_), "size of the packed activations");
  lhs_ = std::make_unique<Memory>(std::max<size_t>(lhs_bytes_, 1));
  pack_lhs();
}

void PlannedMatmul::pack_lhs() {
  auto source = tilewright::sized<tw_lhs_source>();
  const bool codes = dst_ == TW_S8;
  const size_t bytes = codes ? 1 : sizeof(float);
  source.data =
      codes ? static_cast<const void*>(activations_->codes.data()) : activations_->values.data();
  source.data_bytes = activations_->values.size() * bytes;
  source.stride = weights_.k * bytes;
  each_slice(tilewright::lhs_slices(plan_.get(), m_), [&](size_t s) {
    require(tw_pack_lhs(plan_.get(), m_, &source, lhs_->data(), lhs_bytes_, s),
            "packing the activations");
  });
}

void PlannedMatmul::each_slice(size_t slices, const std::function<void(size_t)>& work) {
  if (team_ != nullptr) return team_->share(slices, work);
  for (size_t s = 0; s < slices; ++s) work(s);
}

void PlannedMatmul::run() {
  auto args = tilewright::sized<tw_run_args>();
  args.m = m_;
  if (lhs_bytes_ == 0) {
    args.lhs = activations_->values.data();
    args.lhs_bytes = activations_->values.size() * sizeof(float);
    args.lhs_stride = weights_.k * sizeof(float);
  } else {
    args.lhs = lhs_->data();
    args.lhs_bytes = lhs_bytes_;
  }
  args.rhs = rhs_->next();
  args.rhs_bytes = rhs_->bytes();
  args.dst = activations_->dst.data();
  args.dst_bytes = activations_->dst_bytes;
  args.dst_stride = weights_.n * (dst_ == TW_S8 ? 1 : sizeof(float));
  args.dst_zero_point = dst_ == TW_S8 ? dst_zero_point : 0;
  size_t bytes = 0;
  if (scratch_) require(tw_scratch_bytes(plan_.get(), m_, &bytes), "size of the scratch");
  each_slice(tilewright::run_slices(plan_.get(), m_), [&](size_t s) {
    thread_local std::vector<uint8_t> scratch;
    if (scratch.size() < bytes) scratch.resize(bytes);
    tw_run_args own = args;
    own.scratch = bytes != 0 ? scratch.data() : nullptr;
    own.scratch_bytes = bytes;
    require(tw_run(plan_.get(), &own, s), "running");
  });
}

double PlannedMatmul::output(size_t index) const {
  if (dst_ != TW_S8) return reinterpret_cast<const float*>(activations_->dst.data())[index];
  const int code = reinterpret_cast<const int8_t*>(activations_->dst.data())[index];
  return (code - dst_zero_point) * double{dst_scale(weights_)};
}

double PlannedMatmul::product(size_t row, size_t column) const {
  double sum = dst_ == TW_S8 ? 0 : weights_.bias[column];
  for (size_t j = 0; j < weights_.k; ++j) {
    const size_t at = row * weights_.k + j;
    const double value = dst_ == TW_S8
                             ? (activations_->codes[at] - lhs_zero_point) * double{lhs_scale}
                             : double{activations_->values[at]};
    sum += value * weights_.value(column, j);
  }
  return sum;
}

double PlannedMatmul::allowed_error(size_t row, size_t column) const {
  if (dst_ == TW_S8) return 0.51 * double{dst_scale(weights_)};
  double size = std::abs(weights_.bias[column]), error = 1e-4;
  for (size_t j = 0; j < weights_.k; ++j) {
    const double w = weights_.value(column, j);
    size += std::abs(activations_->values[row * weights_.k + j] * w);
    error += w * w / 12;  // variance of rounding to a step of 1 ...
  }
  if (floats_) {
    // Activations may have been rounded to 8 bits, or 11.
    const tw_type lhs = segments(m_).front().kernel->lhs->type;
    double rounded = lhs == TW_BF16 ? size / 512 : lhs == TW_F16 ? size / 4096 : 0;
    // So may weights of f16.
    if (const tw_kernel* by = decoder(m_); by != nullptr && by->dst == TW_BF16) rounded *= 2;
    return rounded + static_cast<double>(2 * weights_.k + 3) * std::ldexp(size, -24);
  }
  // ... and a step is 2 / 255. Eight standard deviations.
  return 8 * 2.0 / 255 * std::sqrt(error);
}

void PlannedMatmul::spoil_output() {
  auto* dst = reinterpret_cast<float*>(activations_->dst.data());
  std::fill_n(dst, m_ * weights_.n, accumulates_ ? 0.0F : std::numeric_limits<float>::quiet_NaN());
}

void PlannedMatmul::check() const {
  constexpr size_t samples = 64;
  for (size_t i = 0; i < samples; ++i) {
    // Corners first, then a walk that meets every row and column modulo small numbers.
    const size_t row = i == 0 ? 0 : (i == 1 ? m_ - 1 : i * 7919 % m_);
    const size_t column = i == 0 ? 0 : (i == 1 ? weights_.n - 1 : i * 104729 % weights_.n);
    const double sum = product(row, column);
    const double allowed = allowed_error(row, column);
    const double got = output(row * weights_.n + column);
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

const tw_kernel* PlannedMatmul::decoder(size_t m) const {
  const tw_kernel* decoder = nullptr;
  require(tw_plan_decoder(plan_.get(), m, &decoder), "decoder of the plan");
  return scratch_ ? decoder : nullptr;
}

tw_tuning PlannedMatmul::tuning(size_t m) const {
  tw_tuning tuning{};
  require(tw_plan_tuning(plan_.get(), m, &tuning), "tuning of the plan");
  return tuning;
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

}  // namespace tw::measure
