#include "integrations/litert/depthwise.h"

#include <algorithm>
#include <cstring>

#include "integrations/common/slices.h"
#include "integrations/common/this_device.h"
#include "integrations/litert/convolution.h"
#include "integrations/litert/tensors.h"
#include "tilewright/tilewright.hpp"

namespace tw::litert {

namespace {

/// Outputs as far apart as the taps are, from the first one on. Their windows have no pixel in
/// common with those of other outputs, and no gaps among the pixels that are their own: these are
/// what a table points to. Without dilation it is all outputs.
struct Phase {
  size_t line, column;    ///< of the first output
  size_t lines, columns;  ///< of outputs
  size_t pixels;          ///< in a line of the table
  std::vector<const void*> table;
  DepthwisePlan plan;  ///< of a line
};

struct Job {
  const Phase& phase;
  size_t line;
};

/// What all of a batch's images have in common.
class Images {
 public:
  Images(const Operation& operation, const Tensor& input, const tw_run_args& args)
      : operation_(operation),
        args_(args),
        pixel_bytes_(operation.weights->n * pixel_type(operation, input).bytes_of_value),
        convolution_(convolution_of(*operation.window, input, pixel_bytes_)),
        outputs_(tilewright::sized<tw_convolution_outputs>()),
        pad_(pixel_bytes_, static_cast<uint8_t>(pixel_type(operation, input).zero_point)) {
    tilewright::check(tw_convolution_part(&convolution_, 0, &outputs_));
    const size_t lines = std::min(convolution_.dilation_height, outputs_.lines),
                 columns = std::min(convolution_.dilation_width, outputs_.columns);
    for (size_t i = 0; i < lines * columns; ++i) add_phase(i / columns, i % columns);
    for (const Phase& phase : phases_) {
      for (size_t i = 0; i < phase.lines; ++i) jobs_.push_back({phase, i});
    }
    args_.n = operation.weights->n;
    args_.rhs = operation.weights->packed.get();
    args_.rhs_bytes = operation.weights->bytes;
  }

  [[nodiscard]] size_t input_bytes() const {
    return convolution_.height * convolution_.width * pixel_bytes_;
  }
  [[nodiscard]] size_t output_bytes() const {
    return outputs_.lines * outputs_.columns * args_.dst_stride;
  }
  void run(const uint8_t* pixels, uint8_t* outputs, int threads) {
    for (Phase& phase : phases_) point_to(pixels, phase);
    tilewright::FirstFailure failure;
    for_slices({threads}, jobs_.size(),
               [&](size_t i, size_t) { failure.note(run_line(jobs_[i], outputs)); });
    failure.check();
  }

 private:
  void add_phase(size_t line, size_t column) {
    const auto count = [](size_t outputs, size_t first, size_t step) {
      return (outputs - first + step - 1) / step;
    };
    const Taps taps = {convolution_.kernel_height, convolution_.kernel_width,
                       convolution_.stride_height};
    Phase phase = {line,
                   column,
                   count(outputs_.lines, line, convolution_.dilation_height),
                   count(outputs_.columns, column, convolution_.dilation_width),
                   0,
                   {},
                   nullptr};
    phase.pixels = (phase.columns - 1) * taps.stride + taps.width;
    phase.table.resize(((phase.lines - 1) * taps.stride + taps.height) * phase.pixels);
    phase.plan = depthwise_plan(*operation_.scheme, operation_.weights->n, taps, phase.pixels,
                                operation_.weights->depthwise->kernel.name);
    phases_.push_back(std::move(phase));
  }

  void point_to(const uint8_t* pixels, Phase& phase) const {
    for (size_t i = 0; i < phase.table.size(); ++i) {
      // Above and left of the image they wrap around, and so are beyond it, too.
      const size_t y =
          phase.line + i / phase.pixels * convolution_.dilation_height - convolution_.top;
      const size_t x =
          phase.column + i % phase.pixels * convolution_.dilation_width - convolution_.left;
      const bool is_inside = y < convolution_.height && x < convolution_.width;
      phase.table[i] =
          is_inside ? pixels + (y * convolution_.width + x) * pixel_bytes_ : pad_.data();
    }
  }

  tw_status run_line(const Job& job, uint8_t* outputs) const {
    const Phase& phase = job.phase;
    const size_t first = job.line * convolution_.stride_height * phase.pixels;
    const size_t y = phase.line + job.line * convolution_.dilation_height;
    const size_t offset = (y * outputs_.columns + phase.column) * args_.dst_stride;
    tw_run_args args = args_;
    args.m = phase.columns;
    args.dst = outputs + offset;
    args.dst_bytes = output_bytes() - offset;
    args.dst_stride *= convolution_.dilation_width;
    auto line = tilewright::sized<tw_depthwise_args>();
    line.table = phase.table.data() + first;
    line.table_count = phase.table.size() - first;
    line.run = &args;
    return tw_depthwise_run(phase.plan.get(), &line, 0);
  }

  const Operation& operation_;
  tw_run_args args_;
  size_t pixel_bytes_;  ///< with a value for each output
  tw_convolution convolution_;
  tw_convolution_outputs outputs_;
  std::vector<uint8_t> pad_;
  std::vector<Phase> phases_;
  std::vector<Job> jobs_;
};

/// Each value so many times, one right after the other.
template <class Value>
void repeat(const void* values, size_t count, size_t times, uint8_t* to) {
  const auto* from = static_cast<const Value*>(values);
  auto* out = reinterpret_cast<Value*>(to);
  for (size_t i = 0; i < count; ++i) {
    for (size_t j = 0; j < times; ++j) *out++ = from[i];
  }
}

}  // namespace

DepthwisePlan depthwise_plan(const Scheme& scheme, size_t channels, const Taps& taps, size_t pixels,
                             const char* kernel) {
  auto line = tilewright::sized<tw_convolution>();
  line.height = line.kernel_height = taps.height;
  line.width = pixels;
  line.kernel_width = taps.width;
  line.stride_height = line.stride_width = taps.stride;
  line.pixel_bytes = channels * (has_codes_out(scheme) ? 1 : sizeof(float));
  auto wanted = tilewright::sized<tw_depthwise>();
  wanted.family = scheme.depthwise;
  wanted.channels = channels;
  wanted.convolution = &line;
  wanted.kernel = kernel;
  tw_depthwise_plan* plan = nullptr;
  tilewright::check(tw_depthwise_create(&this_device(), &wanted, &plan));
  return DepthwisePlan(plan);
}

void run_depthwise(const Operation& operation, const Tensor& input, const void* pixels,
                   tw_run_args args, int threads) {
  Images images(operation, input, args);
  const size_t times = operation.outputs_of_channel, bytes = images.input_bytes();
  std::vector<uint8_t> repeated(times == 1 ? 0 : bytes);
  const auto* from = static_cast<const uint8_t*>(pixels);
  auto* outputs = static_cast<uint8_t*>(args.dst);
  for (size_t i = 0; i < extent(input, 0); ++i) {
    const bool has_codes = has_codes_out(*operation.scheme);
    if (times != 1 && has_codes) repeat<int8_t>(from, bytes / times, times, repeated.data());
    if (times != 1 && !has_codes) {
      repeat<float>(from, bytes / times / sizeof(float), times, repeated.data());
    }
    images.run(times == 1 ? from : repeated.data(), outputs, threads);
    from += bytes / times;
    outputs += images.output_bytes();
  }
}

}  // namespace tw::litert
