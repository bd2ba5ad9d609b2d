#include "ggml/attention_op.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "ggml/host.h"

namespace tw::ggml {

namespace {

constexpr size_t kMoreMaskRows = 5;

/// Rows of all heads, as tensors of a head's rows.
OwnTensor make_heads(int32_t type, const Extents& extents) {
  OwnTensor made = make_tensor(type, extents);
  std::swap(made.tensor.ne[1], made.tensor.ne[2]);
  std::swap(made.tensor.nb[1], made.tensor.nb[2]);
  return made;
}

const char* name_of(int32_t type) {
  return type == type_q4_0   ? "q4_0"
         : type == type_q8_0 ? "q8_0"
         : type == type_f16  ? "f16"
         : type == type_bf16 ? "bf16"
                             : "f32";
}

void set_values(OwnTensor& tensor, size_t batch, const std::vector<float>& values) {
  const char* type = name_of(tensor.tensor.type);
  test::put_row(type, values.data(), values.size(), &tensor.bytes[batch * tensor.tensor.nb[3]]);
}

void set_mask(OwnTensor& mask, size_t batch, const test::Attention& in) {
  for (size_t i = 0; i < in.mask.size(); ++i) {
    const size_t position = i % in.positions, row = i / in.positions;
    const size_t head = row / in.queries, query = row % in.queries;
    const uint16_t bits = test::half_bits(in.mask[i]);
    std::memcpy(&mask.bytes[batch * mask.tensor.nb[3] + head * mask.tensor.nb[2] +
                            query * mask.tensor.nb[1] + position * sizeof bits],
                &bits, sizeof bits);
  }
}

test::Attention random_batch(const AttentionShape& shape, size_t number) {
  test::Attention in;
  in.queries = shape.queries;
  in.positions = shape.positions;
  in.heads = shape.heads;
  in.kv_heads = shape.kv_heads;
  in.key_size = shape.key_size;
  in.value_size = shape.value_size;
  in.key_type = name_of(shape.key_type);
  in.value_type = name_of(shape.value_type);
  in.softcap = shape.softcap;
  in.max_bias = shape.max_bias;
  fill_attention(in, static_cast<uint32_t>(number));
  if (shape.mask_batches != 0) {
    fill_mask(in, shape.mask_heads, static_cast<uint32_t>(number + 100));
  }
  for (size_t head = 0; shape.has_sinks && head < shape.heads; ++head) {
    in.sinks.push_back(static_cast<float>(head) / 2);
  }
  return in;
}

}  // namespace

AttentionOp::AttentionOp(const AttentionShape& shape)
    : q(make_heads(type_f32, {shape.key_size, shape.heads, shape.queries, shape.batches})),
      k(make_heads(shape.key_type,
                   {shape.key_size, shape.kv_heads, shape.positions, shape.kv_batches})),
      v(make_heads(shape.value_type,
                   {shape.value_size, shape.kv_heads, shape.positions, shape.kv_batches})),
      mask(make_tensor(type_f16, {shape.positions, shape.queries + kMoreMaskRows, shape.mask_heads,
                                  std::max<size_t>(1, shape.mask_batches)})),
      sinks(make_tensor(type_f32, {shape.heads, 1, 1, 1})),
      output(make_tensor(type_f32, {shape.value_size, shape.heads, shape.queries, shape.batches})),
      shape_(shape) {
  for (OwnTensor* tensor : {&mask, &output}) {
    std::fill(tensor->bytes.begin(), tensor->bytes.end(), uint8_t{0xff});
  }
  fill();
  op = output.tensor;
  op.op = kFlashAttn;
  op.src[0] = &q.tensor;
  op.src[1] = &k.tensor;
  op.src[2] = &v.tensor;
  op.src[3] = shape.mask_batches != 0 ? &mask.tensor : nullptr;
  op.src[4] = shape.has_sinks ? &sinks.tensor : nullptr;
  const float parameters[] = {batches_[0].scale, shape.max_bias, shape.softcap};
  std::memcpy(op.op_params, parameters, sizeof parameters);
}

void AttentionOp::fill() {
  for (size_t batch = 0; batch < shape_.batches; ++batch) {
    batches_.push_back(random_batch(shape_, batch));
    test::Attention& in = batches_.back();
    const size_t repeats = shape_.batches / shape_.kv_batches;
    in.k = batches_[batch / repeats * repeats].k;
    in.v = batches_[batch / repeats * repeats].v;
    set_values(q, batch, in.q);
    set_values(k, batch / repeats, in.k);
    set_values(v, batch / repeats, in.v);
    set_values(sinks, 0, in.sinks);
    if (shape_.mask_batches == 0) continue;
    in.mask = batches_[batch % shape_.mask_batches].mask;
    set_mask(mask, batch % shape_.mask_batches, in);
  }
}

std::string AttentionOp::wrong() const {
  for (size_t batch = 0; batch < shape_.batches; ++batch) {
    for (size_t query = 0; query < shape_.queries; ++query) {
      for (size_t head = 0; head < shape_.heads; ++head) {
        const std::vector<test::Output> want = attend(batches_[batch], query, head);
        for (size_t i = 0; i < want.size(); ++i) {
          const float value = float_at(op, i, head, query, batch);
          if (std::fabs(value - want[i].value) <= want[i].error) continue;
          return fmt::format("batch {}, query {}, head {}, value {}: {}, not {} +- {}", batch,
                             query, head, i, value, want[i].value, want[i].error);
        }
      }
    }
  }
  return "";
}

}  // namespace tw::ggml
