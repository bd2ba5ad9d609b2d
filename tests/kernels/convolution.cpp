#include "kernels/convolution.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <sstream>

#include "support/guarded_buffer.h"

namespace tw::test {
namespace {

size_t type_bytes(tw_type type) {
  return type == TW_S8 ? 1 : type == TW_F32 ? 4 : 2;
}

tw_convolution description(const ConvolutionCase& c, size_t value_bytes) {
  auto made = tilewright::sized<tw_convolution>();
  made.height = c.height;
  made.width = c.width;
  made.pixel_bytes = c.groups * c.channels * value_bytes;
  made.kernel_height = c.kernel_height;
  made.kernel_width = c.kernel_width;
  made.stride_height = c.stride_height;
  made.stride_width = c.stride_width;
  made.dilation_height = c.dilation_height;
  made.dilation_width = c.dilation_width;
  made.top = c.top;
  made.bottom = c.bottom;
  made.left = c.left;
  made.right = c.right;
  made.transposed = c.transposed ? 1 : 0;
  made.more_height = made.more_width = c.more;
  return made;
}

tw_convolution_outputs outputs_of(const tw_convolution& convolution, size_t part) {
  auto outputs = tilewright::sized<tw_convolution_outputs>();
  tilewright::check(tw_convolution_part(&convolution, part, &outputs));
  return outputs;
}

/// Rows of k bytes, two to a byte.
std::vector<uint8_t> as_nibbles(const std::vector<uint8_t>& codes, size_t k) {
  const size_t stride = (k + 1) / 2;
  std::vector<uint8_t> bytes(codes.size() / k * stride);
  for (size_t i = 0; i < codes.size(); ++i) {
    bytes[i / k * stride + i % k / 2] |= static_cast<uint8_t>((codes[i] & 15) << (i % k % 2 * 4));
  }
  return bytes;
}

/// One group of one part: its plan and packed weights.
struct Product {
  Product(const ConvolutionCase& c, const ConvolutionLayer& layer,
          const tw_convolution& convolution, size_t part_number, size_t group)
      : part(outputs_of(convolution, part_number)),
        plan(device_of(layer), matmul(c, layer)),
        rhs(plan.rhs_bytes()) {
    const size_t tap_bytes = c.channels * layer.weight_bytes;
    const size_t group_bytes = c.outputs * c.taps() * tap_bytes;
    std::vector<uint8_t> split(c.outputs * part.taps * tap_bytes);
    tilewright::check(tw_convolution_weights(
        &convolution, part_number, static_cast<const char*>(layer.weights) + group * group_bytes,
        group_bytes, c.outputs, tap_bytes, split.data(), split.size()));
    if (layer.nibbles) split = as_nibbles(split, part.taps * c.channels);
    auto source = tilewright::sized<tw_rhs_source>();
    source.order = TW_NXK;
    source.data = split.data();
    source.data_bytes = split.size();
    source.stride = split.size() / c.outputs;
    if (!layer.scales.empty()) {
      source.scales = layer.scales.data() + group * c.outputs;
      source.scale_count = c.outputs;
    }
    source.bias = static_cast<const char*>(layer.bias) + group * c.outputs * 4;
    source.bias_count = c.outputs;
    source.lhs_zero_point = layer.lhs_zero_point;
    source.lhs_scale = layer.lhs_scale;
    source.dst_scale = layer.dst_scale;
    for (size_t s = 0; s < plan.rhs_slices(); ++s) {
      plan.pack_rhs(source, rhs.data(), rhs.size(), s);
    }
  }

  [[nodiscard]] tw_matmul matmul(const ConvolutionCase& c, const ConvolutionLayer& layer) const {
    auto made = tilewright::sized<tw_matmul>();
    made.family = layer.family;
    made.n = c.outputs;
    made.k = part.taps * c.channels;
    made.taps = part.plain != 0 ? 0 : part.taps;
    made.lhs_type = layer.lhs;
    made.dst_type = layer.dst;
    if (c.tile == 4) made.tuning = {1, 5, 0, TW_ROWS_FIRST, TW_DECODE_UNSET};  // several blocks
    return made;
  }
  static tw_device device_of(const ConvolutionLayer& layer) {
    tw_device device = tilewright::detect();
    tilewright::check(tw_device_limit(&device, layer.isa));
    return device;
  }

  /// Every slice with scratch of its own, the last ones first.
  void run(size_t m, const ConvolutionLayer& layer, const tw_indirect& indirect,
           const tw_lhs_source& rows, uint8_t* dst, size_t dst_bytes, size_t dst_stride) const {
    const GuardedBuffer scratch("scratch", plan.scratch_bytes(m), Flush::end);
    auto source = rows;
    source.indirect = part.plain != 0 ? nullptr : &indirect;
    source.scratch = scratch.data();
    source.scratch_bytes = scratch.size();
    std::vector<uint8_t> lhs(plan.lhs_bytes(m));
    for (size_t s = plan.lhs_slices(m); s-- > 0;) {
      plan.pack_lhs(m, source, lhs.data(), lhs.size(), s);
    }
    auto args = tilewright::sized<tw_run_args>();
    args.m = m;
    args.lhs = lhs.data();
    args.lhs_bytes = lhs.size();
    if (lhs.empty()) {
      args.lhs = rows.data;
      args.lhs_bytes = rows.data_bytes;
      args.lhs_stride = rows.stride;
    }
    args.indirect = &indirect;
    args.scratch = scratch.data();
    args.scratch_bytes = scratch.size();
    args.rhs = rhs.data();
    args.rhs_bytes = rhs.size();
    args.dst = dst;
    args.dst_bytes = dst_bytes;
    args.dst_stride = dst_stride;
    args.dst_zero_point = layer.dst_zero_point;
    args.clamp = layer.dst == TW_S8 ? 1 : 0;
    args.min = static_cast<float>(layer.min);
    args.max = static_cast<float>(layer.max);
    for (size_t s = plan.run_slices(m); s-- > 0;) plan.run(args, s);
  }

  tw_convolution_outputs part;
  tilewright::Plan plan;
  std::vector<uint8_t> rhs;
};

std::vector<const void*> table_of(const tw_convolution& convolution, size_t number,
                                  const tw_convolution_outputs& part, size_t tile,
                                  const void* input, const void* pad) {
  const size_t m = part.lines * part.columns;
  std::vector<const void*> rows((m + tile - 1) / tile * tile * part.taps);
  tilewright::check(
      tw_convolution_rows(&convolution, number, input, pad, tile, rows.data(), rows.size()));
  return rows;
}

}  // namespace

std::vector<uint8_t> run_convolution(const ConvolutionCase& c, const ConvolutionLayer& layer) {
  const size_t value_bytes = type_bytes(layer.lhs);
  const size_t length = c.channels * value_bytes;
  const GuardedBuffer input("input", c.inputs() * value_bytes, Flush::end);
  std::memcpy(input.data(), layer.input, input.size());
  const GuardedBuffer pad("pad", length, Flush::end);
  for (size_t i = 0; i < length; ++i) pad.data()[i] = layer.zero[i % value_bytes];
  const tw_convolution convolution = description(c, value_bytes);
  const tw_convolution_outputs whole = outputs_of(convolution, 0);
  const size_t pixel = c.groups * c.outputs * type_bytes(layer.dst);
  std::vector<uint8_t> dst(whole.height * whole.width * pixel, 0x55);
  for (size_t number = 0; number < whole.parts; ++number) {
    const tw_convolution_outputs part = outputs_of(convolution, number);
    const size_t tile = c.transposed ? 1 : c.tile;
    const std::vector<const void*> table =
        table_of(convolution, number, part, tile, input.data(), pad.data());
    const size_t products = c.transposed ? part.lines : 1;  // a line each
    const size_t m = part.lines * part.columns / (products == 0 ? 1 : products);
    for (size_t group = 0; group < c.groups; ++group) {
      const Product product(c, layer, convolution, number, group);
      auto rows = tilewright::sized<tw_lhs_source>();  // where it is plain
      rows.data = input.data() + group * length;
      rows.data_bytes = input.size() - group * length;
      rows.stride = convolution.pixel_bytes;
      rows.zero_point = layer.lhs_zero_point;
      rows.scale = layer.lhs_scale;
      auto indirect = tilewright::sized<tw_indirect>();
      indirect.tile = tile;
      indirect.offset = group * length;
      indirect.pad = pad.data();
      for (size_t i = 0; m != 0 && i < products; ++i) {
        indirect.rows = table.data() + i * m * part.taps;
        indirect.row_count = table.size() - i * m * part.taps;
        const size_t first = (part.line + i * part.line_step) * whole.width + part.column;
        const size_t at = first * pixel + group * pixel / c.groups;
        product.run(m, layer, indirect, rows, dst.data() + at, dst.size() - at,
                    part.column_step * pixel);
      }
    }
  }
  return dst;
}

std::vector<std::string> isas_of(const std::string& family) {
  const tw_device device = tilewright::detect();
  std::vector<const tw_kernel*> rows(tw_list_kernels(&device, nullptr, 0));
  tw_list_kernels(&device, rows.data(), rows.size());
  std::vector<std::string> isas;
  for (const tw_kernel* row : rows) {
    const bool is_new = std::find(isas.begin(), isas.end(), row->isa) == isas.end();
    if (row->family == family && is_new) isas.emplace_back(row->isa);
  }
  return isas;
}

ConvolutionSums convolve(const ConvolutionCase& c, const std::vector<double>& values,
                         const std::vector<double>& weights) {
  const auto size = [&](size_t in, size_t kernel, size_t dilation, size_t stride, size_t cut) {
    const size_t covered = (kernel - 1) * dilation + 1;
    return c.transposed ? (in - 1) * stride + covered + c.more - cut
                        : (in + cut - covered) / stride + 1;
  };
  ConvolutionSums out;
  out.height =
      size(c.height, c.kernel_height, c.dilation_height, c.stride_height, c.top + c.bottom);
  out.width = size(c.width, c.kernel_width, c.dilation_width, c.stride_width, c.left + c.right);
  const size_t all = c.groups * c.outputs;
  out.sums.resize(out.height * out.width * all);
  out.sizes.resize(out.sums.size());
  // Every pair of pixels that a tap connects: (y, x) is the larger image's, (v, u) the other's.
  const auto inside = [](size_t at, size_t padding, size_t length) {
    return at >= padding && at - padding < length;
  };
  const size_t steps_y = c.transposed ? c.height : out.height;
  const size_t steps_x = c.transposed ? c.width : out.width;
  for (size_t v = 0; v < steps_y; ++v) {
    for (size_t u = 0; u < steps_x; ++u) {
      for (size_t tap = 0; tap < c.taps(); ++tap) {
        const size_t y = v * c.stride_height + tap / c.kernel_width * c.dilation_height;
        const size_t x = u * c.stride_width + tap % c.kernel_width * c.dilation_width;
        if (!inside(y, c.top, c.transposed ? out.height : c.height)) continue;
        if (!inside(x, c.left, c.transposed ? out.width : c.width)) continue;
        const size_t large = (y - c.top) * (c.transposed ? out.width : c.width) + x - c.left;
        const size_t small = v * steps_x + u;
        const size_t from = c.transposed ? small : large;
        const size_t to = c.transposed ? large : small;
        for (size_t i = 0; i < all * c.channels; ++i) {
          const size_t output = i / c.channels;
          const size_t group = output / c.outputs;
          const double value = values[(from * c.groups + group) * c.channels + i % c.channels];
          const double weight = weights[(output * c.taps() + tap) * c.channels + i % c.channels];
          out.sums[to * all + output] += value * weight;
          out.sizes[to * all + output] += std::fabs(value * weight);
        }
      }
    }
  }
  return out;
}

std::vector<ConvolutionCase> ConvolutionCase::all() {
  std::vector<ConvolutionCase> cases;
  const auto add = [&](const auto& change) {
    ConvolutionCase made;
    change(made);
    for (const size_t tile : {size_t{1}, size_t{4}, size_t{8}}) {
      made.tile = tile;
      if (tile == 1 || !made.transposed) cases.push_back(made);
    }
  };
  add([](auto& c) { c.top = c.bottom = c.left = c.right = 1; });
  add([](auto& c) { c.top = c.left = 1, c.channels = 1, c.outputs = 33; });
  add([](auto& c) { c.bottom = 2, c.right = 1, c.channels = 17, c.outputs = 66; });
  add([](auto& c) { c.stride_height = c.stride_width = 2, c.left = 1, c.channels = 17; });
  add([](auto& c) { c.dilation_height = c.dilation_width = 2, c.top = c.bottom = 2; });
  add([](auto& c) { c.groups = 2, c.channels = 17, c.right = 1, c.outputs = 7; });
  add([](auto& c) { c.height = c.width = 3, c.channels = 40; });            // one output
  add([](auto& c) { c.height = 11, c.width = 5, c.left = 1, c.top = 2; });  // 11 x 4
  add([](auto& c) { c.height = 3, c.width = 11; });                         // 9 outputs
  add([](auto& c) { c.kernel_height = c.kernel_width = 1, c.groups = 2; });
  add([](auto& c) { c.kernel_height = c.kernel_width = 1, c.stride_height = 2, c.channels = 17; });
  add([](auto& c) { c.kernel_height = 2, c.kernel_width = 5, c.right = 3, c.stride_width = 3; });
  const auto turn = [&](const auto& change) {
    add([&](auto& c) {
      c.transposed = true;
      change(c);
    });
  };
  turn([](auto&) {});
  turn([](auto& c) { c.stride_height = c.stride_width = 2, c.top = c.left = 1, c.channels = 17; });
  turn([](auto& c) { c.stride_height = 3, c.stride_width = 2, c.bottom = 1, c.groups = 2; });
  turn([](auto& c) { c.stride_height = c.stride_width = 2, c.more = 1, c.right = 2; });
  turn([](auto& c) { c.stride_height = 4, c.stride_width = 5, c.outputs = 33; });  // gaps
  turn([](auto& c) { c.dilation_height = 2, c.stride_width = 2, c.dilation_width = 3; });
  return cases;
}

std::string to_string(const ConvolutionCase& c) {
  std::ostringstream out;
  out << (c.transposed ? "transposed " : "") << c.height << " x " << c.width << " x " << c.channels
      << " to " << c.outputs << ", groups " << c.groups << ", kernel " << c.kernel_height << " x "
      << c.kernel_width << ", stride " << c.stride_height << " x " << c.stride_width
      << ", dilation " << c.dilation_height << " x " << c.dilation_width << ", padding " << c.top
      << ' ' << c.bottom << ' ' << c.left << ' ' << c.right << ", more " << c.more << ", tile "
      << c.tile;
  return out.str();
}

}  // namespace tw::test
