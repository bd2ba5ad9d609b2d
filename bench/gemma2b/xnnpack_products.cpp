// XNNPACK's operators for what MediaPipe asked of it: each fully connected layer after a conversion
// of its own to int8.
#include <xnnpack.h>

#include <limits>
#include <stdexcept>

#include "gemma2b/products.h"

namespace tw::gemma {

namespace {

void require(xnn_status status, const char* what) {
  if (status != xnn_status_success) {
    throw std::runtime_error(std::string("XNNPACK: ") + what + ": status " +
                             std::to_string(status));
  }
}

struct Common {
  pthreadpool_t threads;
  std::vector<int8_t> codes;
  std::vector<xnn_quantization_params> quantization;
};

class XnnpackProduct : public Product {
 public:
  XnnpackProduct(Common& common, const Matrix& matrix)
      : common_(common), k_(matrix.k), bits_(matrix.bits) {
    const std::vector<uint8_t> codes = codes_of(matrix);
    const std::vector<float> scales = scales_of(matrix);
    constexpr float kMost = std::numeric_limits<float>::infinity();
    require(xnn_create_convert_nc_f32_qd8(0, &convert_), "conversion");
    if (bits_ == 8) {
      require(xnn_create_fully_connected_nc_qd8_f32_qc8w(
                  k_, matrix.n, k_, matrix.n, scales.data(),
                  reinterpret_cast<const int8_t*>(codes.data()), nullptr, -kMost, kMost, 0, nullptr,
                  nullptr, &multiply_),
              "int8 weights");
    } else {
      require(xnn_create_fully_connected_nc_qd8_f32_qc4w(
                  k_, matrix.n, k_, matrix.n, 8, scales.data(), codes.data(), nullptr, -kMost,
                  kMost, 0, nullptr, nullptr, &multiply_),
              "int4 weights");
    }
  }
  ~XnnpackProduct() override {
    xnn_delete_operator(convert_);
    xnn_delete_operator(multiply_);
  }
  XnnpackProduct(const XnnpackProduct&) = delete;
  XnnpackProduct& operator=(const XnnpackProduct&) = delete;

  void run(const float* in, size_t m, float* out) override {
    common_.codes.resize(std::max(common_.codes.size(), m * k_ + XNN_EXTRA_BYTES));
    common_.quantization.resize(
        std::max(common_.quantization.size(), m + XNN_EXTRA_QUANTIZATION_PARAMS));
    int8_t* codes = common_.codes.data();
    xnn_quantization_params* quantization = common_.quantization.data();
    require(xnn_reshape_convert_nc_f32_qd8(convert_, m, k_, k_, k_, common_.threads), "rows");
    require(xnn_setup_convert_nc_f32_qd8(convert_, in, codes, quantization), "rows");
    require(xnn_run_operator(convert_, common_.threads), "conversion of rows");
    if (bits_ == 8) {
      require(xnn_reshape_fully_connected_nc_qd8_f32_qc8w(multiply_, m, common_.threads), "shape");
      require(xnn_setup_fully_connected_nc_qd8_f32_qc8w(multiply_, codes, out, quantization),
              "arguments");
    } else {
      require(xnn_reshape_fully_connected_nc_qd8_f32_qc4w(multiply_, m, common_.threads), "shape");
      require(xnn_setup_fully_connected_nc_qd8_f32_qc4w(multiply_, codes, out, quantization),
              "arguments");
    }
    require(xnn_run_operator(multiply_, common_.threads), "product");
  }

 private:
  Common& common_;
  size_t k_;
  int bits_;
  xnn_operator_t convert_ = nullptr, multiply_ = nullptr;
};

class Xnnpack : public Engine {
 public:
  explicit Xnnpack(size_t threads) : common_{pthreadpool_create(threads), {}, {}} {
    require(xnn_initialize(nullptr), "initialization");
  }
  ~Xnnpack() override { pthreadpool_destroy(common_.threads); }
  Xnnpack(const Xnnpack&) = delete;
  Xnnpack& operator=(const Xnnpack&) = delete;
  std::unique_ptr<Product> product(const Matrix& matrix) override {
    return std::make_unique<XnnpackProduct>(common_, matrix);
  }

 private:
  Common common_;
};

}  // namespace

std::unique_ptr<Engine> make_engine(const Share&, size_t threads, const std::string& records) {
  if (!records.empty()) throw std::runtime_error("XNNPACK has no use for records");
  return std::make_unique<Xnnpack>(threads);
}

}  // namespace tw::gemma
