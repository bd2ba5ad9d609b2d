#include "kleidiai/ours.h"

#include <algorithm>
#include <cstring>

#include "kernels/rows.h"
#include "reference/pack_reference.h"

namespace tw::test {
namespace {

bool is_theirs(const LayoutText& layout) {
  return layout.edge_last;
}

bool fits_lhs(const tw_layout& layout, const TheirKernel& kernel) {
  const LayoutText& text = read_layout(layout.text);
  return text.lhs && is_theirs(text) && text.panel == kernel.mr && text.kr == kernel.depth();
}

/// Of int4 with a scale for each column: tests/kleidiai/names has the others.
bool fits_rhs(const tw_layout& layout, const TheirKernel& kernel) {
  const LayoutText& text = read_layout(layout.text);
  return !text.lhs && is_theirs(text) && text.bits == 4 && text.block == 0 &&
         text.panel == kernel.nr && text.kr == kernel.depth();
}

const std::string family = "matmul_clamp_f32_qai8dxp_qsi4cxp";

template <typename Wanted>
std::vector<const tw_packer*> packers(const char* source, Wanted wanted) {
  std::vector<const tw_packer*> found;
  for (size_t i = 0; i < tw_generated_packer_count; ++i) {
    const tw_packer& packer = tw_generated_packers[i];
    if (packer.run == nullptr || !should_run(packer.isa, packer.features)) continue;
    if (std::strcmp(packer.source, source) == 0 && wanted(*packer.layout)) found.push_back(&packer);
  }
  return found;
}

std::vector<uint8_t> pack(const tw_packer& packer, tw_pack_args args) {
  const tw_layout& layout = *packer.layout;
  args.size = sizeof args;
  tw_pack_into(&args, &layout);
  args.row_end = args.rows;
  args.packed_stride = panel_bytes(layout, args.k);
  args.vector_bytes = vector_bytes(layout);
  const size_t panel = panel_rows(layout);
  std::vector<uint8_t> packed((args.rows + panel - 1) / panel * args.packed_stride);
  args.packed = packed.data();
  packer.run(&args);
  return packed;
}

}  // namespace

std::vector<const tw_packer*> lhs_packers(const TheirKernel& kernel) {
  return packers("f32", [&](const tw_layout& layout) { return fits_lhs(layout, kernel); });
}

std::vector<const tw_packer*> rhs_packers(const TheirKernel& kernel, bool kxn) {
  return packers(kxn ? "kxn" : "nxk",
                 [&](const tw_layout& layout) { return fits_rhs(layout, kernel); });
}

std::vector<const tw_kernel*> kernels_like(const TheirKernel& kernel) {
  std::vector<const tw_kernel*> found = running_kernels();
  std::erase_if(found, [&](const tw_kernel* each) {
    return each->family != family || !fits_lhs(*each->lhs, kernel) || !fits_rhs(*each->rhs, kernel);
  });
  return found;
}

std::vector<const tw_kernel*> own_kernels() {
  std::vector<const tw_kernel*> found = running_kernels();
  std::erase_if(found, [&](const tw_kernel* each) {
    return each->family != family || is_theirs(read_layout(each->rhs->text));
  });
  return found;
}

std::vector<uint8_t> our_lhs(const tw_packer& packer, const Activations& lhs) {
  tw_pack_args args{};
  args.rows = lhs.m;
  args.k = lhs.k;
  args.source = lhs.values.data();
  args.source_stride = lhs.k * sizeof(float);
  return pack(packer, args);
}

std::vector<uint8_t> our_rhs(const tw_packer& packer, const Weights& rhs) {
  tw_pack_args args{};
  args.rows = rhs.n;
  args.k = rhs.k;
  args.source = rhs.nibbles.data();
  args.source_stride = rhs.row_bytes();
  args.scales = rhs.scales.data();
  args.bias = rhs.bias_or_null();
  args.flags = rhs.unsigned_nibbles ? TW_PACK_UNSIGNED_NIBBLES : 0;
  return pack(packer, args);
}

std::vector<float> our_product(const tw_kernel& kernel, const Shape& shape,
                               const std::vector<uint8_t>& lhs, const std::vector<uint8_t>& rhs,
                               const Bounds& bounds) {
  std::vector<float> out(shape.m * shape.n);
  tw_args args{};
  args.size = sizeof args;
  args.m = shape.m;
  args.n = shape.n;
  args.k = shape.k;
  args.lhs = lhs.data();
  args.lhs_stride = panel_bytes(*kernel.lhs, shape.k);
  args.rhs = rhs.data();
  args.rhs_stride = panel_bytes(*kernel.rhs, shape.k);
  args.dst = out.data();
  args.dst_stride = shape.n * sizeof(float);
  args.min = bounds.min;
  args.max = bounds.max;
  kernel.run(&args);
  return out;
}

}  // namespace tw::test
