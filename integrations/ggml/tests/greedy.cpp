// greedy THREADS BATCH mmap|read FILE...: models continue a prompt by the most likely tokens, in
// turns; the first of several is then loaded again and must say the same as before. llama.cpp's own
// programs lose the end of their text now and then, and have one model at a time. On stderr: how
// even the first one's two likeliest words were at most, in parts of the logits' size.
#include <llama.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

constexpr int kTokens = 12;
const std::string kPrompt = "Once upon a time there was a matrix of more rows than columns";

struct Options {
  int threads;
  uint32_t batch;  ///< the most tokens that are multiplied at once
  llama_load_mode load;
};

class Writer {
 public:
  Writer(const std::string& file, const Options& options)
      : model_(nullptr, llama_model_free), context_(nullptr, llama_free) {
    llama_model_params model = llama_model_default_params();
    model.load_mode = options.load;
    model_.reset(llama_model_load_from_file(file.c_str(), model));
    if (model_ == nullptr) throw std::runtime_error("cannot load " + file);
    llama_context_params context = llama_context_default_params();
    context.n_ctx = 256;
    context.n_batch = context.n_ubatch = options.batch;
    context.n_threads = context.n_threads_batch = options.threads;
    context_.reset(llama_init_from_model(model_.get(), context));
    if (context_ == nullptr) throw std::runtime_error("no context for " + file);
    read_prompt();
  }

  /// Writes the most likely token.
  void step() {
    const float* logits = llama_get_logits_ith(context_.get(), -1);
    const float* end = logits + llama_vocab_n_tokens(vocabulary());
    const float* largest = std::max_element(logits, end);
    auto next = static_cast<llama_token>(largest - logits);
    margin_ = std::min(margin_, margin(logits, largest, end));
    char piece[64];
    const int32_t length = llama_token_to_piece(vocabulary(), next, piece, sizeof piece, 0, true);
    text_.append(piece, static_cast<size_t>(std::max(length, 0)));
    decode(&next, 1);
  }
  [[nodiscard]] const std::string& text() const { return text_; }
  /// The smallest one of its steps.
  [[nodiscard]] double margin() const { return margin_; }

 private:
  /// From the largest to the next, in parts of all logits' root mean square.
  static double margin(const float* logits, const float* largest, const float* end) {
    float next = -std::numeric_limits<float>::infinity();
    double squares = 0;
    for (const float* logit = logits; logit != end; ++logit) {
      if (logit != largest) next = std::max(next, *logit);
      squares += static_cast<double>(*logit) * *logit;
    }
    return (*largest - next) / std::sqrt(squares / static_cast<double>(end - logits));
  }
  [[nodiscard]] const llama_vocab* vocabulary() const {
    return llama_model_get_vocab(model_.get());
  }
  void read_prompt() {
    std::vector<llama_token> tokens(4 * kPrompt.size());
    const int32_t count =
        llama_tokenize(vocabulary(), kPrompt.data(), static_cast<int32_t>(kPrompt.size()),
                       tokens.data(), static_cast<int32_t>(tokens.size()), true, false);
    if (count <= 0) throw std::runtime_error("llama_tokenize");
    const auto batch = static_cast<int32_t>(llama_n_batch(context_.get()));
    for (int32_t at = 0; at < count; at += batch)
      decode(tokens.data() + at, std::min(batch, count - at));
  }
  void decode(llama_token* tokens, int32_t count) {
    if (llama_decode(context_.get(), llama_batch_get_one(tokens, count)) != 0)
      throw std::runtime_error("llama_decode");
  }

  std::unique_ptr<llama_model, decltype(&llama_model_free)> model_;
  std::unique_ptr<llama_context, decltype(&llama_free)> context_;
  std::string text_;
  double margin_ = std::numeric_limits<double>::infinity();
};

void write(const std::vector<std::string>& files, const Options& options) {
  std::vector<std::unique_ptr<Writer>> writers;
  for (const std::string& file : files) writers.push_back(std::make_unique<Writer>(file, options));
  for (int i = 0; i < kTokens; ++i)
    for (const auto& writer : writers) writer->step();
  for (const auto& writer : writers) std::printf("%s\n", writer->text().c_str());
  std::fprintf(stderr, "smallest margin: %.3f\n", writers[0]->margin());
  if (files.size() == 1) return;
  const std::string first = writers[0]->text();
  writers[0].reset();
  writers[1]->step();
  writers[0] = std::make_unique<Writer>(files[0], options);
  for (int i = 0; i < kTokens; ++i) {
    writers[0]->step();
    writers[1]->step();
  }
  std::printf("%s\n", writers[1]->text().c_str());
  if (writers[0]->text() != first)
    throw std::runtime_error(files[0] + " loaded again says" + writers[0]->text());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) {
    std::fprintf(stderr, "greedy THREADS BATCH mmap|read FILE...\n");
    return 2;
  }
  ggml_backend_load_all();
  llama_backend_init();
  const Options options = {
      std::atoi(argv[1]), static_cast<uint32_t>(std::atoi(argv[2])),
      std::string(argv[3]) == "read" ? LLAMA_LOAD_MODE_NONE : LLAMA_LOAD_MODE_MMAP};
  try {
    write({argv + 4, argv + argc}, options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  llama_backend_free();
  return 0;
}
