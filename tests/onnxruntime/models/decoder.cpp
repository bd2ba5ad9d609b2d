#include "onnxruntime/models/decoder.h"

#include <cmath>
#include <utility>

#include "onnxruntime/models/cases.h"

namespace tw::onnxruntime {

namespace {

constexpr char kMicrosoft[] = "com.microsoft";

class Decoder {
 public:
  Decoder(const DecoderShape& shape, std::mt19937& random) : shape_(shape), random_(random) {}

  OnnxModel make() {
    model_.inputs = {{"x", f32, {1, -1, shape_.width}}, {"last", i32, {1}}, {"total", i32, {}}};
    add_positions();
    std::string x = "x";
    for (int64_t i = 0; i < shape_.layers; ++i) x = layer(x, std::to_string(i));
    add_constant({"from", i64, {1}, bytes_of(std::vector<int64_t>{-1})});
    add_constant({"to", i64, {1}, bytes_of(std::vector<int64_t>{INT64_MAX})});
    add_constant({"axis", i64, {1}, bytes_of(std::vector<int64_t>{1})});
    const std::string last = node({"Slice", {norm(x, "last"), "from", "to", "axis"}, {}, {}, ""});
    model_.nodes.push_back(nbits(last, "logits", shape_.words, shape_.width, shape_.bits_of_words));
    model_.nodes.back().outputs = {"logits"};
    model_.outputs.insert(model_.outputs.begin(), {"logits", f32, {1, 1, shape_.words}});
    return std::move(model_);
  }

 private:
  void add_constant(Tensor tensor) { model_.constants.push_back(std::move(tensor)); }

  /// Its output, which is named by its number.
  std::string node(OnnxNode made) {
    made.outputs = {"v" + std::to_string(model_.nodes.size())};
    model_.nodes.push_back(std::move(made));
    return model_.nodes.back().outputs[0];
  }

  /// Weights whose products are as large as their inputs.
  OnnxNode nbits(const std::string& input, const std::string& name, int64_t n, int64_t k,
                 int64_t bits) {
    const auto blocks = static_cast<size_t>(k / shape_.block), columns = static_cast<size_t>(n);
    const float step = 16 / (std::sqrt(static_cast<float>(k)) * 4.6F * std::exp2(float(bits)));
    std::vector<float> scales = random_floats(columns * blocks, step / 2, random_);
    for (float& scale : scales) scale += step;
    const auto bytes = static_cast<size_t>(shape_.block * bits / 8);
    add_constant({name + ".b",
                  u8,
                  {n, k / shape_.block, shape_.block * bits / 8},
                  random_bytes(columns * blocks * bytes, random_)});
    add_constant({name + ".scales", f32, {n * k / shape_.block}, bytes_of(scales)});
    OnnxNode made{"MatMulNBits", {input, name + ".b", name + ".scales"}, {}, {}, kMicrosoft};
    if (shape_.has_zeros) {
      const size_t count = columns * ((blocks * static_cast<size_t>(bits) + 7) / 8);
      const std::vector<uint8_t> middles(count, bits == 4 ? 0x87 : 0x7f);  // 7 and 8, or 127
      add_constant({name + ".zeros", u8, {static_cast<int64_t>(count)}, middles});
      made.inputs.push_back(name + ".zeros");
    }
    made.attributes = {{"K", k},
                       {"N", n},
                       {"bits", bits},
                       {"block_size", shape_.block},
                       {"accuracy_level", shape_.accuracy}};
    return made;
  }

  std::string product(const std::string& input, const std::string& name, int64_t n, int64_t k) {
    return node(nbits(input, name, n, k, shape_.bits));
  }

  std::string norm(const std::string& input, const std::string& name) {
    const std::vector<float> ones(static_cast<size_t>(shape_.width), 1);
    add_constant({name + ".norm", f32, {shape_.width}, bytes_of(ones)});
    return node({"SimplifiedLayerNormalization",
                 {input, name + ".norm"},
                 {},
                 {{"axis", int64_t{-1}}, {"epsilon", 1e-5F}},
                 ""});
  }

  void add_positions() {
    const int64_t half = shape_.head() / 2;
    std::vector<float> cosines, sines;
    for (int64_t position = 0; position < shape_.positions; ++position) {
      for (int64_t i = 0; i < half; ++i) {
        const double angle = static_cast<double>(position) *
                             std::pow(10000, -static_cast<double>(i) / static_cast<double>(half));
        cosines.push_back(static_cast<float>(std::cos(angle)));
        sines.push_back(static_cast<float>(std::sin(angle)));
      }
    }
    add_constant({"cosines", f32, {shape_.positions, half}, bytes_of(cosines)});
    add_constant({"sines", f32, {shape_.positions, half}, bytes_of(sines)});
  }

  std::string attention(const std::string& x, const std::string& name) {
    const int64_t narrow = shape_.groups * shape_.head();
    OnnxNode made{
        "GroupQueryAttention",
        {product(x, name + ".q", shape_.width, shape_.width)},
        {},
        {{"num_heads", shape_.heads}, {"kv_num_heads", shape_.groups}, {"do_rotary", int64_t{1}}},
        kMicrosoft};
    made.inputs.push_back(product(x, name + ".k", narrow, shape_.width));
    made.inputs.push_back(product(x, name + ".v", narrow, shape_.width));
    made.outputs = {"attention." + name};
    const std::vector<int64_t> cache = {1, shape_.groups, -1, shape_.head()};
    for (const std::string part : {".key", ".value"}) {
      model_.inputs.push_back({"past." + name + part, f32, cache});
      model_.outputs.push_back({"present." + name + part, f32, cache});
      made.inputs.push_back(model_.inputs.back().name);
      made.outputs.push_back(model_.outputs.back().name);
    }
    made.inputs.insert(made.inputs.end(), {"last", "total", "cosines", "sines"});
    model_.nodes.push_back(made);
    return product(made.outputs[0], name + ".o", shape_.width, shape_.width);
  }

  std::string sum(const std::string& a, const std::string& b) {
    return node({"Add", {a, b}, {}, {}, ""});
  }
  std::string times(const std::string& a, const std::string& b) {
    return node({"Mul", {a, b}, {}, {}, ""});
  }

  std::string layer(const std::string& x, const std::string& name) {
    const std::string attended = sum(x, attention(norm(x, name + ".attention"), name));
    const std::string rows = norm(attended, name + ".inner");
    const std::string gate = product(rows, name + ".gate", shape_.inner, shape_.width);
    const std::string up = product(rows, name + ".up", shape_.inner, shape_.width);
    const std::string soft = node({"Sigmoid", {gate}, {}, {}, ""});
    const std::string silu = times(gate, soft);
    const std::string inner = times(silu, up);
    return sum(attended, product(inner, name + ".down", shape_.width, shape_.inner));
  }

  const DecoderShape shape_;
  std::mt19937& random_;
  OnnxModel model_;
};

}  // namespace

OnnxModel decoder_model(const DecoderShape& shape, std::mt19937& random) {
  return Decoder(shape, random).make();
}

}  // namespace tw::onnxruntime
