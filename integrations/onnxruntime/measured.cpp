#include "integrations/onnxruntime/measured.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "integrations/common/message.h"
#include "integrations/common/other_weights.h"
#include "integrations/onnxruntime/one_node.h"
#include "integrations/onnxruntime/operation.h"

namespace tw::onnxruntime {

namespace {

using Extents = std::vector<int64_t>;

/// All that times depend on.
std::string kind_of(const NodeFacts& node) {
  std::string kind = node.operation;
  for (const Operand& input : node.inputs) {
    kind +=
        fmt::format(";{}{}", input.is_there() ? input.type : -1, input.is_constant() ? "c" : "");
    for (const int64_t extent : input.shape) kind += fmt::format(",{}", extent);
  }
  for (const auto& [name, value] : node.integers) kind += fmt::format(";{}={}", name, value);
  for (const auto& [name, values] : node.lists) {
    kind += fmt::format(";{}=", name);
    for (const int64_t value : values) kind += fmt::format("{},", value);
  }
  return kind;
}

/// Shapes of the first input to measure with.
std::vector<Extents> shapes_of(const Operand& input, const Layer& layer) {
  Extents shape = input.shape;
  const bool is_open = !input.has_shape || std::ranges::count(shape, -1) != 0;
  if (!is_open) return {shape};
  if (layer.window) {
    require(input.has_shape && std::count(shape.begin() + 1, shape.end(), -1) == 0,
            "images of a size that is not known cannot be measured");
    shape[0] = 1;
    return {shape};
  }
  if (!input.has_shape) shape = {-1, -1};
  shape.back() = static_cast<int64_t>(layer.values);
  const auto last_open = std::find(shape.rbegin(), shape.rend(), -1);
  const std::ptrdiff_t place = shape.rend() - last_open - 1;
  std::ranges::replace(shape, -1, 1);
  std::vector<Extents> shapes;
  for (const int64_t rows : {1, 128}) {
    shape[static_cast<size_t>(place)] = rows;
    shapes.push_back(shape);
  }
  return shapes;
}

/// The layer with inputs that mean nothing, on one thread.
class OurNode {
 public:
  OurNode(const Layer& layer, const Extents& shape, std::shared_ptr<const PackedWeights> weights)
      : layer_(layer), weights_(std::move(weights)), bias_(layer.n, 1.0F) {
    const size_t count = value_count(shape);
    input_.resize(count * size_of(layer.input_type));
    fill(input_.data(), layer.input_type, count);
    const Extents out = output_shape(layer, shape);
    output_.resize(value_count(out) * (layer.has_codes_out ? 1 : sizeof(float)));
    at_ = {input_.data(), shape, output_.data(), nullptr, 1, 1};
    if (!layer.bias_input.empty()) at_.bias = bias_.data();
    if (layer.scale && layer.scale->input.empty()) at_.scale = layer.scale->value;
    if (layer.zero && layer.zero->input.empty()) at_.zero = static_cast<int32_t>(layer.zero->value);
  }
  void run() { run_layer(layer_, *weights_, at_, {1}, inputs_, scratch_); }

 private:
  const Layer& layer_;
  const std::shared_ptr<const PackedWeights> weights_;
  std::vector<uint8_t> input_, output_;
  std::vector<float> bias_;
  Addresses at_;
  Scratch inputs_, scratch_;
};

template <class Node>
double seconds_of(Node& node) {
  const auto start = std::chrono::steady_clock::now();
  node.run();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// What a session costs without the node: its input is its output.
NodeFacts nothing(const NodeFacts& node) {
  NodeFacts facts;
  facts.operation = "Identity";
  facts.inputs = {node.inputs[0]};
  facts.outputs = {node.inputs[0]};
  facts.outputs[0].name = "nothing";
  return facts;
}

/// The best of some rounds, in which both take turns.
bool is_ours_with(const Api& api, const NodeFacts& facts, const Extents& shape, OurNode ours) {
  constexpr int kRounds = 5;
  constexpr double kNoise = 1.03, kLeast = 1e-6, kMicroseconds = 1e6;
  OneNode theirs(api, facts, shape), session(api, nothing(facts), shape);
  ours.run();
  theirs.run();
  session.run();
  OtherWeights others;
  // The weights of many rows are in the caches for all but the first.
  const bool is_one_row = value_count(shape) == static_cast<size_t>(shape.back());
  double our_best = HUGE_VAL, their_best = HUGE_VAL, session_best = HUGE_VAL;
  for (int round = 0; round < kRounds; ++round) {
    if (is_one_row) others.read();
    our_best = std::min(our_best, seconds_of(ours));
    if (is_one_row) others.read();
    their_best = std::min(their_best, seconds_of(theirs));
    if (is_one_row) others.read();
    session_best = std::min(session_best, seconds_of(session));
  }
  their_best -= std::min(their_best, session_best);
  if (is_set("TILEWRIGHT_LOG", "1")) {
    message("{} of {}: measured {:.3f} us, the runtime {:.3f} us", facts.operation,
            fmt::join(shape, " x "), our_best * kMicroseconds, their_best * kMicroseconds);
  }
  return our_best <= their_best * kNoise + kLeast;
}

}  // namespace

bool Measured::is_ours(const Api& api, const NodeFacts& node, const Layer& layer) {
  const std::string kind = kind_of(node);
  if (const auto found = known_.find(kind); found != known_.end()) return found->second;
  const std::vector<Extents> shapes = shapes_of(node.inputs[0], layer);
  const auto weights = make_weights(layer, 1);
  try {
    return known_[kind] = std::ranges::all_of(shapes, [&](const Extents& shape) {
             return is_ours_with(api, node, shape, {layer, shape, weights});
           });
  } catch (const HostFailed& failed) {
    throw Refused(fmt::format("the runtime does not run it alone ({})", failed.what()));
  }
}

}  // namespace tw::onnxruntime
