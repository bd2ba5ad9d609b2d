#include "theirs.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <string>

namespace tw::bench {

using namespace measure;  // NOLINT(google-build-using-namespace): what every benchmark is made of
using Type = dnnl::memory::data_type;
using Tag = dnnl::memory::format_tag;

namespace {

size_t activation_bytes(Types types) {
  if (types == Types::f32) return 4;
  return types == Types::bf16 ? 2 : 1;
}

Type activation_type(Types types) {
  switch (types) {
    case Types::u8_by_s8:
      return Type::u8;
    case Types::s8_by_s8:
      return Type::s8;
    case Types::bf16:
      return Type::bf16;
    case Types::f32:
      break;
  }
  return Type::f32;
}

Type weight_type(Types types) {
  return types == Types::u8_by_s8 ? Type::s8 : activation_type(types);
}

/// Row after row. Of bf16 the upper half, which is what rounding towards zero leaves.
std::vector<uint8_t> rows_of(Types types, const Activations& activations) {
  const size_t bytes = activation_bytes(types);
  std::vector<uint8_t> rows(activations.values.size() * bytes);
  for (size_t i = 0; i < activations.values.size(); ++i) {
    uint8_t* const to = &rows[i * bytes];
    if (bytes == 1) {
      *to = static_cast<uint8_t>(activations.codes[i] + (types == Types::u8_by_s8 ? 128 : 0));
      continue;
    }
    uint32_t word = 0;
    std::memcpy(&word, &activations.values[i], 4);
    if (bytes == 2) word >>= 16;
    std::memcpy(to, &word, bytes);
  }
  return rows;
}

dnnl::matmul::primitive_desc describe(const dnnl::engine& engine, Types types, dnnl::memory::dim m,
                                      dnnl::memory::dim n, dnnl::memory::dim k) {
  const dnnl::memory::desc lhs({m, k}, activation_type(types), Tag::ab);
  const dnnl::memory::desc rhs({k, n}, weight_type(types), Tag::any);
  const dnnl::memory::desc dst({m, n}, Type::f32, Tag::ab);
#if DNNL_VERSION_MAJOR >= 3
  return dnnl::matmul::primitive_desc(engine, lhs, rhs, dst);
#else
  return dnnl::matmul::primitive_desc(dnnl::matmul::desc(lhs, rhs, dst), engine);
#endif
}

}  // namespace

Theirs::Theirs(const dnnl::engine& engine, Types types, const Weights& weights,
               const Activations& activations, size_t rotate_bytes)
    : types_(types),
      weights_(weights),
      m_(activations.m),
      lhs_(rows_of(types, activations)),
      dst_(m_ * weights.n * sizeof(float)),
      stream_(engine) {
  const auto m = static_cast<dnnl::memory::dim>(m_);
  const auto n = static_cast<dnnl::memory::dim>(weights.n);
  const auto k = static_cast<dnnl::memory::dim>(weights.k);
  const dnnl::matmul::primitive_desc product = describe(engine, types, m, n, k);
  product_ = dnnl::matmul(product);
  name_ = product.impl_info_str();
  copies_ = std::make_unique<Copies>(product.weights_desc().get_size(), rotate_bytes);
  packed_ = dnnl::memory(product.weights_desc(), engine, copies_->first());
  // n rows of k values.
  dnnl::memory rows({{k, n}, weight_type(types), Tag::ba}, engine,
                    const_cast<uint8_t*>(weights.codes.data()));
  dnnl::reorder(rows, packed_).execute(stream_, rows, packed_);
  stream_.wait();
  copies_->spread();
  arguments_ = {{DNNL_ARG_SRC, {product.src_desc(), engine, lhs_.data()}},
                {DNNL_ARG_WEIGHTS, packed_},
                {DNNL_ARG_DST, {product.dst_desc(), engine, dst_.data()}}};
}

void Theirs::run() {
  packed_.set_data_handle(const_cast<std::byte*>(copies_->next()));
  product_.execute(stream_, arguments_);
  stream_.wait();
}

double Theirs::activation(size_t row, size_t depth) const {
  const uint8_t* const at = &lhs_[(row * weights_.k + depth) * activation_bytes(types_)];
  if (types_ == Types::u8_by_s8) return *at;
  if (types_ == Types::s8_by_s8) return static_cast<int8_t>(*at);
  uint32_t word = 0;
  std::memcpy(&word, at, activation_bytes(types_));
  if (types_ == Types::bf16) word <<= 16;
  float value = 0;
  std::memcpy(&value, &word, 4);
  return value;
}

double Theirs::weight(size_t column, size_t depth) const {
  if (weights_.bits >= 16) return weights_.value(column, depth);
  return static_cast<int8_t>(weights_.codes[column * weights_.stride() + depth]);
}

void Theirs::check() {
  std::memset(dst_.data(), 0xff, dst_.size());
  run();
  constexpr size_t samples = 50;
  const auto* const outputs = reinterpret_cast<const float*>(dst_.data());
  for (size_t s = 0; s < samples; ++s) {
    const size_t row = s * 7 % m_;
    const size_t column = s * weights_.n / samples;
    double sum = 0, sizes = 0;
    for (size_t k = 0; k < weights_.k; ++k) {
      const double term = activation(row, k) * weight(column, k);
      sum += term;
      sizes += std::abs(term);
    }
    const double off = std::abs(static_cast<double>(outputs[row * weights_.n + column]) - sum);
    if (off <= 1e-5 * sizes) continue;
    fail(fmt::format("oneDNN's {}: output {},{} is {}, the product {}", name_, row, column,
                     outputs[row * weights_.n + column], sum));
  }
}

}  // namespace tw::bench
