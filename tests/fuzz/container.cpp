// Fuzz target: packed weights from a file that somebody else wrote. The library writes a container;
// an input says of what size and layout, and which bits of header and weights to flip. What is read
// from it is planned, checked and run. Buffers have exactly the size that the library is told.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "internal.h"
#include "tilewright/tilewright.hpp"

namespace {

struct Destroy {
  void operator()(tw_plan* plan) const { tw_plan_destroy(plan); }
};
using Plan = std::unique_ptr<tw_plan, Destroy>;

class Input {
 public:
  Input(const uint8_t* data, size_t size) : at_(data), left_(size) {}
  uint8_t byte() { return left_ == 0 ? 0 : (--left_, *at_++); }
  void flip(uint8_t* bytes, size_t count) {
    for (size_t i = 0; i < count && left_ > 0; ++i)
      bytes[i] = static_cast<uint8_t>(bytes[i] ^ byte());
  }

 private:
  const uint8_t* at_;
  size_t left_;
};

const tw_device& device() {
  static const tw_device detected = [] {
    auto found = tilewright::sized<tw_device>();
    tw_device_detect(&found);
    return found;
  }();
  return detected;
}

/// Rows that run here: their layouts are what containers can have.
const std::vector<const tw_kernel*>& kernels() {
  static const std::vector<const tw_kernel*> rows = [] {
    std::vector<const tw_kernel*> found(tw_list_kernels(&device(), nullptr, 0));
    tw_list_kernels(&device(), found.data(), found.size());
    return found;
  }();
  return rows;
}

/// As a client plans for a container: family and sizes, and the layout that it has.
Plan make_plan(uint64_t layout, size_t n, size_t k) {
  auto matmul = tilewright::sized<tw_matmul>();
  matmul.family = kernels()[0]->family;
  for (const tw_kernel* kernel : kernels()) {
    if (kernel->dst == TW_F32 && kernel->accumulate == 0 && kernel->rhs->id == layout)
      matmul.family = kernel->family;
  }
  matmul.n = n;
  matmul.k = k;
  matmul.rhs_layout = layout;
  tw_plan* plan = nullptr;
  const tw_status status = tw_plan_create(&device(), &matmul, &plan);
  if ((status == TW_OK) != (plan != nullptr)) std::abort();
  return Plan(plan);
}

void require(bool condition) {
  if (!condition) std::abort();
}

void sign(uint8_t* at, const void* data, size_t bytes) {
  const uint64_t sum = tw_checksum(data, bytes);
  for (size_t i = 0; i < 8; ++i) at[i] = static_cast<uint8_t>(sum >> 8 * i);
}

std::vector<uint8_t> pack(const tw_plan* plan, size_t n, size_t k) {
  const tw_layout& layout = *tw_plan_rhs_layout(plan);
  const size_t stride = (k * layout.data_bits + 7) / 8;
  const std::vector<uint8_t> codes(n * stride, 0x5a);
  const size_t block = tw_plan_rhs_layout(plan)->block;
  const std::vector<float> scales(n * (block == 0 ? 1 : k / block), 0.5F);  // or twice the halves
  auto source = tilewright::sized<tw_rhs_source>();
  source.order = TW_NXK;
  source.data = codes.data();
  source.data_bytes = codes.size();
  source.stride = stride;
  source.scales = tw_plan_rhs_layout(plan)->scales != 0 ? scales.data() : nullptr;
  source.scale_count = scales.size();
  std::vector<uint8_t> packed(tw_rhs_bytes(plan));
  for (size_t slice = 0; slice < tilewright::rhs_slices(plan); ++slice) {
    require(tw_pack_rhs(plan, &source, packed.data(), packed.size(), slice) == TW_OK);
  }
  return packed;
}

/// Whatever the weights are, nothing is read or written that should not be.
void run(const tw_plan* plan, size_t n, size_t k, size_t m, const std::vector<uint8_t>& weights) {
  const std::vector<float> values(m * k, 1.5F);
  auto source = tilewright::sized<tw_lhs_source>();
  source.data = values.data();
  source.data_bytes = values.size() * sizeof(float);
  source.stride = k * sizeof(float);
  size_t bytes = 0;
  require(tw_lhs_bytes(plan, m, &bytes) == TW_OK);
  std::vector<uint8_t> lhs(bytes);
  for (size_t slice = 0; slice < tilewright::lhs_slices(plan, m); ++slice) {
    require(tw_pack_lhs(plan, m, &source, lhs.data(), lhs.size(), slice) == TW_OK);
  }
  std::vector<float> dst(m * n);
  auto args = tilewright::sized<tw_run_args>();
  args.m = m;
  if (bytes == 0) {  // it reads the rows themselves
    args.lhs = values.data();
    args.lhs_bytes = source.data_bytes;
    args.lhs_stride = source.stride;
  } else {
    args.lhs = lhs.data();
    args.lhs_bytes = lhs.size();
  }
  args.rhs = weights.data();
  args.rhs_bytes = weights.size();
  args.dst = dst.data();
  args.dst_bytes = dst.size() * sizeof(float);
  args.dst_stride = n * sizeof(float);
  for (size_t slice = 0; slice < tilewright::run_slices(plan, m); ++slice) {
    const tw_status status = tw_run(plan, &args, slice);
    require(status == TW_OK || weights.size() < tw_rhs_bytes(plan));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Input input(data, size);
  const tw_kernel* kernel = kernels()[input.byte() % kernels().size()];
  const size_t n = 1 + input.byte() % 80;
  const size_t block = std::max<size_t>(1, kernel->rhs->block);  // of which k is a multiple
  const size_t k = (1 + input.byte() % 100 + block - 1) / block * block;
  const size_t m = input.byte() % 20;
  const uint8_t repair = input.byte();
  const uint8_t cut_header = input.byte();
  const uint8_t cut_weights = input.byte();

  const Plan plan = make_plan(kernel->rhs->id, n, k);
  require(plan != nullptr);
  std::vector<uint8_t> weights = pack(plan.get(), n, k);
  std::vector<uint8_t> header(TW_CONTAINER_BYTES);
  require(tw_container_write(plan.get(), weights.data(), weights.size(), header.data(),
                             header.size()) == TW_OK);
  input.flip(header.data(), header.size());
  input.flip(weights.data(), weights.size());
  if ((repair & 1) != 0) sign(header.data() + 48, weights.data(), weights.size());
  if ((repair & 2) != 0) sign(header.data() + 56, header.data(), 56);
  header.resize(header.size() - std::min<size_t>(header.size(), cut_header));
  header.shrink_to_fit();
  weights.resize(weights.size() - std::min<size_t>(weights.size(), cut_weights));
  weights.shrink_to_fit();

  // Against the plan that a client has already.
  const tw_status own =
      tw_container_check(plan.get(), header.data(), header.size(), weights.data(), weights.size());
  require(own != TW_OK || (cut_header == 0 && cut_weights == 0));
  if (own != TW_OK) require(std::strlen(tw_error_message()) > 0);
  run(plan.get(), n, k, m, weights);

  // Against a plan made from what the header says.
  auto found = tilewright::sized<tw_container>();
  if (tw_container_read(header.data(), header.size(), &found) != TW_OK) return 0;
  const Plan theirs = make_plan(found.layout, found.n, found.k);
  if (theirs == nullptr) return 0;
  if (tw_container_check(theirs.get(), header.data(), header.size(), weights.data(),
                         weights.size()) == TW_OK) {
    require(tw_rhs_bytes(theirs.get()) == found.bytes && found.bytes <= weights.size());
    run(theirs.get(), found.n, found.k, m, weights);
  }
  return 0;
}
