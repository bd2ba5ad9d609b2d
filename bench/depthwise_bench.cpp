// Depthwise convolutions against what binds them: multiplying, loading from the first cache, or
// reading images from memory and writing them there; all measured in the same run.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "benches.h"
#include "measure/limited_race.h"
#include "measure/planned_matmul.h"
#include "tilewright/depthwise.h"

namespace tw::bench {
namespace {

struct Layer {
  size_t pixels, channels, stride, taps;  ///< pixels: height and width; taps: of a line
  [[nodiscard]] size_t outputs() const { return (pixels - 1) / stride + 1; }
  [[nodiscard]] double macs() const {
    return static_cast<double>(outputs() * outputs() * channels * taps * taps);
  }
};
/// MobileNet's, and what larger windows cost.
constexpr Layer layers[] = {{112, 32, 1, 3}, {112, 64, 2, 3}, {56, 128, 1, 3}, {28, 256, 1, 3},
                            {14, 512, 1, 3}, {7, 1024, 1, 3}, {28, 240, 1, 5}, {28, 240, 2, 5}};

struct Family {
  const char* name;
  size_t bytes;  ///< of a value
};
constexpr Family families[] = {{"dwconv_clamp_f32_f32_f32p", 4},
                               {"dwconv_clamp_f16_f16_f16p", 2},
                               {"dwconv_clamp_qai8_qai8_qsi8cxp", 1}};

struct Destroy {
  void operator()(tw_depthwise_plan* plan) const { tw_depthwise_destroy(plan); }
};

/// A plan, its weights, and images that take turns.
class Convolution {
 public:
  Convolution(const Session& session, const Family& family, const Layer& layer, size_t images)
      : family_(family), layer_(layer), images_(images) {
    make_plan(session);
    pack();
    const size_t pixels = layer.pixels * layer.pixels, outputs = layer.outputs() * layer.outputs();
    input_.resize(images * pixels * row_bytes());
    output_.resize(images * outputs * row_bytes());
    pad_.resize(row_bytes());
    table_.resize(images * tw_depthwise_pointers(plan_.get()));
    for (size_t i = 0; i < images; ++i) {
      require(tw_depthwise_table(plan_.get(), input_.data() + i * pixels * row_bytes(), pad_.data(),
                                 table(i), tw_depthwise_pointers(plan_.get())),
              "table");
    }
  }

  void run() {
    const size_t outputs = layer_.outputs() * layer_.outputs();
    next_ = (next_ + 1) % images_;
    auto run = tilewright::sized<tw_run_args>();
    run.m = outputs;
    run.rhs = weights_.data();
    run.rhs_bytes = weights_.size();
    run.dst = output_.data() + next_ * outputs * row_bytes();
    run.dst_bytes = outputs * row_bytes();
    run.dst_stride = row_bytes();
    auto args = tilewright::sized<tw_depthwise_args>();
    args.table = table(next_);
    args.table_count = tw_depthwise_pointers(plan_.get());
    args.run = &run;
    for (size_t line = 0; line < layer_.outputs(); ++line) {
      require(tw_depthwise_run(plan_.get(), &args, line), "line");
    }
  }

  [[nodiscard]] const tw_depthwise_kernel& row() const { return *tw_depthwise_chosen(plan_.get()); }

  /// Multiply-accumulates of a vector for each load of its kernel: of pixels, weights, pointers.
  [[nodiscard]] double macs_per_load() const {
    const tw_depthwise_kernel& it = row();
    const size_t lanes = it.kernel.rhs->panel, vectors = it.kernel.tile_n / lanes;
    const size_t pixels = it.height * ((it.kernel.tile_m - 1) * it.stride + it.width);
    const size_t taps = it.height * it.width;
    return static_cast<double>(it.kernel.tile_m * it.kernel.tile_n * taps) /
           static_cast<double>(vectors * (pixels + taps) + pixels);
  }

  /// The larger of what an image has in front of it and behind it.
  [[nodiscard]] size_t image_bytes() const {
    return std::max(input_.size(), output_.size()) / images_;
  }

 private:
  [[nodiscard]] size_t row_bytes() const { return layer_.channels * family_.bytes; }
  const void** table(size_t image) {
    return table_.data() + image * tw_depthwise_pointers(plan_.get());
  }

  void make_plan(const Session& session) {
    auto convolution = tilewright::sized<tw_convolution>();
    convolution.height = convolution.width = layer_.pixels;
    convolution.pixel_bytes = row_bytes();
    convolution.kernel_height = convolution.kernel_width = layer_.taps;
    convolution.stride_height = convolution.stride_width = layer_.stride;
    convolution.top = convolution.bottom = convolution.left = convolution.right = layer_.taps / 2;
    auto depthwise = tilewright::sized<tw_depthwise>();
    depthwise.family = family_.name;
    depthwise.channels = layer_.channels;
    depthwise.convolution = &convolution;
    tw_depthwise_plan* plan = nullptr;
    require(tw_depthwise_create(&session.device, &depthwise, &plan), "plan");
    plan_.reset(plan);
  }

  void pack() {
    const size_t values = layer_.taps * layer_.taps * layer_.channels;
    const std::vector<std::byte> zeros(values * family_.bytes);
    const std::vector<float> scales(layer_.channels, 1);
    auto source = tilewright::sized<tw_rhs_source>();
    source.order = TW_KXN;
    source.data = zeros.data();
    source.data_bytes = zeros.size();
    source.stride = row_bytes();
    if (family_.bytes == 1) {
      source.scales = scales.data();
      source.scale_count = scales.size();
      source.lhs_scale = source.dst_scale = 1;
    }
    weights_.resize(tw_depthwise_weight_bytes(plan_.get()));
    require(tw_depthwise_pack(plan_.get(), &source, weights_.data(), weights_.size()), "weights");
  }

  const Family& family_;
  const Layer& layer_;
  size_t images_, next_ = 0;
  std::unique_ptr<tw_depthwise_plan, Destroy> plan_;
  std::vector<std::byte> weights_, input_, output_, pad_;
  std::vector<const void*> table_;
};

/// Loads of whole vectors from the first cache, by each loop that reads.
std::vector<Contender> cached_loads(const Memory& memory) {
  constexpr size_t bytes = 16384, times = 64;
#if defined(__x86_64__)
  constexpr double vector = 64;
#else
  constexpr double vector = 16;
#endif
  std::vector<Contender> all;
  for (const ReadLoop* loop = read_loops(); loop->name != nullptr; ++loop) {
    all.push_back({[&memory, run = loop->run] {
                     for (size_t i = 0; i < times; ++i) {
                       volatile long sink = run(memory.data(), bytes);
                       (void)sink;
                     }
                   },
                   static_cast<double>(bytes * times) / vector});
  }
  return all;
}

void run_layer(benchmark::State& state, const Session& session, const Family& family,
               const Layer& layer) {
  const size_t image = layer.pixels * layer.pixels * layer.channels * family.bytes;
  Convolution hot(session, family, layer, 1);
  Convolution streamed(session, family, layer, session.rotate_bytes / 4 / image + 1);
  const Memory small(size_t{1} << 21);
  std::vector<Contender> contenders = {{[&] { hot.run(); }, layer.macs()},
                                       {[&] { streamed.run(); }, layer.macs()}};
  const std::vector<Contender> reads = cached_loads(small);
  contenders.insert(contenders.end(), reads.begin(), reads.end());
  LimitedRace race(contenders, session.effort, session.limits, hot.row().kernel, nullptr);
  for (auto _ : state) state.SetIterationTime(race.round());
  double rate = 0;
  for (size_t i = 0; i < reads.size(); ++i) rate = std::max(rate, race.samples(2 + i).best_rate());
  const double loads = rate * hot.macs_per_load();
  const double compute = family.bytes == 1 ? 0 : race.limit(1, 1);  // of floats
  const double in_cache = compute > 0 ? std::min(compute, loads) : loads;
  const double memory =
      session.limits.memcpy_gbs / static_cast<double>(hot.image_bytes()) * layer.macs();
  state.SetLabel(fmt::format("{}|{}|{}|{}|{}|{} x {} {}", family.name, layer.pixels, layer.channels,
                             layer.taps, layer.stride, hot.row().kernel.tile_m,
                             hot.row().kernel.tile_n, hot.row().kernel.isa));
  state.counters["hot"] = race.samples(0).best_rate();
  state.counters["hot_limit"] = in_cache;
  state.counters["hot_share"] = 100 * race.samples(0).best_rate() / in_cache;
  state.counters["streamed"] = race.samples(1).best_rate();
  state.counters["limit"] = std::min(in_cache, memory);
  state.counters["share"] = 100 * race.samples(1).best_rate() / std::min(in_cache, memory);
}

}  // namespace

void register_depthwise(const Session& session) {
  for (const Family& family : families) {
    for (const Layer& layer : layers) {
      benchmark::RegisterBenchmark(
          fmt::format("depthwise/{}/{}x{}", family.name, layer.pixels, layer.channels).c_str(),
          [&session, &family, &layer](benchmark::State& state) {
            run_layer(state, session, family, layer);
          })
          ->UseManualTime()
          ->Iterations(session.effort.rounds);
    }
  }
}

Table depthwise_table() {
  return {"depthwise",
          "Depthwise convolutions, GMAC/s. Hot: one image; its limit: multiplying, or loads of "
          "pixels, weights and\npointers from the first cache. Streamed: images from memory and "
          "back; the limit may be memcpy of one.",
          {{"family", "", 31},
           {"pixels", "", 6},
           {"channels", "", 8},
           {"taps", "", 4},
           {"stride", "", 6},
           {"kernel", "", 16},
           {"hot", "hot"},
           {"limit", "hot_limit"},
           {"share", "hot_share", 6, 1, "%"},
           {"streamed", "streamed"},
           {"limit", "limit"},
           {"share", "share", 6, 1, "%"}}};
}

}  // namespace tw::bench
