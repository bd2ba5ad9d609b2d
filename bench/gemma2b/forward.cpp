#include "gemma2b/forward.h"

#include <algorithm>
#include <cmath>

namespace tw::gemma {

namespace {

void grow(std::vector<float>& values, size_t count) {
  if (values.size() < count) values.resize(count);
}

}  // namespace

Gemma::Gemma(const Sizes& sizes, Scheme scheme, size_t positions, Engine& engine, Share share,
             size_t threads)
    : sizes_(sizes),
      words_(logits_of(sizes, scheme)),
      share_(std::move(share)),
      angles_(positions, sizes.head),
      attention_(sizes, threads) {
  for (size_t i = 0; i < sizes.layers; ++i) {
    const Layer layer = layer_of(sizes, scheme, i);
    const auto product = [&](const Matrix& matrix) { return engine.product(matrix); };
    Products made = {product(layer.q),
                     product(layer.k),
                     product(layer.v),
                     product(layer.post),
                     product(layer.up),
                     product(layer.gate),
                     product(layer.down),
                     gains_of(sizes, kGains + 2 * i),
                     gains_of(sizes, kGains + 2 * i + 1),
                     {}};
    made.cache.k.resize(positions * sizes.head);
    made.cache.v.resize(positions * sizes.head);
    layers_.push_back(std::move(made));
  }
  logits_ = engine.product(words_);
  last_gains_ = gains_of(sizes, kGains + 2 * sizes.layers);
}

std::vector<float> Gemma::embed(const std::vector<size_t>& tokens) const {
  std::vector<float> rows;
  const float factor = std::sqrt(static_cast<float>(sizes_.width));
  for (const size_t token : tokens) {
    for (const float value : row_of(words_, token)) rows.push_back(value * factor);
  }
  return rows;
}

void Gemma::normalize(const std::vector<float>& rows, const std::vector<float>& gains,
                      size_t count) {
  const size_t width = sizes_.width;
  grow(normal_, count * width);
  share_(count,
         [&](size_t i) { rms_norm(&rows[i * width], gains.data(), width, &normal_[i * width]); });
}

void Gemma::add_to(std::vector<float>& rows, size_t count) {
  const size_t width = sizes_.width;
  share_(count, [&](size_t i) { add(&out_[i * width], &rows[i * width], width); });
}

void Gemma::keep(Attention::Cache& cache, size_t position, size_t count) {
  const size_t head = sizes_.head;
  share_(count, [&](size_t i) {
    rotate(&k_[i * head], angles_, position + i);
    to_f16(&k_[i * head], &cache.k[(position + i) * head], head);
    to_f16(&v_[i * head], &cache.v[(position + i) * head], head);
    for (size_t h = 0; h < sizes_.heads; ++h) {
      rotate(&q_[(i * sizes_.heads + h) * head], angles_, position + i);
    }
  });
}

void Gemma::attend(Products& of, size_t position, size_t count, std::vector<float>& rows) {
  const size_t all_heads = sizes_.heads * sizes_.head;
  grow(q_, count * all_heads);
  grow(k_, count * sizes_.head);
  grow(v_, count * sizes_.head);
  grow(out_, count * std::max(all_heads, sizes_.width));
  normalize(rows, of.before_attention, count);
  of.q->run(normal_.data(), count, q_.data());
  of.k->run(normal_.data(), count, k_.data());
  of.v->run(normal_.data(), count, v_.data());
  keep(of.cache, position, count);
  grow(up_, count * all_heads);
  attention_.run(share_, q_.data(), of.cache, position, count, up_.data());
  of.post->run(up_.data(), count, out_.data());
  add_to(rows, count);
}

void Gemma::feed_forward(Products& of, size_t count, std::vector<float>& rows) {
  const size_t inner = sizes_.inner;
  grow(up_, count * inner);
  grow(gate_, count * inner);
  normalize(rows, of.before_feed_forward, count);
  of.up->run(normal_.data(), count, up_.data());
  of.gate->run(normal_.data(), count, gate_.data());
  constexpr size_t kParts = 8;  // of one row there is work for several threads
  const size_t part = inner / kParts;
  share_(count * kParts, [&](size_t i) { gelu_times(&gate_[i * part], &up_[i * part], part); });
  of.down->run(up_.data(), count, out_.data());
  add_to(rows, count);
}

void Gemma::layer(size_t number, size_t position, std::vector<float>& rows, bool feeds_forward) {
  const size_t count = rows.size() / sizes_.width;
  attend(layers_[number], position, count, rows);
  if (feeds_forward) feed_forward(layers_[number], count, rows);
}

void Gemma::read(const std::vector<size_t>& tokens) {
  std::vector<float> rows = embed(tokens);
  for (size_t i = 0; i < sizes_.layers; ++i) layer(i, 0, rows, i + 1 < sizes_.layers);
}

size_t Gemma::next(size_t token, size_t position) {
  std::vector<float> row = embed({token});
  for (size_t i = 0; i < sizes_.layers; ++i) layer(i, position, row);
  normalize(row, last_gains_, 1);
  grow(out_, sizes_.vocabulary);
  logits_->run(normal_.data(), 1, out_.data());
  const auto end = out_.begin() + static_cast<ptrdiff_t>(sizes_.vocabulary);
  return static_cast<size_t>(std::max_element(out_.begin(), end) - out_.begin());
}

}  // namespace tw::gemma
