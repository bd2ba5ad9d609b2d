// tilewright_bench: how fast the kernels are on this machine, as shares of what the machine can do.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <exception>

#include "benches.h"
#include "spec/workload_reader.h"
#include "tuner/program/cores.h"

namespace tw::bench {
namespace {

struct Options {
  std::string workload;
  std::string family = "matmul_clamp_f32_qai8dxp_qsi4cxp";
  KernelRequest kernel;
  size_t threads = 1;
  bool all_kernels = false, packers = false, convolutions = false, depthwise = false,
       attention = false;
  bool appends = false, gated = false, quick = false;
  std::string filter = ".", json;
  std::vector<std::string> records;
};

constexpr const char* examples = R"(
Examples:
  tilewright_bench                                       the layers of gemma2b, then their packers
  tilewright_bench --quick --workload my_model.yaml
  tilewright_bench --family matmul_clamp_f32_qai8dxp_qsi8cxp
  tilewright_bench --threads 2 --filter workload         of all threads together, limits too
  tilewright_bench --all-kernels --isa avx512_vnni       every row, assembly against intrinsics
  tilewright_bench --kernel NAME --m 4 --n 16384 --prefetch 8192
  tilewright_bench --records quick.jsonl --records exhaustive.jsonl     what tuning is worth
)";

void add_options(CLI::App& app, Options& o) {
  app.add_option("--workload", o.workload, "YAML file with a model's layers")
      ->default_val(TILEWRIGHT_SOURCE_DIR "/specs/workloads/gemma2b.yaml");
  app.add_option("--family", o.family, "kernels for all of the workload's layers")
      ->default_val(o.family);
  auto* one = app.add_option("--kernel", o.kernel.kernel, "only this registry row, by name");
  auto* all = app.add_flag("--all-kernels", o.all_kernels, "every registry row of this CPU");
  one->excludes(all);
  app.add_option("--isa", o.kernel.isa, "with --all-kernels: only rows of this ISA");
  app.add_option("--m", o.kernel.m, "with kernels: rows (default: the tile's; 128 when hot)");
  app.add_option("--n", o.kernel.n, "with kernels: columns")->default_val(o.kernel.n);
  app.add_option("--k", o.kernel.k, "with kernels: depth, even")->default_val(o.kernel.k);
  app.add_option("--prefetch", o.kernel.rhs_prefetch,
                 "with kernels: prefetch distance in bytes, 0: none (default: the plan's)");
  app.add_flag("--packers", o.packers, "only the packers, of all families");
  app.add_flag("--convolutions", o.convolutions, "only convolutions, against plain products");
  app.add_flag("--depthwise", o.depthwise, "only depthwise convolutions");
  app.add_flag("--attention", o.attention, "only attention");
  app.add_flag("--appends", o.appends, "only positions appended to packed keys and values");
  app.add_flag("--gated", o.gated, "only gate and up in one call, against two");
  app.add_option(
         "--records", o.records,
         "instead: the whole workload as chosen by the cost model and by each of these files")
      ->type_name("FILE");
  auto* threads = app.add_option("--threads", o.threads,
                                 "that share a layer, each on a core of its own (default: 1)")
                      ->check(CLI::PositiveNumber);
  for (const char* alone : {"--kernel", "--all-kernels", "--packers", "--convolutions",
                            "--depthwise", "--attention", "--appends", "--gated", "--records"}) {
    threads->excludes(app.get_option(alone));
  }
  app.add_flag("--quick", o.quick, "fewer and shorter rounds");
  app.add_option("--filter", o.filter, "only benchmarks whose name matches (regular expression)");
  app.add_option("--json", o.json, "also write Google Benchmark's JSON to this file");
  app.footer(examples);
}

/// Helpers beside the thread that measures, which settles on the last core that it may use.
std::unique_ptr<Team> team_of(size_t threads) {
  if (threads == 1) return nullptr;
  auto device = tilewright::sized<tw_device>();
  if (tw_device_detect(&device) != TW_OK) fail(tw_error_message());
  const std::vector<int> allowed = allowed_cores();
  return std::make_unique<Team>(tuner::helpers_of(device, allowed, allowed.back(), threads));
}

void run_registered(const Options& options) {
  std::vector<std::string> arguments = {"tilewright_bench", "--benchmark_filter=" + options.filter};
  if (!options.json.empty()) {
    arguments.push_back("--benchmark_out=" + options.json);
    arguments.emplace_back("--benchmark_out_format=json");
  }
  std::vector<char*> argv;
  for (std::string& a : arguments) argv.push_back(a.data());
  int argc = static_cast<int>(argv.size());
  benchmark::Initialize(&argc, argv.data());
  TableReporter reporter({workload_table(), kernel_table(), packer_table(), convolution_table(),
                          depthwise_table(), attention_table(), append_table(), gated_table()});
  const size_t count = benchmark::RunSpecifiedBenchmarks(&reporter);
  benchmark::Shutdown();
  if (count == 0) fail(fmt::format("no benchmark's name matches '{}'", options.filter));
}

int run(int argc, char** argv) {
  CLI::App app("How fast the kernels are on this machine, on one core unless said otherwise.",
               "tilewright_bench");
  Options options;
  add_options(app, options);
  CLI11_PARSE(app, argc, argv);
  const bool kernels = options.all_kernels || !options.kernel.kernel.empty();
  // Everything that can be refused is refused before the measuring starts.
  const Workload workload = read_workload(options.workload);
  Session session;
  session.family = options.family;
  session.team = team_of(options.threads);  // before this thread settles on its own core
  start_session(session, options.quick);
  if (!options.records.empty()) {
    compare_records(session, workload, options.records);
    return 0;
  }
  if (options.convolutions) {
    register_convolutions(session);
  } else if (options.depthwise) {
    register_depthwise(session);
  } else if (options.attention) {
    register_attention(session);
  } else if (options.appends) {
    register_appends(session);
  } else if (options.gated) {
    register_gated(session);
  } else if (kernels) {
    register_kernels(session, options.kernel);
  } else {
    if (!options.packers) register_workload(session, workload);
    register_packers(session, options.packers ? "" : options.family);
  }
  measure_machine(session, options.quick);
  run_registered(options);
  return 0;
}

}  // namespace
}  // namespace tw::bench

int main(int argc, char** argv) {
  try {
    return tw::bench::run(argc, argv);
  } catch (const std::exception& error) {
    std::fflush(stdout);
    fmt::print(stderr, "tilewright_bench: {}\n", error.what());
    return 1;
  }
}
