#include "kernels/attention.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <utility>

namespace tw::test {
namespace {

constexpr uint8_t unused = 0xa5;

void require(bool is_so, const std::string& or_else) {
  if (!is_so) throw std::runtime_error(or_else);
}

/// Rows of heads in memory of their own.
class Placed {
 public:
  Placed(const char* name, size_t rows, size_t heads, size_t values, std::string type,
         const AttentionOptions& options)
      : heads_(heads), values_(values), type_(std::move(type)) {
    const size_t head = row_bytes_of(type_, values) + options.gap;
    stride = options.heads_first ? head : heads * head;
    head_stride = options.heads_first ? rows * head : head;
    buffer_ = std::make_unique<GuardedBuffer>(
        name, std::max<size_t>(rows * heads * head, options.gap) - options.gap, options.flush);
    buffer_->fill(unused);
  }

  /// Where a value is, or a block begins; `index`: in [rows][heads][values].
  [[nodiscard]] uint8_t* at(size_t index) const {
    const size_t head = index / values_ % heads_;
    const size_t row = index / values_ / heads_;
    return buffer_->data() + row * stride + head * head_stride +
           row_bytes_of(type_, index % values_);
  }

  /// `s8`: of each row of a head, where that is the type.
  void put(const std::vector<float>& values, const std::vector<RowScale>& s8 = {}) {
    for (size_t i = 0; i < values.size(); i += values_) {
      put_row(type_, &values[i], values_, at(i), s8.empty() ? RowScale{} : s8[i / values_]);
    }
  }

  /// Takes the values out; nothing else may have been written.
  std::vector<float> take(size_t count) {
    std::vector<float> values(count);
    for (size_t i = 0; i < count; ++i) {
      std::memcpy(&values[i], at(i), sizeof values[i]);
      std::memset(at(i), unused, sizeof values[i]);
    }
    for (size_t i = 0; i < buffer_->size(); ++i) {
      require(buffer_->data()[i] == unused, "bytes between outputs have changed");
    }
    return values;
  }

  [[nodiscard]] uint8_t* data() const { return buffer_->data(); }
  void check() const { require(buffer_->slack_damage().empty(), buffer_->slack_damage()); }

  size_t stride, head_stride;

 private:
  size_t heads_, values_;
  std::string type_;
  std::unique_ptr<GuardedBuffer> buffer_;
};

/// Scales and zero points of rows of s8, whose strides are any.
class PlacedScales {
 public:
  PlacedScales(const std::vector<RowScale>& all, size_t kv_heads, const AttentionOptions& options)
      : heads_(kv_heads),
        heads_first_(options.heads_first),
        rows_(all.size() / std::max<size_t>(kv_heads, 1)),
        scales_("scales", bytes(all, sizeof(float)), options.flush),
        zeros_("zeros", bytes(all, 1), options.flush) {
    for (size_t i = 0; i < all.size(); ++i) {
      std::memcpy(scales_.data() + index(i) * sizeof(float), &all[i].scale, sizeof(float));
      std::memcpy(zeros_.data() + index(i), &all[i].zero, 1);
      has_zeros_ = has_zeros_ || all[i].zero != 0;
    }
  }

  [[nodiscard]] tw_position_scales args() const {
    if (rows_ == 0) return {};
    const size_t row = heads_first_ ? 1 : heads_;
    const size_t head = heads_first_ ? rows_ : 1;
    const auto* zeros = reinterpret_cast<const int8_t*>(zeros_.data());
    return {scales_.data(),
            row * sizeof(float),
            head * sizeof(float),
            has_zeros_ ? zeros : nullptr,
            row,
            head};
  }

 private:
  static size_t bytes(const std::vector<RowScale>& all, size_t one) {
    return std::max<size_t>(all.size() * one, 1);
  }
  [[nodiscard]] size_t index(size_t i) const {
    return heads_first_ ? i % heads_ * rows_ + i / heads_ : i;
  }

  size_t heads_;
  bool heads_first_, has_zeros_ = false;
  size_t rows_;
  GuardedBuffer scales_, zeros_;
};

struct Destroy {
  void operator()(tw_attention_plan* plan) const { tw_attention_destroy(plan); }
};
using AttentionPlan = std::unique_ptr<tw_attention_plan, Destroy>;

AttentionPlan make_plan(const tw_attention& attention, const char* isa) {
  tw_device device = tilewright::detect();
  if (*isa != '\0') tilewright::check(tw_device_limit(&device, isa));
  tw_attention_plan* plan = nullptr;
  tilewright::check(tw_attention_create(&device, &attention, &plan));
  return AttentionPlan(plan);
}

tw_type type_of(const std::string& type) {
  return type == "s8"     ? TW_S8
         : type == "q4_0" ? TW_TYPE_Q4_0
         : type == "q8_0" ? TW_TYPE_Q8_0
         : type == "f16"  ? TW_F16
         : type == "bf16" ? TW_BF16
                          : TW_F32;
}

tw_attention shape_of(size_t heads, size_t kv_heads, size_t key_size, size_t value_size) {
  auto attention = tilewright::sized<tw_attention>();
  attention.heads = heads;
  attention.kv_heads = kv_heads;
  attention.key_size = key_size;
  attention.value_size = value_size;
  attention.key_type = attention.value_type = TW_F16;
  return attention;
}

/// All slices, each with memory of its own, then the merges.
void run_all(const tw_attention_plan* plan, tw_attention_args& args, Flush flush) {
  auto work = tilewright::sized<tw_attention_work>();
  tilewright::check(tw_attention_divide(plan, &args, &work));
  const GuardedBuffer partials("partials", std::max<size_t>(work.partial_bytes, 1), flush);
  args.partials = partials.data();
  args.partial_bytes = work.partial_bytes;
  for (size_t slice = work.slices; slice-- > 0;) {
    GuardedBuffer scratch("scratch", work.scratch_bytes, flush);
    scratch.fill(0xff);  // NaNs
    args.scratch = scratch.data();
    args.scratch_bytes = work.scratch_bytes;
    tilewright::check(tw_attention_run(plan, &args, slice));
    require(scratch.slack_damage().empty(), scratch.slack_damage());
  }
  for (size_t merge = work.merges; merge-- > 0;) {
    tilewright::check(tw_attention_merge(plan, &args, merge));
  }
  require(partials.slack_damage().empty(), partials.slack_damage());
}

}  // namespace

std::vector<const tw_attention_kernel*> running_attention_kernels() {
  const tw_device device = tilewright::detect();
  std::vector<const tw_attention_kernel*> rows(tw_list_attention_kernels(nullptr, 0));
  tw_list_attention_kernels(rows.data(), rows.size());
  std::erase_if(rows, [&](const tw_attention_kernel* row) {
    return row->kernel.run == nullptr || tw_kernel_supported(&row->kernel, &device) == 0;
  });
  return rows;
}

std::vector<std::string> attention_isas(size_t key_size, size_t value_size) {
  std::vector<std::string> isas;
  for (const tw_attention_kernel* row : running_attention_kernels()) {
    const std::string isa = row->kernel.isa;
    if (std::find(isas.begin(), isas.end(), isa) != isas.end()) continue;
    const AttentionPlan plan = make_plan(shape_of(1, 1, key_size, value_size), isa.c_str());
    if (tw_attention_chosen(plan.get(), TW_ATTENTION_SCORES)->kernel.isa == isa) {
      isas.push_back(isa);
    }
  }
  return isas;
}

std::vector<float> run_attention(const Attention& in, const AttentionOptions& options) {
  tw_attention attention = shape_of(in.heads, in.kv_heads, in.key_size, in.value_size);
  attention.key_type = type_of(in.key_type);
  attention.value_type = type_of(in.value_type);
  attention.printer = options.printer;
  const AttentionPlan plan = make_plan(attention, options.isa);
  Placed q("q", in.queries, in.heads, in.key_size, "f32", options);
  Placed k("k", in.positions, in.kv_heads, in.key_size, in.key_type, options);
  Placed v("v", in.positions, in.kv_heads, in.value_size, in.value_type, options);
  Placed out("out", in.queries, in.heads, in.value_size, "f32", options);
  AttentionOptions rows_first = options;
  rows_first.heads_first = true;
  Placed mask("mask", in.queries, in.mask_heads, in.positions, in.mask_type, rows_first);
  q.put(in.q);
  k.put(in.k, in.k_scales);
  v.put(in.v, in.v_scales);
  const PlacedScales k_scales(in.k_scales, in.kv_heads, options);
  const PlacedScales v_scales(in.v_scales, in.kv_heads, options);
  // Its reference has the heads outside.
  for (size_t i = 0; i < in.mask.size(); ++i) {
    const size_t head = i / in.positions / in.queries;
    const size_t query = i / in.positions % in.queries;
    const uint32_t bits = float_bits(in.mask_type, in.mask[i]);
    std::memcpy(mask.at((query * in.mask_heads + head) * in.positions + i % in.positions), &bits,
                bytes_of_float(in.mask_type));
  }
  auto args = tilewright::sized<tw_attention_args>();
  args.queries = in.queries;
  args.positions = in.positions;
  args.threads = options.threads;
  args.q = q.data();
  args.q_stride = q.stride;
  args.q_head_stride = q.head_stride;
  args.k = k.data();
  args.k_stride = k.stride;
  args.k_head_stride = k.head_stride;
  args.v = v.data();
  args.v_stride = v.stride;
  args.v_head_stride = v.head_stride;
  args.out = out.data();
  args.out_stride = out.stride;
  args.out_head_stride = out.head_stride;
  args.k_scales = k_scales.args();
  args.v_scales = v_scales.args();
  if (!in.mask.empty()) {
    args.mask = mask.data();
    args.mask_type = type_of(in.mask_type);
    args.mask_stride = mask.stride;
    args.mask_head_stride = in.mask_heads == 1 ? 0 : mask.head_stride;
  }
  args.scale = in.scale;
  args.softcap = in.softcap;
  args.max_bias = in.max_bias;
  args.sinks = in.sinks.empty() ? nullptr : in.sinks.data();
  run_all(plan.get(), args, options.flush);
  for (const Placed* operand : {&q, &k, &v, &out, &mask}) operand->check();
  return out.take(in.queries * in.heads * in.value_size);
}

std::string compare_attention(const Attention& in, const std::vector<float>& found) {
  for (size_t query = 0; query < in.queries; ++query) {
    for (size_t head = 0; head < in.heads; ++head) {
      const std::vector<Output> right = attend(in, query, head);
      for (size_t i = 0; i < in.value_size; ++i) {
        const float value = found[(query * in.heads + head) * in.value_size + i];
        if (std::isnan(right[i].value) ? std::isnan(value)
                                       : std::fabs(value - right[i].value) <= right[i].error) {
          continue;
        }
        return "query " + std::to_string(query) + ", head " + std::to_string(head) + ", value " +
               std::to_string(i) + " is " + std::to_string(value) + ", not " +
               std::to_string(right[i].value) + " +- " + std::to_string(right[i].error);
      }
    }
  }
  return "";
}

}  // namespace tw::test
