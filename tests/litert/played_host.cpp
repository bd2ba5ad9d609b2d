#include "litert/played_host.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "integrations/litert/tensors.h"
#include "reference/half_reference.h"

namespace tw::litert {

namespace {

size_t bytes_of_value(Type type) {
  return type == type_i8 ? 1 : type == type_f16 ? 2 : 4;
}

std::vector<int32_t> values(const Ints& list) {
  return {list.data, list.data + list.size};
}

bool has(const std::vector<int32_t>& list, int32_t value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

Floats* make_floats(const std::vector<float>& given) {
  auto* made = static_cast<Floats*>(std::malloc(sizeof(float) * (given.size() + 1)));
  made->size = static_cast<int32_t>(given.size());
  std::memcpy(made->data, given.data(), given.size() * sizeof(float));
  return made;
}

void set_shape(Tensor& tensor, Ints* dims) {
  std::free(tensor.dims);
  tensor.dims = dims;
  tensor.bytes = value_count(tensor) * bytes_of_value(tensor.type);
}

}  // namespace

struct Callbacks {
  static PlayedHost& host(Context* context) {
    return *static_cast<PlayedHost*>(context->implementation);
  }

  static Status plan(Context* context, Ints** out) {
    *out = host(context).plan_;
    return ok;
  }

  static Status resize(Context*, Tensor* tensor, Ints* dims) {
    set_shape(*tensor, dims);
    return ok;
  }

  __attribute__((format(printf, 2, 3))) static void report(Context* context, const char* format,
                                                           ...) {
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    host(context).messages_ += std::string(text) + "\n";
  }

  static Status node(Context* context, int32_t index, Node** node, Registration** registration) {
    auto& step = *host(context).nodes_.at(static_cast<size_t>(index));
    *node = &step.node;
    *registration = &step.registration;
    return ok;
  }

  /// Only of all nodes, which are one part; without lists that nobody asks for.
  static Status preview(Context* context, const Ints* nodes, Partition** parts, int32_t* count) {
    PlayedHost& its = host(context);
    if (nodes->size != its.plan_->size) return error;
    its.preview_outputs_.reset(make_ints(its.ends_of(values(*nodes)).outputs));
    its.preview_.outputs = its.preview_outputs_.get();
    *parts = &its.preview_;
    *count = 1;
    return ok;
  }

  /// Neighbors in the plan become one node.
  static Status replace(Context* context, Registration registration, const Ints* nodes,
                        Delegate* delegate) {
    PlayedHost& its = host(context);
    const std::vector<int32_t> plan = values(*its.plan_), replaced = values(*nodes);
    its.replaced_ += replaced.size();
    std::free(its.plan_);
    its.plan_ = make_ints({});
    std::vector<int32_t> part;
    for (const int32_t index : plan) {
      if (has(replaced, index)) {
        part.push_back(index);
        continue;
      }
      its.add_part(part, registration, delegate);
      part = {};
      its.add_to_plan(index);
    }
    its.add_part(part, registration, delegate);
    return ok;
  }
};

PlayedHost::PlayedHost(const Model& model, int threads)
    : model_(model),
      tensors_(model.tensors.size()),
      quantizations_(model.tensors.size()),
      memory_(model.tensors.size()) {
  for (size_t i = 0; i < tensors_.size(); ++i) set_tensor(i);
  plan_ = make_ints({});
  for (const ModelNode& node : model.nodes) {
    const int32_t index = add_node(node.inputs, node.outputs);
    Step& step = *nodes_.back();
    step.registration.builtin = node.builtin;
    std::visit(
        [&](const auto& options) {
          step.node.builtin = const_cast<void*>(static_cast<const void*>(&options));
        },
        node.options);
    add_to_plan(index);
  }
  context_.tensor_count = tensors_.size();
  context_.tensors = tensors_.data();
  context_.implementation = this;
  context_.threads = threads;
  context_.execution_plan = Callbacks::plan;
  context_.resize_tensor = Callbacks::resize;
  context_.report_error = Callbacks::report;
  context_.node_and_registration = Callbacks::node;
  context_.replace_nodes = Callbacks::replace;
  context_.preview = Callbacks::preview;
}

PlayedHost::~PlayedHost() {
  for (const auto& step : nodes_) {
    if (step->registration.free != nullptr)
      step->registration.free(&context_, step->node.user_data);
    for (Ints* list : step->lists) std::free(list);
  }
  for (size_t i = 0; i < tensors_.size(); ++i) {
    std::free(tensors_[i].dims);
    std::free(quantizations_[i].scale);
    std::free(quantizations_[i].zero_point);
  }
  std::free(plan_);
}

void PlayedHost::set_tensor(size_t i) {
  const ModelTensor& from = model_.tensors[i];
  Tensor& tensor = tensors_[i];
  tensor.type = from.type;
  set_shape(tensor, make_ints(from.shape));
  static int some_sparsity = 0;
  if (from.is_sparse) tensor.sparsity = &some_sparsity;
  if (!from.data.empty()) {
    tensor.allocation = allocation_read_only;
    tensor.data = const_cast<uint8_t*>(from.data.data());
  }
  if (from.scales.empty()) return;
  const std::vector<int32_t> zeros(from.zero_points.begin(), from.zero_points.end());
  quantizations_[i] = {make_floats(from.scales), make_ints(zeros), from.quantized_dimension};
  tensor.quantization = {quantization_affine, &quantizations_[i]};
}

void PlayedHost::add_to_plan(int32_t node) {
  std::vector<int32_t> plan = values(*plan_);
  plan.push_back(node);
  std::free(plan_);
  plan_ = make_ints(plan);
}

int32_t PlayedHost::add_node(const std::vector<int32_t>& inputs,
                             const std::vector<int32_t>& outputs) {
  auto step = std::make_unique<Step>();
  step->lists = {make_ints(inputs), make_ints(outputs)};
  step->node.inputs = step->lists[0];
  step->node.outputs = step->lists[1];
  nodes_.push_back(std::move(step));
  return static_cast<int32_t>(nodes_.size() - 1);
}

/// By nodes that are not among these, or by the model's user.
bool PlayedHost::is_read_elsewhere(int32_t tensor, const std::vector<int32_t>& nodes) const {
  if (has(model_.outputs, tensor)) return true;
  for (size_t i = 0; i < model_.nodes.size(); ++i) {
    if (!has(nodes, static_cast<int32_t>(i)) && has(model_.nodes[i].inputs, tensor)) return true;
  }
  return false;
}

PlayedHost::Ends PlayedHost::ends_of(const std::vector<int32_t>& nodes) const {
  Ends ends;
  for (const int32_t index : nodes) {
    const ModelNode& node = model_.nodes[static_cast<size_t>(index)];
    ends.inputs.insert(ends.inputs.end(), node.inputs.begin(), node.inputs.end());
    if (is_read_elsewhere(node.outputs[0], nodes)) ends.outputs.push_back(node.outputs[0]);
  }
  return ends;
}

void PlayedHost::add_part(const std::vector<int32_t>& nodes, const Registration& registration,
                          Delegate* delegate) {
  if (nodes.empty()) return;
  const Ends ends = ends_of(nodes);
  const int32_t index = add_node(ends.inputs, ends.outputs);
  Step& step = *nodes_.back();
  step.registration = registration;
  step.lists.push_back(make_ints(nodes));
  const Partition partition = {delegate, step.lists[2], step.lists[0], step.lists[1]};
  step.node.user_data =
      registration.init(&context_, reinterpret_cast<const char*>(&partition), sizeof partition);
  add_to_plan(index);
}

Status PlayedHost::apply(Delegate& delegate) {
  return delegate.prepare(&context_, &delegate);
}

void PlayedHost::resize_input(const std::vector<int32_t>& shape) {
  set_shape(tensors_[static_cast<size_t>(model_.inputs[0])], make_ints(shape));
}

/// Memory is for what goes in and out of nodes of the plan, and nothing else.
void PlayedHost::allocate() {
  const auto give_memory = [&](int32_t index) {
    Tensor& tensor = tensors_[static_cast<size_t>(index)];
    if (tensor.allocation == allocation_read_only) return;
    memory_[static_cast<size_t>(index)].assign(tensor.bytes, 0xa5);
    tensor.data = memory_[static_cast<size_t>(index)].data();
  };
  for (const int32_t input : model_.inputs) give_memory(input);
  for (const int32_t index : values(*plan_)) {
    for (const int32_t output : values(*nodes_[static_cast<size_t>(index)]->node.outputs)) {
      give_memory(output);
    }
  }
}

Status PlayedHost::prepare() {
  for (const int32_t index : values(*plan_)) {
    Step& step = *nodes_[static_cast<size_t>(index)];
    if (step.registration.prepare != nullptr &&
        step.registration.prepare(&context_, &step.node) != ok) {
      return error;
    }
  }
  allocate();
  return ok;
}

bool PlayedHost::has_declared_outputs() const {
  return std::all_of(model_.outputs.begin(), model_.outputs.end(), [this](int32_t output) {
    const auto i = static_cast<size_t>(output);
    return values(*tensors_[i].dims) == model_.tensors[i].shape;
  });
}

/// RELU and DEQUANTIZE; others than those are to be the delegate's.
Status PlayedHost::run_own(const Step& step) {
  const Tensor& input = tensors_[static_cast<size_t>(step.node.inputs->data[0])];
  Tensor& output = tensors_[static_cast<size_t>(step.node.outputs->data[0])];
  auto* to = static_cast<float*>(output.data);
  for (size_t i = 0; i < value_count(output); ++i) {
    if (step.registration.builtin == builtin_relu) {
      to[i] = std::max(0.0F, static_cast<const float*>(input.data)[i]);
    } else if (step.registration.builtin == builtin_dequantize) {
      to[i] = test::half_value(static_cast<const uint16_t*>(input.data)[i]);
    } else {
      messages_ += "an operation that the played host has not\n";
      return error;
    }
  }
  return ok;
}

Status PlayedHost::invoke() {
  for (const int32_t index : values(*plan_)) {
    Step& step = *nodes_[static_cast<size_t>(index)];
    const Status status = step.registration.invoke != nullptr
                              ? step.registration.invoke(&context_, &step.node)
                              : run_own(step);
    if (status != ok) return status;
  }
  return ok;
}

}  // namespace tw::litert
