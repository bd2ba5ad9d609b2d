#include "kernels/static_plan.h"

#include <algorithm>

namespace tw::test {
namespace {

/// Bytes, or several to a byte, the first in its lowest bits.
std::vector<uint8_t> rows_of_codes(const StaticMatmul& in, int bits) {
  if (bits == 8) return {in.rhs.begin(), in.rhs.end()};
  const size_t stride = (in.k * static_cast<size_t>(bits) + 7) / 8;
  std::vector<uint8_t> bytes(in.n * stride);
  for (size_t i = 0; i < in.rhs.size(); ++i) {
    const size_t at = i % in.k * static_cast<size_t>(bits);
    const int code = in.rhs[i] & ((1 << bits) - 1);
    bytes[i / in.k * stride + at / 8] |= static_cast<uint8_t>(code << at % 8);
  }
  return bytes;
}

const char* family_of(int bits) {
  if (bits == 2) return "matmul_clamp_qai8_qai8p_qsi2cxp";
  return bits == 4 ? "matmul_clamp_qai8_qai8p_qsi4cxp" : "matmul_clamp_qai8_qai8p_qsi8cxp";
}

}  // namespace

StaticCall static_call(const StaticMatmul& in, int bits, std::vector<uint8_t>& codes) {
  codes = rows_of_codes(in, bits);
  StaticCall call{tilewright::sized<tw_matmul>(), tilewright::sized<tw_rhs_source>(),
                  tilewright::sized<tw_run_args>()};
  call.matmul.family = family_of(bits);
  call.matmul.n = in.n;
  call.matmul.k = in.k;
  call.matmul.lhs_type = call.matmul.dst_type = TW_S8;
  call.rhs.order = TW_NXK;
  call.rhs.data = codes.data();
  call.rhs.data_bytes = codes.size();
  call.rhs.stride = codes.size() / in.n;
  call.rhs.scales = in.scales.data();
  call.rhs.scale_count = in.n;
  call.rhs.bias = in.bias.data();
  call.rhs.bias_count = in.n;
  call.rhs.lhs_zero_point = in.lhs_zero_point;
  call.rhs.lhs_scale = in.lhs_scale;
  call.rhs.dst_scale = in.dst_scale;
  call.args.m = in.m;
  call.args.dst_bytes = in.m * in.n;
  call.args.dst_stride = in.n;
  call.args.clamp = 1;
  call.args.min = static_cast<float>(in.min);
  call.args.max = static_cast<float>(in.max);
  call.args.dst_zero_point = in.dst_zero_point;
  return call;
}

std::vector<int8_t> run_static(const StaticMatmul& in, int bits, const char* isa) {
  tw_device device = tilewright::detect();
  tilewright::check(tw_device_limit(&device, isa));
  std::vector<uint8_t> codes;
  StaticCall call = static_call(in, bits, codes);
  const tilewright::Plan plan(device, call.matmul);
  std::vector<uint8_t> rhs(plan.rhs_bytes());
  for (size_t s = 0; s < plan.rhs_slices(); ++s) plan.pack_rhs(call.rhs, rhs.data(), rhs.size(), s);
  auto rows = tilewright::sized<tw_lhs_source>();
  rows.data = in.lhs.data();
  rows.data_bytes = in.lhs.size();
  rows.stride = in.k;
  std::vector<uint8_t> lhs(plan.lhs_bytes(in.m));
  for (size_t s = 0; s < plan.lhs_slices(in.m); ++s) {
    plan.pack_lhs(in.m, rows, lhs.data(), lhs.size(), s);
  }
  std::vector<int8_t> dst(in.m * in.n);
  call.args.lhs = lhs.data();
  call.args.lhs_bytes = lhs.size();
  call.args.rhs = rhs.data();
  call.args.rhs_bytes = rhs.size();
  call.args.dst = dst.data();
  for (size_t s = 0; s < plan.run_slices(in.m); ++s) plan.run(call.args, s);
  return dst;
}

std::vector<std::string> static_isas(int bits) {
  const StaticMatmul none{1, 1, 1, {0}, 0, 1, {0}, {1}, {0}};
  std::vector<uint8_t> codes;
  const std::string family = static_call(none, bits, codes).matmul.family;
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

}  // namespace tw::test
