// onednn_bench: our products and oneDNN's, of the same numbers and shapes, on one thread, in
// interleaved rounds, weights from memory.
#include <omp.h>

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <exception>
#include <string_view>

#include "measure/limited_race.h"
#include "session.h"
#include "theirs.h"

namespace tw::bench {
namespace {

struct Comparison {
  const char* name;
  const char* family;         ///< ours
  std::vector<Types> theirs;  ///< of the same weights
};

const std::vector<Comparison> comparisons = {
    {"int8", "matmul_clamp_f32_qai8dxp_qsi8cxp", {Types::u8_by_s8, Types::s8_by_s8}},
    {"bf16", "matmul_clamp_f32_bf16p_bf16p", {Types::bf16}},
    {"f32", "matmul_clamp_f32_f32_f32p", {Types::f32}}};

struct Shape {
  size_t n, k;
};

struct Options {
  std::vector<size_t> rows = {1, 4, 16, 128, 512};
  std::vector<std::string> types;
  size_t n = 0, k = 0;
  bool quick = false;
};

const char* name(Types types) {
  switch (types) {
    case Types::u8_by_s8:
      return "u8s8";
    case Types::s8_by_s8:
      return "s8s8";
    case Types::bf16:
      return "bf16";
    case Types::f32:
      break;
  }
  return "f32";
}

/// Null: this CPU has no kernel of the family.
const tw_kernel* first_kernel(const Session& session, std::string_view family) {
  std::vector<const tw_kernel*> rows(tw_list_kernels(&session.device, nullptr, 0));
  tw_list_kernels(&session.device, rows.data(), rows.size());
  const auto row = std::find_if(rows.begin(), rows.end(),
                                [&](const tw_kernel* it) { return it->family == family; });
  return row == rows.end() ? nullptr : *row;
}

void print_row(const std::vector<std::string>& cells) {
  constexpr size_t widths[] = {5, 6, 6, 4, 9, 7, 5, 9, 7, 7, 0};
  std::string line;
  for (size_t i = 0; i < cells.size(); ++i) line += fmt::format("{:<{}} ", cells[i], widths[i]);
  fmt::print("{}\n", line);
  std::fflush(stdout);
}

/// Of m rows; a line for each of the library's ways to have such weights.
void compare(const Session& session, const Comparison& types, const Weights& weights,
             PlannedMatmul& ours, const dnnl::engine& engine, size_t m) {
  const auto activations = std::make_shared<Activations>(m, weights);
  ours.prepare(activations);
  std::vector<std::unique_ptr<Theirs>> theirs;
  std::vector<Contender> contenders = {{[&] { ours.run(); }, ours.macs()}};
  for (const Types type : types.theirs) {
    Theirs& it = *theirs.emplace_back(
        std::make_unique<Theirs>(engine, type, weights, *activations, session.rotate_bytes));
    it.check();
    contenders.push_back({[&it] { it.run(); }, ours.macs()});
  }
  const tw_kernel& kernel = *ours.segments(m)[0].kernel;
  LimitedRace race(std::move(contenders), session.effort, session.limits, kernel,
                   &ours.rhs_memory());
  for (int i = 0; i < session.effort.rounds; ++i) race.round();
  ours.spoil_output();
  ours.run();
  ours.check();
  const double limit = race.limit(static_cast<double>(m), bytes_per_weight(kernel));
  const auto share = [&](double rate) {
    return limit > 0 ? fmt::format("{:.0f}%", 100 * rate / limit) : "-";
  };
  for (size_t i = 0; i < theirs.size(); ++i) {
    const double rate = race.samples(i + 1).best_rate();
    print_row({types.name, std::to_string(weights.n), std::to_string(weights.k), std::to_string(m),
               fmt::format("{:.1f}", race.samples(0).best_rate()),
               share(race.samples(0).best_rate()), name(types.theirs[i]),
               fmt::format("{:.1f}", rate), share(rate),
               fmt::format("{:.2f}", race.ratio(0, i + 1)),
               fmt::format("{} | {}", short_name(kernel), theirs[i]->implementation())});
  }
}

void compare_all(const Session& session, const Options& options) {
  const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  std::vector<Shape> shapes = {{16384, 2048}, {2048, 16384}, {256, 2048}};
  if (options.n != 0) shapes = {{options.n, options.k}};
  for (const Comparison& types : comparisons) {
    const auto& wanted = options.types;
    if (!wanted.empty() && std::find(wanted.begin(), wanted.end(), types.name) == wanted.end()) {
      continue;
    }
    const tw_kernel* const row = first_kernel(session, types.family);
    if (row == nullptr) {
      fmt::print("{}: left out, we have no kernel for this CPU\n", types.name);
      continue;
    }
    for (const Shape& shape : shapes) {
      const Weights weights = random_weights(shape.n, shape.k, *row->rhs);
      MatmulOptions how;
      how.family = types.family;
      how.rotate_bytes = session.rotate_bytes;
      PlannedMatmul ours(session.device, weights, how);
      for (const size_t m : options.rows) compare(session, types, weights, ours, engine, m);
    }
  }
}

int run(int argc, char** argv) {
  CLI::App app("Our products beside oneDNN's, on one core of this machine.", "onednn_bench");
  Options options;
  app.add_option("--m", options.rows, "rows of activations")->delimiter(',');
  app.add_option("--types", options.types, "only these of int8, bf16 and f32")
      ->delimiter(',')
      ->check(CLI::IsMember({"int8", "bf16", "f32"}));
  auto* n = app.add_option("--n", options.n, "only this shape: columns");
  auto* k = app.add_option("--k", options.k, "and depth, even");
  n->needs(k);
  k->needs(n);
  app.add_flag("--quick", options.quick, "fewer and shorter rounds");
  CLI11_PARSE(app, argc, argv);
  omp_set_num_threads(1);
  Session session;
  start_session(session, options.quick);
  measure_machine(session, options.quick);
  const dnnl_version_t& version = *dnnl_version();
  fmt::print(
      "\nProducts with weights from memory, GMAC/s of the best rounds, beside oneDNN {}.{}.{}, "
      "whose weights are\npacked as it likes them for each M. ratio: median of the rounds' ours / "
      "theirs. Of int8 it converts bare\nsums to f32, we apply zero points, scales, bias and "
      "limits, too.\n",
      version.major, version.minor, version.patch);
  print_row(
      {"type", "N", "K", "M", "ours", "share", "", "oneDNN", "share", "ratio", "ours | oneDNN's"});
  compare_all(session, options);
  return 0;
}

}  // namespace
}  // namespace tw::bench

int main(int argc, char** argv) {
  try {
    return tw::bench::run(argc, argv);
  } catch (const std::exception& error) {
    std::fflush(stdout);
    fmt::print(stderr, "onednn_bench: {}\n", error.what());
    return 1;
  }
}
