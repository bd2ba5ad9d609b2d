#include "onnxruntime/played_host.h"

#include <algorithm>
#include <atomic>
#include <future>
#include <map>
#include <stdexcept>
#include <thread>

#include "integrations/onnxruntime/plugin.h"

namespace tw::onnxruntime {

// ---- the runtime's own, which the provider knows by their addresses only ----

struct Status {
  std::string message;
};
struct ShapeInfo {
  int32_t type;
  std::vector<int64_t> extents;
};
struct TypeInfo {
  ShapeInfo shape;
};
struct Value {
  ShapeInfo shape;
  std::vector<uint8_t> bytes;
};
struct ValueInfo {
  std::string name;
  TypeInfo type;
  const Value* constant;
};
struct Attribute {
  std::variant<int64_t, float, std::vector<int64_t>> value;
};
struct Node {
  std::string operation, maker;
  std::vector<const ValueInfo*> inputs, outputs;
  std::map<std::string, Attribute> attributes;
};
struct Graph {
  std::vector<const Node*> nodes;
};
struct GraphSupport {
  std::vector<const Node*> claimed;
  bool drops_constants = false;
};
struct KernelContext {
  std::vector<const Value*> inputs;
  Value output;
  int threads;
};
struct HardwareDevice {
  int32_t kind;
};
struct ProviderDevice {
  const HardwareDevice* device;
};
struct KeyValuePairs {
  std::vector<const char*> keys, values;
};
struct SessionOptions {
  const PlayedOptions& played;
};

namespace {

// ---- its interface ----

Status* create_status(int32_t, const char* message) {
  return new Status{message};
}
const char* message_of_status(const Status* status) {
  return status->message.c_str();
}
void release_status(Status* status) {
  delete status;
}

template <class Element>
Status* copy_out(const std::vector<Element>& from, Element* out, size_t count) {
  if (count != from.size()) return new Status{"another count"};
  std::copy(from.begin(), from.end(), out);
  return nullptr;
}

void add_shapes(Api& api) {
  api.element_type = [](const ShapeInfo* info, int32_t* out) -> Status* {
    *out = info->type;
    return nullptr;
  };
  api.rank = [](const ShapeInfo* info, size_t* out) -> Status* {
    *out = info->extents.size();
    return nullptr;
  };
  api.extents = [](const ShapeInfo* info, int64_t* out, size_t count) {
    return copy_out(info->extents, out, count);
  };
  api.shape_of = [](const Value* value, ShapeInfo** out) -> Status* {
    *out = new ShapeInfo(value->shape);
    return nullptr;
  };
  api.release_shape = [](ShapeInfo* shape) { delete shape; };
  api.tensor_info = [](const TypeInfo* type, const ShapeInfo** out) -> Status* {
    *out = &type->shape;
    return nullptr;
  };
}

void add_values(Api& api) {
  api.mutable_data = [](Value* value, void** out) -> Status* {
    *out = value->bytes.data();
    return nullptr;
  };
  api.data = [](const Value* value, const void** out) -> Status* {
    *out = value->bytes.data();
    return nullptr;
  };
  api.name_of_value = [](const ValueInfo* info, const char** out) -> Status* {
    *out = info->name.c_str();
    return nullptr;
  };
  api.type_of_value = [](const ValueInfo* info, const TypeInfo** out) -> Status* {
    *out = &info->type;
    return nullptr;
  };
  api.is_constant = [](const ValueInfo* info, bool* out) -> Status* {
    *out = info->constant != nullptr;
    return nullptr;
  };
  api.initializer = [](const ValueInfo* info, const Value** out) -> Status* {
    *out = info->constant;
    return nullptr;
  };
}

void add_nodes(Api& api) {
  api.node_count = [](const Graph* graph, size_t* out) -> Status* {
    *out = graph->nodes.size();
    return nullptr;
  };
  api.nodes = [](const Graph* graph, const Node** out, size_t count) {
    return copy_out(graph->nodes, out, count);
  };
  api.name_of_node = [](const Node*, const char** out) -> Status* {
    *out = "n0";
    return nullptr;
  };
  api.operator_of_node = [](const Node* node, const char** out) -> Status* {
    *out = node->operation.c_str();
    return nullptr;
  };
  api.domain_of_node = [](const Node* node, const char** out) -> Status* {
    *out = node->maker.c_str();
    return nullptr;
  };
  api.input_count = [](const Node* node, size_t* out) -> Status* {
    *out = node->inputs.size();
    return nullptr;
  };
  api.inputs = [](const Node* node, const ValueInfo** out, size_t count) {
    return copy_out(node->inputs, out, count);
  };
  api.output_count = [](const Node* node, size_t* out) -> Status* {
    *out = node->outputs.size();
    return nullptr;
  };
  api.outputs = [](const Node* node, const ValueInfo** out, size_t count) {
    return copy_out(node->outputs, out, count);
  };
}

Status* find_attribute(const Node* node, const char* name, const Attribute** out) {
  const auto found = node->attributes.find(name);
  *out = found == node->attributes.end() ? nullptr : &found->second;
  return *out == nullptr ? new Status{"no such attribute"} : nullptr;
}

Status* read_attribute(const Attribute* attribute, int32_t type, void* data, size_t bytes,
                       size_t* out) {
  constexpr int32_t kTypes[] = {attribute_int, attribute_float, attribute_ints};
  if (type != kTypes[attribute->value.index()]) return new Status{"an attribute of another type"};
  const void* from = nullptr;
  if (const auto* list = std::get_if<std::vector<int64_t>>(&attribute->value)) {
    from = list->data();
    *out = list->size() * sizeof(int64_t);
  } else {
    const auto* whole = std::get_if<int64_t>(&attribute->value);
    from =
        whole != nullptr ? static_cast<const void*>(whole) : std::get_if<float>(&attribute->value);
    *out = whole != nullptr ? sizeof(int64_t) : sizeof(float);
  }
  if (bytes < *out) return new Status{"no room"};
  std::memcpy(data, from, *out);
  return nullptr;
}

// ---- running ----

Status* input_of_kernel(const KernelContext* context, size_t index, const Value** out) {
  if (index >= context->inputs.size()) return new Status{"no such input"};
  *out = context->inputs[index];
  return nullptr;
}

Status* output_of_kernel(KernelContext* context, size_t index, const int64_t* extents, size_t count,
                         Value** out) {
  if (index != 0) return new Status{"no such output"};
  Value& output = context->output;
  output.shape.extents.assign(extents, extents + count);
  const size_t bytes = output.shape.type == f32 || output.shape.type == i32 ? sizeof(float) : 1;
  output.bytes.assign(product_of(output.shape.extents) * bytes, 0xff);
  *out = &output;
  return nullptr;
}

Status* parallel_for(const KernelContext* context, void (*body)(void*, size_t), size_t count,
                     size_t, void* data) {
  std::atomic<size_t> next{0};
  const auto take = [&] {
    for (size_t i = next++; i < count; i = next++) body(data, i);
  };
  std::vector<std::thread> others;
  for (int i = 1; i < context->threads; ++i) others.emplace_back(take);
  take();
  for (std::thread& other : others) other.join();
  return nullptr;
}

// ---- options and devices ----

Status* entries_of_session(const SessionOptions* options, KeyValuePairs** out) {
  *out = new KeyValuePairs;
  for (const auto& [key, value] : options->played.entries) {
    (*out)->keys.push_back(key.c_str());
    (*out)->values.push_back(value.c_str());
  }
  return nullptr;
}

void all_pairs(const KeyValuePairs* pairs, const char* const** keys, const char* const** values,
               size_t* count) {
  *keys = pairs->keys.data();
  *values = pairs->values.data();
  *count = pairs->keys.size();
}

Status* create_device(ProviderFactory*, const HardwareDevice* device, const KeyValuePairs*,
                      const KeyValuePairs*, ProviderDevice** out) {
  *out = new ProviderDevice{device};
  return nullptr;
}

Status* add_claim(GraphSupport* support, const Node* const* nodes, size_t count,
                  const FusionOptions* options) {
  support->claimed.insert(support->claimed.end(), nodes, nodes + count);
  support->drops_constants = options != nullptr && options->drops_constants;
  return nullptr;
}

const ProviderApi* provider_api() {
  static const ProviderApi api = [] {
    ProviderApi made = {};
    made.create_device = create_device;
    made.add_nodes = add_claim;
    return made;
  }();
  return &api;
}

const Api& played_api() {
  static const Api api = [] {
    Api made = {};
    made.create_status = create_status;
    made.message_of_status = message_of_status;
    made.release_status = release_status;
    add_shapes(made);
    add_values(made);
    add_nodes(made);
    made.attribute = find_attribute;
    made.read_attribute = read_attribute;
    made.input = input_of_kernel;
    made.output = output_of_kernel;
    made.parallel_for = parallel_for;
    made.entries = entries_of_session;
    made.all_pairs = all_pairs;
    made.release_pairs = [](KeyValuePairs* pairs) { delete pairs; };
    made.device_kind = [](const HardwareDevice* device) { return device->kind; };
    made.provider_api = provider_api;
    return made;
  }();
  return api;
}

const ApiBase kBase = {
    [](uint32_t version) { return version <= interface_version ? &played_api() : nullptr; },
    [] { return "1.23.2"; }};

// ---- the model ----

/// Throws what a status says.
void check_played(Status* status) {
  if (status == nullptr) return;
  const std::string message = status->message;
  delete status;
  throw std::runtime_error(message);
}

class PlayedModel {
 public:
  explicit PlayedModel(const Case& of) : of_(of) {
    const OnnxNode& from = of.model.nodes.front();
    node_.operation = from.operation;
    node_.maker = from.maker;
    for (const std::string& name : from.inputs) node_.inputs.push_back(info(name));
    for (const std::string& name : from.outputs) node_.outputs.push_back(info(name));
    for (const OnnxAttribute& its : from.attributes) node_.attributes[its.name] = {its.value};
  }

  [[nodiscard]] const Node& node() const { return node_; }

  /// That is made of the node; constants are gone where they are dropped.
  Node fused(bool drops_constants) {
    Node made = node_;
    std::erase_if(made.inputs, [&](const ValueInfo* input) {
      return input == nullptr || (drops_constants && input->constant != nullptr);
    });
    return made;
  }
  void drop_constants() { constants_.clear(); }

  [[nodiscard]] Value value_of(const std::string& name) const {
    for (const auto* tensors : {&of_.inputs, &of_.model.constants}) {
      for (const Tensor& tensor : *tensors) {
        if (tensor.name == name) return {{tensor.type, tensor.shape}, tensor.bytes};
      }
    }
    throw std::runtime_error("no value " + name);
  }

 private:
  const ValueInfo* info(const std::string& name) {
    if (name.empty()) return nullptr;
    auto made = std::make_unique<ValueInfo>(ValueInfo{name, {}, nullptr});
    for (const auto* values : {&of_.model.inputs, &of_.model.outputs}) {
      for (const OnnxValue& value : *values) {
        if (value.name == name) made->type = {{value.type, value.shape}};
      }
    }
    for (const Tensor& constant : of_.model.constants) {
      if (constant.name != name) continue;
      constants_.push_back(std::make_unique<Value>(value_of(name)));
      made->constant = constants_.back().get();
      made->type = {made->constant->shape};
    }
    infos_.push_back(std::move(made));
    return infos_.back().get();
  }

  const Case& of_;
  Node node_;
  std::vector<std::unique_ptr<Value>> constants_;
  std::vector<std::unique_ptr<ValueInfo>> infos_;
};

Tensor call(NodeCompute& compute, const Case& of, const PlayedModel& model, const Node& fused,
            int threads) {
  std::vector<std::unique_ptr<Value>> values;
  KernelContext context{{}, {{of.model.outputs[0].type, {}}, {}}, threads};
  for (const ValueInfo* input : fused.inputs) {
    values.push_back(std::make_unique<Value>(model.value_of(input->name)));
    context.inputs.push_back(values.back().get());
  }
  check_played(compute.compute(&compute, nullptr, &context));
  return {"y", context.output.shape.type, context.output.shape.extents, context.output.bytes};
}

/// Each caller calls a few times, as calls are short.
void call_together(NodeCompute& compute, const Case& of, const PlayedModel& model,
                   const Node& fused, const PlayedOptions& options, PlayedRun& run) {
  const int calls = options.callers > 1 ? 20 : 1;
  std::vector<std::future<Tensor>> callers;
  for (int i = 0; i < options.callers; ++i) {
    callers.push_back(std::async(std::launch::async, [&, calls] {
      for (int j = 1; j < calls; ++j) call(compute, of, model, fused, options.threads);
      return call(compute, of, model, fused, options.threads);
    }));
  }
  for (std::future<Tensor>& caller : callers) run.outputs.push_back(caller.get());
}

void play_provider(Provider& provider, const Case& of, const PlayedOptions& options,
                   PlayedRun& run) {
  PlayedModel model(of);
  const Graph graph{{&model.node()}};
  GraphSupport support;
  check_played(provider.claim(&provider, &graph, &support));
  run.is_ours = support.claimed.size() == 1;
  if (!run.is_ours) return;
  run.keeps_constants = !support.drops_constants;
  const Node fused = model.fused(support.drops_constants);
  const Graph* graphs[] = {&graph};
  const Node* nodes[] = {&fused};
  NodeCompute* compute = nullptr;
  Node* context = nullptr;
  check_played(provider.compile(&provider, graphs, nodes, 1, &compute, &context));
  if (support.drops_constants) model.drop_constants();
  void* state = nullptr;
  check_played(compute->create_state(compute, nullptr, &state));
  try {
    call_together(*compute, of, model, fused, options, run);
  } catch (const std::runtime_error& failure) {
    run.failed = failure.what();
  }
  compute->release_state(compute, state);
  provider.release_computes(&provider, &compute, 1);
}

void play_factory(ProviderFactory& factory, const Case& of, const PlayedOptions& options,
                  PlayedRun& run) {
  const HardwareDevice graphics{1}, processor{device_cpu};
  const HardwareDevice* known[] = {&graphics, &processor};
  ProviderDevice* devices[2] = {};
  size_t count = 0;
  check_played(factory.devices(&factory, known, 2, devices, 2, &count));
  const std::unique_ptr<ProviderDevice> held(devices[0]);
  if (count != 1 || held->device != &processor) throw std::runtime_error("other devices");
  const SessionOptions session{options};
  Provider* provider = nullptr;
  check_played(factory.create(&factory, known + 1, nullptr, 1, &session, nullptr, &provider));
  try {
    play_provider(*provider, of, options, run);
  } catch (const std::runtime_error& failure) {
    run.failed = failure.what();
  }
  factory.release(&factory, provider);
}

}  // namespace

PlayedRun play(const Case& of, const PlayedOptions& options) {
  PlayedRun run;
  ProviderFactory* factory = nullptr;
  size_t count = 0;
  check_played(CreateEpFactories("name", &kBase, nullptr, &factory, 1, &count));
  try {
    play_factory(*factory, of, options, run);
  } catch (const std::runtime_error& failure) {
    run.failed = failure.what();
  }
  check_played(ReleaseEpFactory(factory));
  return run;
}

std::string play_old_runtime() {
  const ApiBase old = {[](uint32_t version) { return version < 23 ? &played_api() : nullptr; },
                       [] { return "1.22.0"; }};
  ProviderFactory* factory = nullptr;
  size_t count = 0;
  try {
    check_played(CreateEpFactories("name", &old, nullptr, &factory, 1, &count));
  } catch (const std::runtime_error& failure) {
    return failure.what();
  }
  return "";
}

}  // namespace tw::onnxruntime
