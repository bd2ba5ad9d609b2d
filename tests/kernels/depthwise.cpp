#include "kernels/depthwise.h"

#include <cmath>
#include <cstring>
#include <memory>
#include <stdexcept>

#include "support/call_checked.h"

namespace tw::test {
namespace {

constexpr uint8_t unused = 0xa5;

void require(bool is_so, const std::string& or_else) {
  if (!is_so) throw std::runtime_error(or_else);
}

const char* family_of(const std::string& type) {
  if (type == "i8") return "dwconv_clamp_qai8_qai8_qsi8cxp";
  return type == "f16" ? "dwconv_clamp_f16_f16_f16p" : "dwconv_clamp_f32_f32_f32p";
}

/// Rows of values in memory of their own, `gap` bytes apart.
std::unique_ptr<GuardedBuffer> placed(const char* name, const std::vector<uint8_t>& values,
                                      size_t row_bytes, size_t gap, Flush flush) {
  const size_t rows = values.size() / row_bytes;
  auto buffer = std::make_unique<GuardedBuffer>(name, rows * row_bytes + (rows - 1) * gap, flush);
  buffer->fill(unused);
  for (size_t i = 0; i < rows; ++i) {
    std::memcpy(buffer->data() + i * (row_bytes + gap), values.data() + i * row_bytes, row_bytes);
  }
  return buffer;
}

std::vector<float> transposed(const std::vector<float>& values, size_t rows) {
  const size_t columns = values.size() / rows;
  std::vector<float> turned;
  for (size_t c = 0; c < columns; ++c) {
    for (size_t r = 0; r < rows; ++r) turned.push_back(values[r * columns + c]);
  }
  return turned;
}

std::vector<uint8_t> bias_bytes(const Depthwise& in) {
  if (!in.codes()) return bytes_of_values("f32", in.bias);
  const std::vector<int32_t> whole(in.bias.begin(), in.bias.end());
  std::vector<uint8_t> bytes(whole.size() * 4);
  std::memcpy(bytes.data(), whole.data(), bytes.size());
  return bytes;
}

struct Destroy {
  void operator()(tw_depthwise_plan* plan) const { tw_depthwise_destroy(plan); }
};
using DepthwisePlan = std::unique_ptr<tw_depthwise_plan, Destroy>;

DepthwisePlan make_plan(const Depthwise& in, const DepthwiseOptions& options) {
  tw_device device = tilewright::detect();
  if (*options.isa != '\0') tilewright::check(tw_device_limit(&device, options.isa));
  auto convolution = tilewright::sized<tw_convolution>();
  convolution.height = in.height;
  convolution.width = in.width;
  convolution.pixel_bytes = in.channels * in.value_bytes() + options.gap;
  convolution.kernel_height = in.taps_y;
  convolution.kernel_width = in.taps_x;
  convolution.stride_height = convolution.stride_width = in.stride;
  convolution.top = in.top;
  convolution.bottom = in.bottom;
  convolution.left = in.left;
  convolution.right = in.right;
  auto depthwise = tilewright::sized<tw_depthwise>();
  depthwise.family = family_of(in.type);
  depthwise.channels = in.channels;
  depthwise.convolution = &convolution;
  depthwise.kernel = options.kernel;
  tw_depthwise_plan* plan = nullptr;
  tilewright::check(tw_depthwise_create(&device, &depthwise, &plan));
  return DepthwisePlan(plan);
}

std::unique_ptr<GuardedBuffer> pack(const tw_depthwise_plan* plan, const Depthwise& in,
                                    const DepthwiseOptions& options) {
  const bool by_tap = options.order == TW_KXN;
  const std::vector<uint8_t> weights =
      bytes_of_values(in.type, by_tap ? in.weights : transposed(in.weights, in.taps()));
  std::vector<uint8_t> bias = bias_bytes(in);
  if (options.bias_argument) bias.assign(bias.size(), 0x41);
  auto source = tilewright::sized<tw_rhs_source>();
  source.order = options.order;
  source.data = weights.data();
  source.data_bytes = weights.size();
  source.stride = (by_tap ? in.channels : in.taps()) * in.value_bytes();
  source.bias = bias.data();
  source.bias_count = in.channels;
  if (in.codes()) {
    source.scales = in.scales.data();
    source.scale_count = in.scales.size();
    source.lhs_zero_point = in.lhs_zero_point;
    source.lhs_scale = in.lhs_scale;
    source.dst_scale = in.dst_scale;
  }
  auto packed =
      std::make_unique<GuardedBuffer>("weights", tw_depthwise_weight_bytes(plan), options.flush);
  tilewright::check(tw_depthwise_pack(plan, &source, packed->data(), packed->size()));
  return packed;
}

/// A line by the kernel alone.
void call_kernel(const tw_depthwise_kernel& row, const void* const* table, size_t table_columns,
                 const tw_run_args& run, const Depthwise& in, size_t line) {
  tw_args args{};
  args.size = sizeof args;
  args.m = in.columns();
  args.n = in.channels;
  args.k = in.taps();
  args.lhs = table + line * in.stride * table_columns;
  args.lhs_stride = table_columns * sizeof(void*);
  args.rhs = run.rhs;
  args.rhs_stride =
      run.rhs_bytes / ((in.channels + row.kernel.rhs->panel - 1) / row.kernel.rhs->panel);
  args.dst = static_cast<char*>(run.dst) + line * in.columns() * run.dst_stride;
  args.dst_stride = run.dst_stride;
  args.bias = run.bias;
  args.min = in.min;
  args.max = in.max;
  args.dst_zero_point = in.dst_zero_point;
  const CallReport report = call_checked(reinterpret_cast<Function>(row.kernel.run), &args);
  require(report.signal == 0, fault_name(report.signal));
  const bool assembly = std::strcmp(row.kernel.printer, "assembly") == 0;
  const uint64_t clobbered = report.clobbered & ~(assembly ? 0 : compilers_choice());
  require(clobbered == 0, "clobbered " + register_names(clobbered));
}

}  // namespace

std::vector<const tw_depthwise_kernel*> running_depthwise_kernels() {
  const tw_device device = tilewright::detect();
  std::vector<const tw_depthwise_kernel*> rows(tw_list_depthwise_kernels(nullptr, 0));
  tw_list_depthwise_kernels(rows.data(), rows.size());
  std::erase_if(rows, [&](const tw_depthwise_kernel* row) {
    return row->kernel.run == nullptr || tw_kernel_supported(&row->kernel, &device) == 0;
  });
  return rows;
}

std::string type_of(const tw_depthwise_kernel& row) {
  return row.kernel.dst == TW_S8 ? "i8" : row.kernel.dst == TW_F16 ? "f16" : "f32";
}

std::vector<uint8_t> run_depthwise(const Depthwise& in, const DepthwiseOptions& options) {
  const DepthwisePlan plan = make_plan(in, options);
  const size_t pixel = in.channels * in.value_bytes();
  const auto weights = pack(plan.get(), in, options);
  const auto input =
      placed("input", bytes_of_values(in.type, in.input), pixel, options.gap, options.flush);
  const std::vector<float> nothing(in.channels, static_cast<float>(in.lhs_zero_point));
  const auto pad = placed("pad", bytes_of_values(in.type, nothing), pixel, 0, options.flush);
  const size_t outputs = in.lines() * in.columns();
  const auto dst = placed("dst", std::vector<uint8_t>(outputs * pixel, unused), pixel, options.gap,
                          options.flush);
  const auto bias = placed("bias", bias_bytes(in), in.channels * 4, 0, options.flush);
  const size_t pointers = tw_depthwise_pointers(plan.get());
  const GuardedBuffer table("table", pointers * sizeof(void*), options.flush);
  auto* const rows = reinterpret_cast<const void**>(table.data());
  tilewright::check(tw_depthwise_table(plan.get(), input->data(), pad->data(), rows, pointers));

  auto run = tilewright::sized<tw_run_args>();
  run.m = outputs;
  run.rhs = weights->data();
  run.rhs_bytes = weights->size();
  run.dst = dst->data();
  run.dst_bytes = dst->size();
  run.dst_stride = pixel + options.gap;
  run.bias = options.bias_argument ? bias->data() : nullptr;
  run.bias_count = in.channels;
  run.clamp = 1;
  run.min = in.min;
  run.max = in.max;
  run.dst_zero_point = in.dst_zero_point;
  auto args = tilewright::sized<tw_depthwise_args>();
  args.table = rows;
  args.table_count = pointers;
  args.run = &run;
  size_t slices = 0;
  tilewright::check(tw_depthwise_slices(plan.get(), &slices));
  require(slices == in.lines(), "slices are no lines");
  for (size_t line = slices; line-- > 0;) {
    if (options.checked) {
      call_kernel(*tw_depthwise_chosen(plan.get()), rows, in.left + in.width + in.right, run, in,
                  line);
    } else {
      tilewright::check(tw_depthwise_run(plan.get(), &args, line));
    }
  }
  std::vector<uint8_t> found(outputs * pixel);
  for (size_t i = 0; i < dst->size(); ++i) {
    const size_t place = i % run.dst_stride;
    if (place < pixel) {
      found[i / run.dst_stride * pixel + place] = dst->data()[i];
    } else {
      require(dst->data()[i] == unused, "bytes between outputs have changed");
    }
  }
  for (const GuardedBuffer* buffer :
       {input.get(), pad.get(), dst.get(), weights.get(), bias.get()}) {
    require(buffer->slack_damage().empty(), buffer->slack_damage());
  }
  return found;
}

}  // namespace tw::test
