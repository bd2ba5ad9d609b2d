#include "integrations/litert/depthwise.h"

#include "integrations/common/slices.h"
#include "integrations/common/this_device.h"
#include "integrations/litert/convolution.h"
#include "integrations/litert/tensors.h"
#include "tilewright/tilewright.hpp"

namespace tw::litert {

DepthwisePlan depthwise_plan(const char* family, size_t channels, const tw_convolution& convolution,
                             const char* kernel) {
  auto wanted = tilewright::sized<tw_depthwise>();
  wanted.family = family;
  wanted.channels = channels;
  wanted.convolution = &convolution;
  wanted.kernel = kernel;
  tw_depthwise_plan* plan = nullptr;
  tilewright::check(tw_depthwise_create(&this_device(), &wanted, &plan));
  return DepthwisePlan(plan);
}

void run_depthwise(const Operation& operation, const Tensor& input, const void* pixels,
                   tw_run_args args, int threads) {
  const Weights& weights = *operation.weights;
  const PixelType pixel = pixel_type(operation, input);
  const size_t pixel_bytes = weights.n * pixel.bytes_of_value;
  const tw_convolution convolution = convolution_of(*operation.window, input, pixel_bytes);
  const DepthwisePlan plan = depthwise_plan(operation.scheme->depthwise, weights.n, convolution,
                                            weights.depthwise->kernel.name);
  size_t lines = 0;
  tilewright::check(tw_depthwise_slices(plan.get(), &lines));
  auto part = tilewright::sized<tw_convolution_outputs>();
  tilewright::check(tw_convolution_part(&convolution, 0, &part));
  args.m = part.lines * part.columns;
  args.n = weights.n;
  args.dst_bytes = args.m * args.dst_stride;
  args.rhs = weights.packed.get();
  args.rhs_bytes = weights.bytes;

  std::vector<const void*> table(tw_depthwise_pointers(plan.get()));
  const std::vector<int8_t> pad(pixel_bytes, static_cast<int8_t>(pixel.zero_point));
  auto image = tilewright::sized<tw_depthwise_args>();
  image.table = table.data();
  image.table_count = table.size();
  image.run = &args;
  const auto* at = static_cast<const uint8_t*>(pixels);
  for (size_t i = 0; i < extent(input, 0); ++i) {
    tilewright::check(tw_depthwise_table(plan.get(), at, pad.data(), table.data(), table.size()));
    tilewright::FirstFailure failure;
    for_slices({threads}, lines, [&](size_t line, size_t) {
      failure.note(tw_depthwise_run(plan.get(), &image, line));
    });
    failure.check();
    at += extent(input, 1) * extent(input, 2) * pixel_bytes;
    args.dst = static_cast<uint8_t*>(args.dst) + args.dst_bytes;
  }
}

}  // namespace tw::litert
