// A forward pass of Gemma 2B with random weights, timed as MediaPipe's benchmark times its own:
// prompts, of which nothing is kept but the caches, and tokens. Prints lines like "prompt-64
// 280.1", tokens per second, after a check of one layer against double precision.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <exception>
#include <map>

#include "gemma2b/forward.h"
#include "gemma2b/reference.h"
#include "measure/machine.h"
#include "measure/team.h"

/// What counts instructions finds its address by its name.
extern "C" [[gnu::noinline]] void tw_gemma_part() {
  asm volatile("" ::: "memory");
}

namespace tw::gemma {
namespace {

struct Options {
  Scheme scheme = Scheme::int8;
  std::vector<size_t> prompts = {64, 512, 1024};
  size_t decode = 16, threads = 1;
  std::string records;
  size_t layers = 0;  ///< 0: the model's
  bool is_tiny = false, by_parts = false;
};

Sizes sizes_of(const Options& options) {
  Sizes sizes = options.is_tiny ? kTiny : kGemma2b;
  if (options.layers != 0) sizes.layers = options.layers;
  return sizes;
}

/// Behind the shortest prompt.
size_t positions_of(const Options& options) {
  return *std::max_element(options.prompts.begin(), options.prompts.end()) + options.decode;
}

std::vector<size_t> tokens_of(const Sizes& sizes, size_t count) {
  std::vector<size_t> tokens(count);
  for (size_t i = 0; i < count; ++i) tokens[i] = (7919 * i + 13) % sizes.vocabulary;
  return tokens;
}

/// Quantizing activations to 8 bits, three times in a layer, costs about a hundredth.
void check_layer(const Sizes& sizes, Scheme scheme, Gemma& gemma) {
  constexpr double kMost = 0.03;
  const std::vector<float> before = gemma.embed(tokens_of(sizes, 3));
  std::vector<float> rows = before;
  gemma.layer(0, 0, rows);
  std::vector<double> added;
  for (size_t i = 0; i < rows.size(); ++i) {
    added.push_back(static_cast<double>(rows[i]) - static_cast<double>(before[i]));
  }
  const double error = relative_error(layer_reference(sizes, scheme, before), added);
  fmt::print("error {:.4f}\n", error);
  if (!(error < kMost)) {
    throw std::runtime_error(fmt::format(
        "what layer 0 adds differs from double precision by {} of its size; at most {} is due to "
        "8 bits of activations",
        error, kMost));
  }
}

/// After a prompt that does not count: the first one meets memory that nobody has touched.
void measure_prompts(const Options& options, const Sizes& sizes, Gemma& gemma) {
  gemma.read(tokens_of(sizes, options.prompts.front()));
  for (const size_t count : options.prompts) {
    const std::vector<size_t> tokens = tokens_of(sizes, count);
    const double start = measure::now();
    gemma.read(tokens);
    fmt::print("prompt-{} {:.2f}\n", count, static_cast<double>(count) / (measure::now() - start));
  }
}

void measure_decoding(const Options& options, const Sizes& sizes, Gemma& gemma) {
  const size_t depth = *std::min_element(options.prompts.begin(), options.prompts.end());
  gemma.read(tokens_of(sizes, depth));
  size_t token = gemma.next(1, depth);  // the first one meets cold code
  const double start = measure::now();
  for (size_t i = 1; i < options.decode; ++i) token = gemma.next(token, depth + i);
  const double seconds = measure::now() - start;
  fmt::print("decode {:.2f}\n", static_cast<double>(options.decode - 1) / seconds);
}

/// Whose instructions scripts/gemma2b counts, each once between calls of tw_gemma_part(): the first
/// prompt in a whole layer, and in the last one; a token in a layer, and in all and the words.
void run_parts(const Options& options, const Sizes& sizes, Gemma& gemma) {
  const size_t count = options.prompts.front();
  std::vector<float> rows = gemma.embed(tokens_of(sizes, count));
  tw_gemma_part();
  gemma.layer(0, 0, rows);
  tw_gemma_part();
  gemma.layer(0, 0, rows, false);
  tw_gemma_part();
  std::vector<float> row = gemma.embed({1});
  gemma.layer(0, count, row);
  tw_gemma_part();
  gemma.next(1, count);
  tw_gemma_part();
}

void run(const Options& options) {
  const std::vector<int> cores = measure::allowed_cores();
  const size_t helpers = std::min(options.threads, cores.size()) - 1;
  const auto last = cores.begin() + 1 + static_cast<ptrdiff_t>(helpers);
  measure::Team team(std::vector<int>(cores.begin() + 1, last));
  const Share share = [&](size_t count, const std::function<void(size_t)>& work) {
    if (count == 1) {
      work(0);
    } else if (count != 0) {
      team.share(count, work);
    }
  };
  const Sizes sizes = sizes_of(options);
  const auto engine = make_engine(share, helpers + 1, options.records);
  Gemma gemma(sizes, options.scheme, positions_of(options), *engine, share, helpers + 1);
  if (options.by_parts) return run_parts(options, sizes, gemma);
  check_layer(sizes, options.scheme, gemma);
  measure_prompts(options, sizes, gemma);
  measure_decoding(options, sizes, gemma);
}

}  // namespace
}  // namespace tw::gemma

int main(int argc, char** argv) {
  using tw::gemma::Scheme;
  tw::gemma::Options options;
  CLI::App app{"A forward pass of Gemma 2B with random weights: tokens per second."};
  const std::map<std::string, Scheme> schemes = {{"int8", Scheme::int8}, {"mixed", Scheme::mixed}};
  app.add_option("--weights", options.scheme,
                 "int8: all per channel; mixed: feed-forward and words of 4 bits")
      ->transform(CLI::CheckedTransformer(schemes));
  app.add_option("--prompt", options.prompts, "tokens of prompts")
      ->delimiter(',')
      ->check(CLI::Range(2, 8192))
      ->capture_default_str();
  app.add_option("--decode", options.decode, "tokens behind the shortest prompt")
      ->check(CLI::Range(2, 1024))
      ->capture_default_str();
  app.add_option("--threads", options.threads, "at most as many as cores")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  app.add_option("--records", options.records, "measurements that kernels are chosen by");
  app.add_option("--layers", options.layers, "only so many of them")->check(CLI::Range(1, 18));
  app.add_flag("--tiny", options.is_tiny, "a model of two small layers");
  app.add_flag("--parts", options.by_parts, "each part once, untimed: to count its instructions");
  app.footer("Example: gemma2b --weights mixed --prompt 64,512 --threads 2");
  CLI11_PARSE(app, argc, argv);
  try {
    tw::gemma::run(options);
  } catch (const std::exception& error) {
    fmt::print(stderr, "gemma2b: {}\n", error.what());
    return 1;
  }
  return 0;
}
