#include "integrations/onnxruntime/compute.h"

#include <algorithm>
#include <utility>

#include "integrations/common/own_team.h"

namespace tw::onnxruntime {

namespace {

std::optional<size_t> place_of(const std::string& name, const std::vector<std::string>& inputs) {
  if (name.empty()) return {};
  const auto found = std::ranges::find(inputs, name);
  require(found != inputs.end(), "an input that the node that was made of ours has not");
  return static_cast<size_t>(found - inputs.begin());
}

struct Body {
  void (*body)(void*);
  void* data;
};

/// The session's threads: each call of the body takes slices until none is left, so that it does
/// not matter how many there are. One that the runtime refuses to share is this thread's alone.
void run_on_session(const Api& api, const KernelContext* context, int count, Body body) {
  const auto call = [](void* data, size_t) {
    const auto& its = *static_cast<const Body*>(data);
    its.body(its.data);
  };
  Status* failed = api.parallel_for(context, call, static_cast<size_t>(count), 0, &body);
  if (failed == nullptr) return;
  api.release_status(failed);
  body.body(body.data);
}

Status* begin_state(NodeCompute*, ComputeContext*, void** state) {
  *state = nullptr;  // nothing outlives a call
  return nullptr;
}

Status* run_node(NodeCompute* node, void*, KernelContext* context) {
  auto& its = *static_cast<Compute*>(node);
  return guarded(its.api(), [&] { its.run(context); });
}

void end_state(NodeCompute*, void*) {}

/// A pool's memory for the time of a call.
class Lent {
 public:
  explicit Lent(MemoryPool& pool) : pool_(pool), memory_(pool.take()) {}
  ~Lent() { pool_.put_back(std::move(memory_)); }
  Lent(const Lent&) = delete;
  Lent& operator=(const Lent&) = delete;
  CallMemory* operator->() { return memory_.get(); }

 private:
  MemoryPool& pool_;
  std::unique_ptr<CallMemory> memory_;
};

}  // namespace

std::unique_ptr<CallMemory> MemoryPool::take() {
  const std::lock_guard lock(mutex_);
  if (idle_.empty()) {
    idle_.reserve(idle_.capacity() + 1);  // so that putting back cannot fail
    return std::make_unique<CallMemory>();
  }
  std::unique_ptr<CallMemory> memory = std::move(idle_.back());
  idle_.pop_back();
  return memory;
}

void MemoryPool::put_back(std::unique_ptr<CallMemory> memory) {
  const std::lock_guard lock(mutex_);
  idle_.push_back(std::move(memory));
}

Compute::Compute(const Api& api, Layer layer, std::shared_ptr<const PackedWeights> weights,
                 const std::vector<std::string>& inputs, const Settings& settings,
                 MemoryPool& memory)
    : NodeCompute{interface_version, begin_state, run_node, end_state},
      api_(api),
      layer_(std::move(layer)),
      weights_(std::move(weights)),
      settings_(settings),
      memory_(memory) {
  at_.input = place_of(layer_.input, inputs);
  at_.bias = place_of(layer_.bias_input, inputs);
  if (layer_.scale) at_.scale = place_of(layer_.scale->input, inputs);
  if (layer_.zero) at_.zero = place_of(layer_.zero->input, inputs);
}

const Value* Compute::value(const KernelContext* context, size_t input) const {
  const Value* found = nullptr;
  check(api_, api_.input(context, input, &found));
  require(found != nullptr, "an input that is not there");
  return found;
}

const void* Compute::data(const KernelContext* context, size_t input) const {
  const void* found = nullptr;
  check(api_, api_.data(value(context, input), &found));
  return found;
}

float Compute::number(const KernelContext* context, const Number& number,
                      const std::optional<size_t>& place) const {
  if (!place) return number.value;
  const Shape shape = shape_of(api_, value(context, *place));
  require(std::ranges::all_of(shape.extents, [](int64_t extent) { return extent == 1; }),
          "other than one number for all activations");
  const void* at = data(context, *place);
  if (shape.type == type_f32) return *static_cast<const float*>(at);
  return shape.type == type_u8 ? *static_cast<const uint8_t*>(at) : *static_cast<const int8_t*>(at);
}

Threads Compute::threads(const KernelContext* context) const {
  if (settings_.threads != 0) return {settings_.threads};
  return {available_cores(), [this, context](int count, void (*body)(void*), void* data) {
            run_on_session(api_, context, count, {body, data});
          }};
}

void Compute::run(KernelContext* context) {
  Addresses at = {};
  at.shape = shape_of(api_, value(context, *at_.input)).extents;
  at.input = data(context, *at_.input);
  const std::vector<int64_t> shape = output_shape(layer_, at.shape);
  Value* output = nullptr;
  check(api_, api_.output(context, 0, shape.data(), shape.size(), &output));
  check(api_, api_.mutable_data(output, &at.output));
  if (at_.bias) at.bias = static_cast<const float*>(data(context, *at_.bias));
  if (layer_.scale) at.scale = number(context, *layer_.scale, at_.scale);
  if (layer_.zero) at.zero = static_cast<int32_t>(number(context, *layer_.zero, at_.zero));
  Lent memory(memory_);
  run_layer(layer_, *weights_, at, threads(context), memory->inputs, memory->packed);
}

}  // namespace tw::onnxruntime
