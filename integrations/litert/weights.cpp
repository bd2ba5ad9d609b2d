#include "integrations/litert/weights.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <map>
#include <mutex>

#include "integrations/common/message.h"
#include "integrations/common/this_device.h"
#include "integrations/litert/depthwise.h"
#include "integrations/litert/tensors.h"
#include "tilewright/tilewright.hpp"

namespace tw::litert {

namespace {

constexpr Scheme kSchemes[] = {
    {type_f32, type_f32, "matmul_clamp_f32_f32_f32p", "dwconv_clamp_f32_f32_f32p"},
    {type_f32, type_f16, "matmul_clamp_f32_f32_f16p", "dwconv_clamp_f32_f32_f32p"},
    {type_f32, type_i8, "matmul_clamp_f32_qai8dxp_qsi8cxp"},
    {type_f32, type_i4, "matmul_clamp_f32_qai8dxp_qsi4cxp"},
    {type_i8, type_i8, "matmul_clamp_qai8_qai8p_qsi8cxp", "dwconv_clamp_qai8_qai8_qsi8cxp"},
    {type_i8, type_i4, "matmul_clamp_qai8_qai8p_qsi4cxp"},
};

void log_failure(const WeightSource& source) {
  if (!is_set("TILEWRIGHT_LOG", "1")) return;
  message("{} x {}, {}: {}; left to the runtime", source.n, source.k,
          source.depthwise ? source.scheme->depthwise : source.scheme->family, tw_error_message());
}

std::unique_ptr<tw_plan, Weights::FreePlan> make_plan(const WeightSource& source) {
  const tw_mix mix = {source.rows, 1};
  auto matmul = tilewright::sized<tw_matmul>();
  matmul.family = source.scheme->family;
  matmul.n = source.n;
  matmul.k = source.k;
  matmul.taps = source.taps;
  matmul.threads = source.threads;
  if (source.rows != 0) {
    matmul.mix = &mix;
    matmul.mix_count = 1;
  }
  if (has_codes_out(*source.scheme)) matmul.lhs_type = matmul.dst_type = TW_S8;
  tw_plan* plan = nullptr;
  tilewright::check(tw_plan_create(&this_device(), &matmul, &plan));
  return std::unique_ptr<tw_plan, Weights::FreePlan>(plan);
}

bool is_worth_it(const WeightSource& source, const Weights& made) {
  constexpr size_t kMany = 128;
  if (is_set("TILEWRIGHT_LITERT_TEST", "1")) return true;
  if (made.depthwise != nullptr) return made.depthwise->kernel.features != 0;
  return !is_portable(made.plan.get(), std::max(source.rows, kMany));
}

size_t source_stride(const WeightSource& source) {
  const size_t values = source.order == TW_NXK ? source.k : source.n;
  switch (source.scheme->weights) {
    case type_f32:
      return values * 4;
    case type_f16:
      return values * 2;
    case type_i4:
      return (values + 1) / 2;
    default:
      return values;
  }
}

/// TW_NXK: nibbles one after the other, of which each row now begins with a byte.
std::vector<uint8_t> rows_of_nibbles(const WeightSource& source) {
  const size_t stride = source_stride(source);
  const auto* from = static_cast<const uint8_t*>(source.data);
  std::vector<uint8_t> rows(source.n * stride);
  for (size_t i = 0; i < source.n * source.k; ++i) {
    const uint32_t code = from[i / 2] >> (i % 2 * 4) & 15U;
    uint8_t& to = rows[i / source.k * stride + i % source.k / 2];
    to = static_cast<uint8_t>(to | code << (i % source.k % 2 * 4));
  }
  return rows;
}

/// Of weights that lie as the run time reads them.
tw_rhs_source rhs_source(const WeightSource& source) {
  auto from = tilewright::sized<tw_rhs_source>();
  from.order = source.order;
  from.data = source.data;
  from.stride = source_stride(source);
  from.data_bytes = from.stride * (source.order == TW_NXK ? source.n : source.k);
  from.scales = source.scales.empty() ? nullptr : source.scales.data();
  from.scale_count = source.scales.size();
  from.bias = source.bias;
  from.bias_count = source.bias == nullptr ? 0 : source.n;
  from.lhs_zero_point = source.lhs_zero_point;
  from.lhs_scale = source.lhs_scale;
  from.dst_scale = source.dst_scale;
  return from;
}

std::vector<uint8_t> rows_of_part(const WeightSource& source) {
  const TransposedWindow& window = source.part->window;
  const size_t tap_bytes = source_stride(source) / source.taps;
  const size_t whole = source.n * window.kernel_height * window.kernel_width * tap_bytes;
  const tw_convolution convolution = convolution_of(window, 1);
  std::vector<uint8_t> rows(source.n * source_stride(source));
  tilewright::check(tw_convolution_weights(&convolution, source.part->index, source.data, whole,
                                           source.n, tap_bytes, rows.data(), rows.size()));
  return rows;
}

void pack(const WeightSource& source, Weights& made) {
  tw_rhs_source from = rhs_source(source);
  std::vector<uint8_t> rows;
  if (source.part) {
    rows = rows_of_part(source);
  } else if (source.scheme->weights == type_i4 && source.k % 2 != 0) {
    rows = rows_of_nibbles(source);
  }
  if (!rows.empty()) from.data = rows.data();
  pack_weights(from, {static_cast<int>(source.threads)}, made);
}

void pack_depthwise(const WeightSource& source, const tw_depthwise_plan& plan, Weights& made) {
  tw_rhs_source from = rhs_source(source);
  std::vector<float> floats;
  if (source.scheme->weights == type_f16) {
    floats = floats_of_halves(source.data, source.n * source.k);
    from.data = floats.data();
    from.stride *= 2;
    from.data_bytes *= 2;
  }
  const PackedShape shape = {source.scheme->depthwise, source.n, source.k,
                             *tw_depthwise_chosen(&plan)->kernel.rhs};
  made.bytes = tw_depthwise_weight_bytes(&plan);
  made.packed = packed_memory(
      shape, from, {static_cast<int>(source.threads)}, made.bytes, [&](uint8_t* packed) {
        tilewright::check(tw_depthwise_pack(&plan, &from, packed, made.bytes));
      });
}

void make(const WeightSource& source, Weights& made) {
  DepthwisePlan depthwise;
  if (source.depthwise) {
    depthwise =
        depthwise_plan(*source.scheme, source.n, *source.depthwise, source.depthwise->width);
    made.depthwise = tw_depthwise_chosen(depthwise.get());
  } else {
    made.plan = make_plan(source);
  }
  if (!is_worth_it(source, made)) return;
  if (depthwise != nullptr) {
    pack_depthwise(source, *depthwise, made);
  } else {
    pack(source, made);
  }
}

/// Null: not ours.
std::shared_ptr<const Weights> make_weights(const WeightSource& source) {
  auto made = std::make_shared<Weights>();
  made->n = source.n;
  made->k = source.k;
  try {
    make(source, *made);
  } catch (const tilewright::Error&) {  // as of a bias with which sums could leave i32
    log_failure(source);
    return nullptr;
  }
  return made->packed == nullptr ? nullptr : made;
}

}  // namespace

tw_convolution convolution_of(const TransposedWindow& window, size_t pixel_bytes) {
  auto made = tilewright::sized<tw_convolution>();
  made.transposed = 1;
  made.height = window.height;
  made.width = window.width;
  made.pixel_bytes = pixel_bytes;
  made.kernel_height = window.kernel_height;
  made.kernel_width = window.kernel_width;
  made.stride_height = window.stride_height;
  made.stride_width = window.stride_width;
  made.top = window.top;
  made.bottom = window.bottom;
  made.left = window.left;
  made.right = window.right;
  made.more_height = window.more_height;
  made.more_width = window.more_width;
  return made;
}

const Scheme* find_scheme(Type input, Type weights) {
  const auto* found = std::find_if(
      std::begin(kSchemes), std::end(kSchemes),
      [&](const Scheme& scheme) { return scheme.input == input && scheme.weights == weights; });
  return found == std::end(kSchemes) ? nullptr : found;
}

std::shared_ptr<const Weights> find_weights(const WeightSource& source) {
  static std::mutex mutex;
  static std::map<WeightSource, std::weak_ptr<const Weights>> known;
  const std::lock_guard lock(mutex);
  std::erase_if(known, [](const auto& entry) { return entry.second.expired(); });
  if (std::shared_ptr<const Weights> found = known[source].lock()) return found;
  std::shared_ptr<const Weights> made = make_weights(source);
  known[source] = made;
  return made;
}

}  // namespace tw::litert
