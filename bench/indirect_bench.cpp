// Convolutions against plain products of the same m, n and k: what gathering rows costs.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "benches.h"
#include "measure/limited_race.h"
#include "measure/planned_matmul.h"
#include "tilewright/convolution.h"

namespace tw::bench {
namespace {

constexpr size_t side = 3;  // of the kernel, with padding 1: as many outputs as inputs

struct Layer {
  size_t pixels, channels, outputs;  ///< pixels: height and width
  [[nodiscard]] size_t m() const { return pixels * pixels; }
  [[nodiscard]] size_t k() const { return side * side * channels; }
  [[nodiscard]] size_t values() const { return m() * channels; }
};
constexpr Layer layers[] = {{56, 64, 64}, {28, 128, 128}, {14, 256, 256}, {7, 512, 512}};

struct Family {
  const char* name;
  tw_type rows, dst;
  bool quantizes;  ///< the image, before it is gathered; plain rows each by itself
};
constexpr Family families[] = {
    {"matmul_clamp_qai8_qai8p_qsi8cxp", TW_S8, TW_S8, false},
    {"matmul_clamp_f32_qai8dxp_qsi8cxp", TW_S8, TW_F32, true},
    {"matmul_clamp_f32_f32_f32p", TW_F32, TW_F32, false},
    {"matmul_clamp_f32_f32_f16p", TW_F32, TW_F32, false},
};

size_t bytes_of(tw_type type) {
  return type == TW_S8 ? 1 : sizeof(float);
}

/// What is multiplied: rows as they lie, or a table of them.
struct Rows {
  tw_lhs_source source = tilewright::sized<tw_lhs_source>();
  tw_indirect indirect = tilewright::sized<tw_indirect>();
  bool gathered = false;
};

/// A plan, its packed weights and its buffers.
class Product {
 public:
  Product(const Session& session, const Family& family, const Layer& layer, tw_type rows,
          size_t taps, const Weights& weights)
      : plan_(session.device, description(family, layer, rows, taps)),
        m_(layer.m()),
        dst_type_(family.dst),
        weights_(plan_.get(), weights, 0, family.dst),
        lhs_(plan_.lhs_bytes(m_)),
        scratch_(plan_.scratch_bytes(m_)),
        dst_(m_ * layer.outputs * bytes_of(family.dst)) {}

  static tw_matmul description(const Family& family, const Layer& layer, tw_type rows,
                               size_t taps) {
    auto made = tilewright::sized<tw_matmul>();
    made.family = family.name;
    made.n = layer.outputs;
    made.k = layer.k();
    made.taps = taps;
    made.lhs_type = rows;
    made.dst_type = family.dst;
    return made;
  }

  void run(const Rows& rows) {
    tw_lhs_source source = rows.source;
    if (rows.gathered) {
      source.indirect = &rows.indirect;
      source.scratch = scratch_.data();
      source.scratch_bytes = scratch_.size();
    }
    for (size_t s = 0, count = plan_.lhs_slices(m_); s < count; ++s) {
      plan_.pack_lhs(m_, source, lhs_.data(), lhs_.size(), s);
    }
    auto args = tilewright::sized<tw_run_args>();
    args.m = m_;
    const bool packed = !lhs_.empty();
    args.lhs = packed ? lhs_.data() : source.data;
    args.lhs_bytes = packed ? lhs_.size() : source.data_bytes;
    args.lhs_stride = packed ? 0 : source.stride;
    args.indirect = source.indirect;
    args.scratch = source.scratch;
    args.scratch_bytes = source.scratch_bytes;
    args.rhs = weights_.next();
    args.rhs_bytes = weights_.bytes();
    args.dst = dst_.data();
    args.dst_bytes = dst_.size();
    args.dst_stride = dst_.size() / m_;
    args.dst_zero_point = dst_type_ == TW_S8 ? -5 : 0;
    for (size_t s = 0, count = plan_.run_slices(m_); s < count; ++s) plan_.run(args, s);
  }
  [[nodiscard]] const std::vector<std::byte>& outputs() const { return dst_; }
  [[nodiscard]] std::vector<tw_segment> segments() const { return plan_.segments(m_); }

 private:
  tilewright::Plan plan_;
  size_t m_;
  tw_type dst_type_;
  PackedWeights weights_;
  std::vector<std::byte> lhs_, scratch_, dst_;
};

/// An image as floats and as codes, and its rows, gathered and as a table.
class Image {
 public:
  Image(const Layer& layer, tw_type type)
      : layer_(layer), type_(type), floats_(random_values(layer.values())), codes_(layer.values()) {
    quantize();
    const size_t length = layer.channels * bytes_of(type);
    pad_.assign(length, static_cast<std::byte>(type == TW_S8 ? zero_point_ : 0));
    auto convolution = tilewright::sized<tw_convolution>();
    convolution.height = convolution.width = layer.pixels;
    convolution.pixel_bytes = length;
    convolution.kernel_height = convolution.kernel_width = side;
    convolution.top = convolution.bottom = convolution.left = convolution.right = 1;
    table_.resize(layer.m() * side * side);
    const void* first = type == TW_S8 ? static_cast<const void*>(codes_.data()) : floats_.data();
    require(
        tw_convolution_rows(&convolution, 0, first, pad_.data(), 1, table_.data(), table_.size()),
        "table of the convolution");
    for (const void* tap : table_) {
      const auto* from = static_cast<const std::byte*>(tap);
      rows_.insert(rows_.end(), from, from + length);
    }
  }

  void quantize() {
    float lowest = 0, highest = 0;
    require(tw_find_range(TW_F32, floats_.data(), floats_.size(), &lowest, &highest), "range");
    require(tw_quantize(TW_F32, floats_.data(), floats_.size(), lowest, highest, codes_.data(),
                        &scale_, &zero_point_),
            "quantizing");
  }

  [[nodiscard]] Rows gathered() const {
    Rows rows = plain();
    rows.gathered = true;
    rows.indirect.rows = table_.data();
    rows.indirect.row_count = table_.size();
    rows.indirect.tile = 1;
    rows.indirect.pad = pad_.data();
    return rows;
  }
  [[nodiscard]] Rows plain() const {
    Rows rows;
    rows.source.data = rows_.data();
    rows.source.data_bytes = rows_.size();
    rows.source.stride = layer_.k() * bytes_of(type_);
    rows.source.zero_point = zero_point_;
    rows.source.scale = scale_;
    return rows;
  }

 private:
  const Layer& layer_;
  tw_type type_;
  std::vector<float> floats_;
  std::vector<int8_t> codes_;
  float scale_ = 1;
  int32_t zero_point_ = 0;
  std::vector<std::byte> pad_, rows_;
  std::vector<const void*> table_;
};

void run_layer(benchmark::State& state, const Session& session, const Family& family,
               const Layer& layer) {
  const tilewright::Plan probe(session.device, Product::description(family, layer, family.rows, 0));
  const Weights weights =
      random_weights(layer.outputs, layer.k(), *tw_plan_rhs_layout(probe.get()));
  Product indirect(session, family, layer, family.rows, side * side, weights);
  Product same(session, family, layer, family.rows, 0, weights);
  Image image(layer, family.rows);
  const Rows gathered = image.gathered(), lying = image.plain();
  indirect.run(gathered);
  same.run(lying);
  if (indirect.outputs() != same.outputs()) fail("gathered rows make other outputs");

  // Where rows are quantized, plain ones are so each by itself.
  const tw_type plain_type = family.quantizes ? TW_F32 : family.rows;
  Product plain(session, family, layer, plain_type, 0, weights);
  const Image floats(layer, plain_type);
  const Rows plain_rows = floats.plain();
  const double macs = static_cast<double>(layer.m() * layer.outputs) * layer.k();
  LimitedRace race({{[&] {
                       if (family.quantizes) image.quantize();
                       indirect.run(gathered);
                     },
                     macs},
                    {[&] { plain.run(plain_rows); }, macs}},
                   session.effort, session.limits, *indirect.segments()[0].kernel, nullptr);
  for (auto _ : state) state.SetIterationTime(race.round());
  const double best = race.samples(0).best_rate();
  state.SetLabel(fmt::format("{}|{}|{}|{}|{}", family.name, layer.m(), layer.outputs, layer.k(),
                             short_names(indirect.segments())));
  state.counters["indirect"] = best;
  state.counters["plain"] = race.samples(1).best_rate();
  state.counters["ratio"] = 100 * race.ratio(0, 1);
  const double limit = race.limit(static_cast<double>(layer.m()), 1);
  if (limit > 0) {
    state.counters["limit"] = limit;
    state.counters["share"] = 100 * best / limit;
  }
}

}  // namespace

void register_convolutions(const Session& session) {
  for (const Family& family : families) {
    for (const Layer& layer : layers) {
      benchmark::RegisterBenchmark(
          fmt::format("convolution/{}/m:{}", family.name, layer.m()).c_str(),
          [&session, &family, &layer](benchmark::State& state) {
            run_layer(state, session, family, layer);
          })
          ->UseManualTime()
          ->Iterations(session.effort.rounds);
    }
  }
}

Table convolution_table() {
  return {"convolution",
          "Convolutions, 3 x 3, rows gathered and packed each time, and plain products of the same "
          "M, N and K, packed\neach time; GMAC/s, weights in cache. i/p: median of the rounds' "
          "ratios. Dynamic int8: an image is quantized\nonce, plain rows of f32 each by itself.",
          {{"family", "", 33},
           {"M", "", 5},
           {"N", "", 4},
           {"K", "", 5},
           {"kernels", "", 36},
           {"indirect", "indirect"},
           {"plain", "plain"},
           {"i/p", "ratio", 6, 1, "%"},
           {"limit", "limit"},
           {"share", "share", 6, 1, "%"}}};
}

}  // namespace tw::bench
