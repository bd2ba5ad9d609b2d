#include "litert/models/transformer.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "litert/models/layer_models.h"

namespace tw::litert {

namespace {

int32_t head_width(const BlockShape& shape) {
  return shape.width / shape.heads;
}

float score_factor(const BlockShape& shape) {
  return 1 / std::sqrt(static_cast<float>(head_width(shape)));
}

constexpr float kLeastVariance = 1e-5F;

/// A block's nodes, one after the other; tensors by their numbers.
class BlockModel {
 public:
  explicit BlockModel(const Block& block) : block_(block), shape_(block.shape) {
    model_.inputs = {add({type_f32, {shape_.rows, shape_.width}})};
    const int32_t inputs = model_.inputs[0];
    const int32_t normed = add_norm(inputs, block.attention_gain);
    const int32_t attended = add_sum(inputs, add_layer(block.out, add_attention(normed)));
    const int32_t inner = add_layer(block.up, add_norm(attended, block.inner_gain));
    model_.outputs = {add_sum(attended, add_layer(block.down, inner))};
  }
  Model take() { return std::move(model_); }

 private:
  int32_t add(const ModelTensor& tensor) {
    model_.tensors.push_back(tensor);
    return static_cast<int32_t>(model_.tensors.size() - 1);
  }
  int32_t add_constant(const std::vector<int32_t>& values) {
    return add({type_i32,
                {static_cast<int32_t>(values.size())},
                bytes_of(type_i32, {values.begin(), values.end()})});
  }
  /// Says where its output lies.
  int32_t add_node(ModelNode node, const std::vector<int32_t>& output) {
    node.outputs = {add({type_f32, output})};
    model_.nodes.push_back(node);
    return node.outputs[0];
  }

  int32_t add_layer(const Layer& layer, int32_t input) {
    const MatrixShape rows = {{shape_.rows, static_cast<int32_t>(layer.k)}, layer.n};
    return append_behind(input, model_, fully_connected_model(layer, rows));
  }
  int32_t add_sum(int32_t a, int32_t b) {
    return add_node({builtin_add, 1, {a, b}, {}}, {shape_.rows, shape_.width});
  }
  int32_t add_mean(int32_t input) {
    const int32_t dimension = add_constant({1});
    return add_node({builtin_mean, 1, {input, dimension}, {}, MeanOptions{true}}, {shape_.rows, 1});
  }
  int32_t add_norm(int32_t input, const std::vector<float>& gain) {
    const std::vector<int32_t> whole = {shape_.rows, shape_.width}, of_rows = {shape_.rows, 1};
    const int32_t least = add({type_f32, {1}, bytes_of(type_f32, {double{kLeastVariance}})});
    const int32_t gains =
        add({type_f32, {shape_.width}, bytes_of(type_f32, {gain.begin(), gain.end()})});
    const int32_t mean = add_mean(input);
    const int32_t squares = add_node({builtin_squared_difference, 1, {input, mean}, {}}, whole);
    const int32_t variance = add_node({builtin_add, 1, {add_mean(squares), least}, {}}, of_rows);
    const int32_t factor = add_node({builtin_rsqrt, 1, {variance}, {}}, of_rows);
    const int32_t around_zero = add_node({builtin_sub, 1, {input, mean}, {}}, whole);
    const int32_t even = add_node({builtin_mul, 1, {around_zero, factor}, {}}, whole);
    return add_node({builtin_mul, 1, {even, gains}, {}}, whole);
  }
  int32_t add_reshape(int32_t input, const std::vector<int32_t>& shape) {
    const int32_t as_tensor = add_constant(shape);
    return add_node({builtin_reshape, 1, {input, as_tensor}, {}}, shape);
  }
  /// The first two dimensions of three change places.
  int32_t add_transpose(int32_t input, const std::vector<int32_t>& output) {
    const int32_t order = add_constant({1, 0, 2});
    return add_node({builtin_transpose, 1, {input, order}, {}}, output);
  }
  /// What a layer makes, each head's rows one after the other.
  int32_t add_heads(const Layer& layer, int32_t input) {
    const int32_t width = head_width(shape_);
    const int32_t rows = add_layer(layer, input);
    const int32_t split = add_reshape(rows, {shape_.rows, shape_.heads, width});
    return add_transpose(split, {shape_.heads, shape_.rows, width});
  }
  int32_t add_product(int32_t left, int32_t right, bool transposes, int32_t columns) {
    return add_node(batch_matmul_node(left, right, 0, transposes),
                    {shape_.heads, shape_.rows, columns});
  }
  int32_t add_attention(int32_t inputs) {
    const int32_t width = head_width(shape_);
    const int32_t queries = add_heads(block_.queries, inputs);
    const int32_t keys = add_heads(block_.keys, inputs);
    const int32_t values = add_heads(block_.values, inputs);
    const int32_t scores = add_product(queries, keys, true, shape_.rows);
    const int32_t shares =
        add_node({builtin_softmax, 1, {scores}, {}, SoftmaxOptions{score_factor(shape_)}},
                 {shape_.heads, shape_.rows, shape_.rows});
    const int32_t heads = add_product(shares, values, false, width);
    const int32_t joined = add_transpose(heads, {shape_.rows, shape_.heads, width});
    return add_reshape(joined, {shape_.rows, shape_.width});
  }

  const Block& block_;
  const BlockShape& shape_;
  Model model_;
};

std::vector<double> sum_of(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> sum(a.size());
  std::transform(a.begin(), a.end(), b.begin(), sum.begin(), std::plus<>());
  return sum;
}

std::vector<double> exact_norm(const std::vector<double>& inputs, const std::vector<float>& gain) {
  const size_t width = gain.size();
  std::vector<double> out(inputs.size());
  for (size_t row = 0; row < inputs.size(); row += width) {
    double mean = 0, variance = double{kLeastVariance};
    for (size_t i = 0; i < width; ++i) mean += inputs[row + i] / static_cast<double>(width);
    for (size_t i = 0; i < width; ++i) {
      variance += (inputs[row + i] - mean) * (inputs[row + i] - mean) / static_cast<double>(width);
    }
    for (size_t i = 0; i < width; ++i) {
      out[row + i] = (inputs[row + i] - mean) / std::sqrt(variance) * double{gain[i]};
    }
  }
  return out;
}

/// Of one row of one head: what begins at `query`, by all rows that begin there in keys and values.
void attend(const BlockShape& shape, const double* query, const double* keys, const double* values,
            double* out) {
  const auto rows = static_cast<size_t>(shape.rows), step = static_cast<size_t>(shape.width),
             width = static_cast<size_t>(head_width(shape));
  std::vector<double> shares(rows);
  double all = 0;
  for (size_t i = 0; i < rows; ++i) {
    double score = 0;
    for (size_t j = 0; j < width; ++j) score += query[j] * keys[i * step + j];
    shares[i] = std::exp(score * double{score_factor(shape)});
    all += shares[i];
  }
  for (size_t i = 0; i < rows; ++i) {
    for (size_t j = 0; j < width; ++j) out[j] += shares[i] / all * values[i * step + j];
  }
}

std::vector<double> exact_attention(const Block& block, const std::vector<double>& inputs) {
  const std::vector<double> queries = exact_products(block.queries, inputs),
                            keys = exact_products(block.keys, inputs),
                            values = exact_products(block.values, inputs);
  std::vector<double> out(queries.size());
  for (int32_t i = 0; i < block.shape.rows * block.shape.heads; ++i) {
    const int32_t width = head_width(block.shape), head = i % block.shape.heads * width;
    const int32_t at = i / block.shape.heads * block.shape.width + head;
    attend(block.shape, queries.data() + at, keys.data() + head, values.data() + head,
           out.data() + at);
  }
  return out;
}

}  // namespace

Block random_block(const LayerKind& kind, const BlockShape& shape, std::mt19937& random) {
  const auto make = [&](int32_t n, int32_t k, Activation activation) {
    LayerKind own = kind;
    own.activation = activation;
    Layer layer = random_layer(own, static_cast<size_t>(n), static_cast<size_t>(k), random);
    shrink_weights(layer, std::sqrt(static_cast<float>(k)));
    return layer;
  };
  Block block;
  block.shape = shape;
  for (Layer* layer : {&block.queries, &block.keys, &block.values, &block.out}) {
    *layer = make(shape.width, shape.width, activation_none);
  }
  block.up = make(shape.inner, shape.width, activation_relu);
  block.down = make(shape.width, shape.inner, activation_none);
  std::uniform_real_distribution<float> gains(0.5F, 1.5F);
  for (std::vector<float>* gain : {&block.attention_gain, &block.inner_gain}) {
    gain->resize(static_cast<size_t>(shape.width));
    for (float& of_column : *gain) of_column = gains(random);
  }
  return block;
}

Model block_model(const Block& block) {
  return BlockModel(block).take();
}

std::vector<double> exact_outputs(const Block& block, const std::vector<double>& inputs) {
  const std::vector<double> attended = sum_of(
      inputs,
      exact_products(block.out, exact_attention(block, exact_norm(inputs, block.attention_gain))));
  const std::vector<double> inner =
      exact_products(block.up, exact_norm(attended, block.inner_gain));
  return sum_of(attended, exact_products(block.down, inner));
}

}  // namespace tw::litert
