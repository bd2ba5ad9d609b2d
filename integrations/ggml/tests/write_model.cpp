// Writes a llama model of random weights that llama.cpp loads.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <system_error>

#include "random_rows.h"
#include "spec/gguf_bytes.h"

namespace tw {
namespace {

struct Shape {
  uint32_t layers;
  uint32_t width;
  uint32_t heads;
  uint32_t kv_heads;
  uint32_t feed_forward;
  uint32_t vocabulary;
  uint32_t experts = 0;  ///< two of them are used for a token
  bool tied = false;     ///< the output's weights are the tokens' embeddings
};

// The tiny ones have rows that fill no tile, and odd numbers of blocks of 32.
const std::map<std::string, Shape> shapes = {
    {"tiny", {2, 160, 5, 5, 416, 1003}},
    {"tiny-256", {2, 256, 8, 4, 512, 1003}},
    {"tiny-moe", {2, 160, 5, 1, 96, 1003, 4}},
    {"tiny-tied", {2, 160, 5, 5, 416, 1003, 0, true}},
    {"tiny-256-tied", {2, 256, 8, 4, 512, 1003, 0, true}},
    {"542m", {8, 2048, 32, 32, 5632, 32000}},
    {"438m-moe", {8, 1024, 16, 4, 1792, 32000, 8}},
    {"673m-tied", {8, 2048, 32, 32, 5632, 128000, 0, true}},
};
/// Of weights: what llama-quantize makes of the output's, and of attn_v and ffn_down in the layers
/// with has_more(), and what of the others.
struct Types {
  StoredType others;
  StoredType more = others;
};
const std::map<std::string, Types> types = {
    {"q4_0", {StoredType::q4_0}},
    {"q4_1", {StoredType::q4_1}},
    {"q5_0", {StoredType::q5_0}},
    {"q5_1", {StoredType::q5_1}},
    {"q8_0", {StoredType::q8_0}},
    {"q4_k", {StoredType::q4_k}},
    {"q5_k", {StoredType::q5_k}},
    {"q6_k", {StoredType::q6_k}},
    {"q2_k", {StoredType::q2_k}},
    {"q3_k", {StoredType::q3_k}},
    {"iq4_nl", {StoredType::iq4_nl}},
    {"iq4_xs", {StoredType::iq4_xs}},
    {"mxfp4", {StoredType::mxfp4}},
    {"nvfp4", {StoredType::nvfp4}},
    {"iq3_s", {StoredType::iq3_s}},
    {"iq3_xxs", {StoredType::iq3_xxs}},
    {"iq2_xxs", {StoredType::iq2_xxs}},
    {"iq2_xs", {StoredType::iq2_xs}},
    {"iq2_s", {StoredType::iq2_s}},
    {"iq1_s", {StoredType::iq1_s}},
    {"iq1_m", {StoredType::iq1_m}},
    {"q1_0", {StoredType::q1_0}},
    {"tq2_0", {StoredType::tq2_0}},
    {"q2_0", {StoredType::q2_0}},
    {"q4_k_m", {StoredType::q4_k, StoredType::q6_k}},
    {"q5_k_m", {StoredType::q5_k, StoredType::q6_k}},
    {"bf16", {StoredType::bf16}},
    {"f16", {StoredType::f16}},
    {"f32", {StoredType::f32}},
};

/// Those are the first and last eighth, and each third between.
bool has_more(uint32_t layer, uint32_t layers) {
  const uint32_t first = layers / 8;
  return layer < first || layer >= 7 * layers / 8 || (layer - first) % 3 == 2;
}

/// Seeds were searched with ggml's own path alone, by --seed and what `greedy` says: with these,
/// the likeliest of the first words is at least a tenth of the logits' size ahead of the next one
/// (542m and 438m: 0.03 to 0.1), where rounding int8 activations moves it by 0.01 to 0.02.
const std::map<std::string, uint64_t> seeds = {
    {"tiny q4_1", 27},        {"tiny-256 q4_k", 17},
    {"tiny q4_0", 24},        {"tiny q8_0", 7},
    {"tiny f16", 18},         {"tiny bf16", 18},
    {"tiny f32", 18},         {"tiny-moe q4_0", 17},
    {"tiny-moe q8_0", 25},    {"tiny-moe f16", 7},
    {"tiny-moe f32", 7},      {"542m q4_0", 6},
    {"542m q4_1", 11},        {"542m q4_k", 5},
    {"542m q8_0", 58},        {"542m f16", 24},
    {"tiny q5_0", 41},        {"tiny q5_1", 41},
    {"tiny-256 q4_k_m", 32},  {"tiny-256 q5_k_m", 3},
    {"tiny-tied q8_0", 40},   {"tiny-256-tied q4_k_m", 73},
    {"542m q4_k_m", 170},     {"542m q5_0", 48},
    {"542m q5_1", 22},        {"542m q5_k_m", 24},
    {"tiny iq4_nl", 6},       {"tiny mxfp4", 10},
    {"tiny-moe mxfp4", 10},   {"tiny-256 iq4_xs", 28},
    {"tiny-256 q2_k", 5},     {"tiny-256 q3_k", 17},
    {"542m mxfp4", 6},        {"542m iq4_nl", 6},
    {"542m iq4_xs", 16},      {"542m q2_k", 3},
    {"542m q3_k", 7},         {"542m q5_k", 10},
    {"542m bf16", 4},         {"438m-moe q4_k_m", 29},
    {"tiny-256 nvfp4", 26},   {"tiny-256 iq3_s", 37},
    {"tiny-256 q1_0", 27},    {"542m q1_0", 15},
    {"tiny-256 iq3_xxs", 29}, {"tiny-256 iq2_s", 8},
    {"tiny-256 iq2_xs", 13},  {"tiny-256 iq2_xxs", 33},
    {"tiny-256 iq1_m", 17},   {"tiny-256 iq1_s", 4},
    {"542m iq3_xxs", 7},      {"542m iq2_s", 7},
    {"542m iq2_xs", 7},       {"542m iq2_xxs", 6},
    {"542m iq1_m", 7},        {"542m iq1_s", 5},
};

constexpr uint32_t kFirstWord = 3 + 256;  ///< after the unknown one, begin, end, and the bytes
/// What a layer adds is smaller than what it is added to, as in trained models: else the rounding
/// of activations to int8 grows from layer to layer until it chooses the words.
constexpr float kLayerGain = 0.25F;
/// Of embeddings that are the output's weights: smaller than what layers add, else every word would
/// be followed by itself.
constexpr float kTiedSize = 0.01F;
constexpr float kFaint = 0.25F;  ///< of others' size
constexpr size_t kAlignment = 32;
constexpr size_t kChunk = size_t{1} << 20;  ///< values that are made at a time

struct Tensor {
  std::string name;
  std::vector<uint64_t> sizes;  ///< the innermost first
  StoredType type;
  float size;          ///< of its values
  uint64_t zeros = 0;  ///< rows at the beginning
  uint64_t faint = 0;  ///< rows at the beginning that are smaller than the others

  [[nodiscard]] uint64_t values() const {
    uint64_t product = 1;
    for (const uint64_t n : sizes) product *= n;
    return product;
  }
  [[nodiscard]] uint64_t stored() const {
    return (stored_bytes(type, values()) + kAlignment - 1) / kAlignment * kAlignment;
  }
};

/// Products have `gain` times the size of what is multiplied.
Tensor weight(const std::string& name, StoredType type, std::vector<uint64_t> sizes,
              float gain = 1) {
  const float size = gain / std::sqrt(static_cast<float>(sizes[0]));
  return {name + ".weight", std::move(sizes), type, size};
}

void add_feed_forward(std::vector<Tensor>& tensors, const std::string& layer, const Shape& shape,
                      StoredType type, StoredType down) {
  const uint64_t width = shape.width, inner = shape.feed_forward, experts = shape.experts;
  if (experts == 0) {
    tensors.push_back(weight(layer + "ffn_gate", type, {width, inner}));
    tensors.push_back(weight(layer + "ffn_up", type, {width, inner}));
    tensors.push_back(weight(layer + "ffn_down", down, {inner, width}, kLayerGain));
    return;
  }
  tensors.push_back(weight(layer + "ffn_gate_inp", StoredType::f32, {width, experts}));
  tensors.push_back(weight(layer + "ffn_gate_exps", type, {width, inner, experts}));
  tensors.push_back(weight(layer + "ffn_up_exps", type, {width, inner, experts}));
  tensors.push_back(weight(layer + "ffn_down_exps", down, {inner, width, experts}, kLayerGain));
}

std::vector<Tensor> tensors_of(const Shape& shape, const Types& of) {
  const StoredType type = of.others;
  const uint64_t width = shape.width;
  const uint64_t kv = width / shape.heads * shape.kv_heads;
  const auto norm = [&](const std::string& name) {
    return Tensor{name + ".weight", {width}, StoredType::f32, 1};
  };
  // A token that is no word never wins, so that the text shows which ones did.
  Tensor tokens = {"token_embd.weight", {width, shape.vocabulary}, type, 0.5F};
  Tensor output = weight("output", of.more, {width, shape.vocabulary});
  if (shape.tied) {
    tokens.type = of.more;
    tokens.size = kTiedSize;
    tokens.faint = kFirstWord;
  }
  output.zeros = kFirstWord;
  std::vector<Tensor> tensors = {tokens, norm("output_norm")};
  if (!shape.tied) tensors.push_back(output);
  for (uint32_t i = 0; i < shape.layers; ++i) {
    const std::string layer = "blk." + std::to_string(i) + ".";
    const StoredType more = has_more(i, shape.layers) ? of.more : type;
    tensors.push_back(norm(layer + "attn_norm"));
    tensors.push_back(weight(layer + "attn_q", type, {width, width}));
    tensors.push_back(weight(layer + "attn_k", type, {width, kv}));
    tensors.push_back(weight(layer + "attn_v", more, {width, kv}));
    tensors.push_back(weight(layer + "attn_output", type, {width, width}, kLayerGain));
    tensors.push_back(norm(layer + "ffn_norm"));
    add_feed_forward(tensors, layer, shape, type, more);
  }
  return tensors;
}

/// " aaab": the word with this number.
std::string word(uint32_t number) {
  std::string letters(4, 'a');
  for (auto letter = letters.rbegin(); letter != letters.rend(); ++letter, number /= 26)
    *letter = static_cast<char>('a' + number % 26);
  return "\u2581" + letters;
}

/// How llama.cpp's SentencePiece vocabularies mark their tokens.
enum TokenType : uint64_t { kNormal = 1, kUnknown = 2, kControl = 3, kByte = 6 };

void add_vocabulary(GgufBytes& file, uint32_t size) {
  std::vector<std::string> tokens = {"<unk>", "<s>", "</s>"};
  std::vector<uint64_t> token_types = {kUnknown, kControl, kControl};
  for (int byte = 0; byte < 256; ++byte) {
    char text[8];
    std::snprintf(text, sizeof text, "<0x%02X>", byte);
    tokens.emplace_back(text);
    token_types.push_back(kByte);
  }
  for (uint32_t i = kFirstWord; i < size; ++i) {
    tokens.push_back(word(i - kFirstWord));
    token_types.push_back(kNormal);
  }
  file.text_pair("tokenizer.ggml.model", "llama")
      .texts_pair("tokenizer.ggml.tokens", tokens)
      .array_pair("tokenizer.ggml.scores", 6, size, size_t{size} * 4)
      .numbers_pair("tokenizer.ggml.token_type", token_types);
}

std::string header(const std::string& name, const Shape& shape,
                   const std::vector<Tensor>& tensors) {
  GgufBytes file;
  const bool mixture = shape.experts > 0;
  file.counts(tensors.size(), mixture ? 17 : 15)
      .text_pair("general.architecture", "llama")
      .text_pair("general.name", "random " + name)
      .number_pair("llama.vocab_size", shape.vocabulary)
      .number_pair("llama.context_length", 4096)
      .number_pair("llama.embedding_length", shape.width)
      .number_pair("llama.block_count", shape.layers)
      .number_pair("llama.feed_forward_length", shape.feed_forward)
      .number_pair("llama.attention.head_count", shape.heads)
      .number_pair("llama.attention.head_count_kv", shape.kv_heads)
      .number_pair("llama.rope.dimension_count", shape.width / shape.heads)
      .float_pair("llama.attention.layer_norm_rms_epsilon", 1e-5F);
  if (mixture) {
    file.number_pair("llama.expert_count", shape.experts).number_pair("llama.expert_used_count", 2);
  }
  add_vocabulary(file, shape.vocabulary);
  uint64_t offset = 0;
  for (const Tensor& tensor : tensors) {
    file.tensor(tensor.name, tensor.sizes, static_cast<uint32_t>(tensor.type), offset);
    offset += tensor.stored();
  }
  return file.values(0).bytes();
}

class NewFile {
 public:
  explicit NewFile(std::string path)
      : path_(std::move(path)),
        temporary_(path_ + "." + std::to_string(getpid()) + ".new"),
        file_(std::fopen(temporary_.c_str(), "wb")) {
    if (file_ == nullptr) fail();
  }
  ~NewFile() {
    if (file_ != nullptr) std::fclose(file_);
    unlink(temporary_.c_str());
  }
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  void write(const void* bytes, size_t size) {
    if (std::fwrite(bytes, 1, size, file_) != size) fail();
  }
  /// The file has its name from here on.
  void keep() {
    if (std::fflush(file_) != 0 || fsync(fileno(file_)) != 0 ||
        std::rename(temporary_.c_str(), path_.c_str()) != 0) {
      fail();
    }
  }

 private:
  [[noreturn]] void fail() const {
    throw std::system_error(errno, std::generic_category(), "cannot write " + path_);
  }
  std::string path_;
  std::string temporary_;
  FILE* file_;
};

/// Into the chunk that begins with them.
void write_faint(const Tensor& tensor, RandomRows& random, std::vector<uint8_t>& chunk) {
  std::vector<uint8_t> rows(stored_bytes(tensor.type, tensor.faint * tensor.sizes[0]));
  random.fill(tensor.type, tensor.size * kFaint, rows);
  std::copy_n(rows.begin(), std::min(rows.size(), chunk.size()), chunk.begin());
}

void write_values(NewFile& file, const Tensor& tensor, RandomRows& random) {
  std::vector<uint8_t> chunk;
  const size_t zeros = stored_bytes(tensor.type, tensor.zeros * tensor.sizes[0]);
  size_t done = 0;
  for (uint64_t left = tensor.values(); left > 0; left -= std::min<uint64_t>(left, kChunk)) {
    chunk.resize(stored_bytes(tensor.type, std::min<uint64_t>(left, kChunk)));
    if (tensor.sizes.size() == 1) {  // a norm's gains
      std::vector<float> gains(tensor.sizes[0], tensor.size);
      std::memcpy(chunk.data(), gains.data(), chunk.size());
    } else {
      random.fill(tensor.type, tensor.size, chunk);
    }
    if (done == 0 && tensor.faint != 0) write_faint(tensor, random, chunk);
    if (done < zeros) std::fill_n(chunk.begin(), std::min(zeros - done, chunk.size()), uint8_t{0});
    file.write(chunk.data(), chunk.size());
    done += chunk.size();
  }
  const std::vector<uint8_t> padding(tensor.stored() - done);
  file.write(padding.data(), padding.size());
}

uint64_t seed_of(const std::string& name, const std::string& type_name) {
  const auto seed = seeds.find(name + " " + type_name);
  return seed != seeds.end() ? seed->second : 1;
}

void write_model(const std::string& name, const std::string& type_name, uint64_t seed,
                 const std::string& path) {
  const Shape& shape = shapes.at(name);
  const std::vector<Tensor> tensors = tensors_of(shape, types.at(type_name));
  NewFile file(path);
  const std::string head = header(name, shape, tensors);
  file.write(head.data(), head.size());
  RandomRows random(seed);
  for (const Tensor& tensor : tensors) write_values(file, tensor, random);
  file.keep();
}

}  // namespace
}  // namespace tw

int main(int argc, char** argv) {
  CLI::App app{"Writes a llama model of random weights.", "write_model"};
  std::string shape, type, file;
  std::optional<uint64_t> seed;
  app.add_option("shape", shape,
                 "tiny, tiny-256 (for types of super-blocks) or 542m; tiny-moe and 438m-moe, of "
                 "experts; tiny-tied, tiny-256-tied and 673m-tied, which multiply by the tokens' "
                 "embeddings at the end")
      ->required()
      ->check(CLI::IsMember(tw::shapes));
  app.add_option("type", type,
                 "of its weights: q4_0, q4_1, q5_0, q5_1, q8_0, q4_k, q5_k, q6_k, q2_k, q3_k, "
                 "iq4_nl, iq4_xs, iq3_s, iq3_xxs, iq2_s, iq2_xs, iq2_xxs, iq1_m, iq1_s, mxfp4, "
                 "nvfp4, tq2_0, q2_0, q1_0, bf16, f16, f32, or "
                 "llama-quantize's mixtures q4_k_m and q5_k_m")
      ->required()
      ->check(CLI::IsMember(tw::types));
  app.add_option("file", file, "the GGUF file")->required();
  app.add_option("--seed", seed, "of its random numbers; without it one whose words are not even");
  app.footer("Example: write_model tiny q4_0 tiny.gguf");
  CLI11_PARSE(app, argc, argv);
  try {
    tw::write_model(shape, type, seed.value_or(tw::seed_of(shape, type)), file);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
