// speed THREADS PROMPT TOKENS ROUNDS FILE: tokens a second of a prompt of so many tokens and of so
// many that follow one by one, the best of so many rounds. llama-bench does more, but there is none
// for node-llama-cpp.
#include <llama.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

struct Speed {
  double prompt = 0, decode = 0;
};

void decode(llama_context* context, std::vector<llama_token> tokens) {
  const auto count = static_cast<int32_t>(tokens.size());
  if (llama_decode(context, llama_batch_get_one(tokens.data(), count)) != 0)
    throw std::runtime_error("llama_decode");
  llama_synchronize(context);
}

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

Speed measure(llama_context* context, int32_t vocabulary, int prompt, int tokens) {
  llama_memory_clear(llama_get_memory(context), true);
  const auto token = [&](int i) { return static_cast<llama_token>((i * 7919 + 13) % vocabulary); };
  std::vector<llama_token> first;
  for (int i = 0; i < prompt; ++i) first.push_back(token(i));
  auto start = Clock::now();
  decode(context, first);
  const double prompt_seconds = seconds_since(start);
  start = Clock::now();
  for (int i = 0; i < tokens; ++i) decode(context, {token(i)});
  return {prompt / prompt_seconds, tokens / seconds_since(start)};
}

void run(int threads, int prompt, int tokens, int rounds, const char* file) {
  const std::unique_ptr<llama_model, decltype(&llama_model_free)> model(
      llama_model_load_from_file(file, llama_model_default_params()), llama_model_free);
  if (model == nullptr) throw std::runtime_error(std::string("cannot load ") + file);
  llama_context_params params = llama_context_default_params();
  params.n_ctx = static_cast<uint32_t>(std::max(256, prompt + tokens));
  params.n_threads = params.n_threads_batch = threads;
  const std::unique_ptr<llama_context, decltype(&llama_free)> context(
      llama_init_from_model(model.get(), params), llama_free);
  if (context == nullptr) throw std::runtime_error("no context");
  const int32_t vocabulary = llama_vocab_n_tokens(llama_model_get_vocab(model.get()));
  Speed best;
  for (int i = 0; i < rounds; ++i) {
    const Speed speed = measure(context.get(), vocabulary, prompt, tokens);
    best.prompt = std::max(best.prompt, speed.prompt);
    best.decode = std::max(best.decode, speed.decode);
  }
  std::printf("%d threads: prompt %.1f t/s, decode %.1f t/s\n", threads, best.prompt, best.decode);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 6) {
    std::fprintf(stderr, "speed THREADS PROMPT TOKENS ROUNDS FILE\n");
    return 2;
  }
  ggml_backend_load_all();
  llama_backend_init();
  try {
    run(std::atoi(argv[1]), std::atoi(argv[2]), std::atoi(argv[3]), std::atoi(argv[4]), argv[5]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  llama_backend_free();
  return 0;
}
