#include <fmt/format.h>

#include <stdexcept>

#include "gemma2b/products.h"
#include "measure/machine.h"
#include "tilewright/tilewright.hpp"
#include "tuner/choose.h"
#include "tuner/device_text.h"
#include "tuner/record_file.h"

namespace tw::gemma {

namespace {

void require(tw_status status) {
  if (status != TW_OK) throw std::runtime_error(tw_error_message());
}

struct FreePlan {
  void operator()(tw_plan* plan) const { tw_plan_destroy(plan); }
};

struct Common {
  Share share;
  size_t threads;
  tw_device device = tilewright::sized<tw_device>();
  std::vector<tuner::Record> records;
  std::vector<std::byte> lhs;
};

class TilewrightProduct : public Product {
 public:
  TilewrightProduct(Common& common, const Matrix& matrix) : common_(common), n_(matrix.n) {
    k_ = matrix.k;
    make_plan(matrix);
    packed_ = std::make_unique<measure::Memory>(tw_rhs_bytes(plan_.get()));
    pack(matrix);
  }

  void run(const float* in, size_t m, float* out) override {
    size_t bytes = 0, slices = 0;
    require(tw_lhs_bytes(plan_.get(), m, &bytes));
    if (common_.lhs.size() < bytes) common_.lhs.resize(bytes);
    auto source = tilewright::sized<tw_lhs_source>();
    source.data = in;
    source.data_bytes = m * k_ * sizeof(float);
    source.stride = k_ * sizeof(float);
    require(tw_lhs_slices(plan_.get(), m, &slices));
    common_.share(slices, [&](size_t slice) {
      require(tw_pack_lhs(plan_.get(), m, &source, common_.lhs.data(), bytes, slice));
    });
    auto args = tilewright::sized<tw_run_args>();
    args.m = m;
    args.lhs = common_.lhs.data();
    args.lhs_bytes = bytes;
    args.rhs = packed_->data();
    args.rhs_bytes = packed_->size();
    args.dst = out;
    args.dst_bytes = m * n_ * sizeof(float);
    args.dst_stride = n_ * sizeof(float);
    require(tw_run_slices(plan_.get(), m, &slices));
    common_.share(slices, [&](size_t slice) { require(tw_run(plan_.get(), &args, slice)); });
  }

 private:
  void make_plan(const Matrix& matrix) {
    // Prompts, then one token after the other: as in the workloads that are tuned for.
    const tw_mix mix[] = {{1, 128}, {64, 1}, {512, 1}, {1024, 1}};
    auto matmul = tilewright::sized<tw_matmul>();
    matmul.family =
        matrix.bits == 8 ? "matmul_clamp_f32_qai8dxp_qsi8cxp" : "matmul_clamp_f32_qai8dxp_qsi4cxp";
    matmul.n = matrix.n;
    matmul.k = matrix.k;
    matmul.threads = common_.threads;
    matmul.mix = mix;
    matmul.mix_count = std::size(mix);
    const tuner::Choice choice = choose(matmul);
    const std::vector<tw_setting> settings = tuner::settings_of(choice);
    matmul.settings = settings.data();
    matmul.setting_count = settings.size();
    tw_plan* plan = nullptr;
    require(tw_plan_create(&common_.device, &matmul, &plan));
    plan_.reset(plan);
  }

  /// By the records, if there are any.
  [[nodiscard]] tuner::Choice choose(const tw_matmul& matmul) const {
    if (common_.records.empty()) return {};
    tuner::Wanted wanted;
    wanted.family = matmul.family;
    wanted.n = matmul.n;
    wanted.k = matmul.k;
    wanted.threads = common_.threads;
    for (size_t i = 0; i < matmul.mix_count; ++i) {
      wanted.mix.push_back({matmul.mix[i].m, matmul.mix[i].calls});
    }
    return tuner::choose(common_.records, common_.device, tuner::core_of(common_.device, 0),
                         wanted);
  }

  void pack(const Matrix& matrix) {
    const std::vector<uint8_t> codes = codes_of(matrix);
    const std::vector<float> scales = scales_of(matrix);
    auto source = tilewright::sized<tw_rhs_source>();
    source.order = TW_NXK;
    source.data = codes.data();
    source.data_bytes = codes.size();
    source.stride = matrix.row_bytes();
    source.unsigned_nibbles = matrix.bits == 4 ? 1 : 0;
    source.scales = scales.data();
    source.scale_count = scales.size();
    size_t slices = 0;
    require(tw_rhs_slices(plan_.get(), &slices));
    common_.share(slices, [&](size_t slice) {
      require(tw_pack_rhs(plan_.get(), &source, packed_->data(), packed_->size(), slice));
    });
  }

  Common& common_;
  size_t n_, k_;
  std::unique_ptr<tw_plan, FreePlan> plan_;
  std::unique_ptr<measure::Memory> packed_;
};

class Tilewright : public Engine {
 public:
  Tilewright(const Share& share, size_t threads, const std::string& records)
      : common_{share, threads, tilewright::sized<tw_device>(), {}, {}} {
    require(tw_device_detect(&common_.device));
    if (!records.empty()) common_.records = tuner::read_records(records).records;
    if (!records.empty() && common_.records.empty()) {
      throw std::runtime_error(fmt::format("{}: no record in it", records));
    }
  }
  std::unique_ptr<Product> product(const Matrix& matrix) override {
    return std::make_unique<TilewrightProduct>(common_, matrix);
  }

 private:
  Common common_;
};

}  // namespace

std::unique_ptr<Engine> make_engine(const Share& share, size_t threads,
                                    const std::string& records) {
  return std::make_unique<Tilewright>(share, threads, records);
}

}  // namespace tw::gemma
