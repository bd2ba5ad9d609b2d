// Fully connected layers, by tilewright or by XNNPACK: each program is linked with one of them.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "gemma2b/model.h"

namespace tw::gemma {

/// out = in x weights, m rows; activations are quantized, row by row, in each call.
class Product {
 public:
  Product() = default;
  virtual ~Product() = default;
  Product(const Product&) = delete;
  Product& operator=(const Product&) = delete;
  virtual void run(const float* in, size_t m, float* out) = 0;
};

/// Makes products, which share its threads and its memory for activations and must not outlive it.
class Engine {
 public:
  Engine() = default;
  virtual ~Engine() = default;
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;
  /// Packs the weights: nothing of the matrix's codes is kept.
  virtual std::unique_ptr<Product> product(const Matrix& matrix) = 0;
};

/// Calls the function once for each number below the count, on all threads.
using Share = std::function<void(size_t count, const std::function<void(size_t)>&)>;

/// records: a file of measurements, "": none. Throws std::runtime_error where it cannot be used.
std::unique_ptr<Engine> make_engine(const Share& share, size_t threads, const std::string& records);

}  // namespace tw::gemma
