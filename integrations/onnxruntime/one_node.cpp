#include "integrations/onnxruntime/one_node.h"

#include <algorithm>
#include <cstring>

namespace tw::onnxruntime {

namespace {

/// Releases what the function that is called with its address has made.
template <class Type, class Create>
std::unique_ptr<Type, void (*)(Type*)> made_by(const Api& api, void (*release)(Type*),
                                               Create create) {
  Type* made = nullptr;
  check(api, create(&made));
  return {made, release};
}

}  // namespace

size_t size_of(int32_t type) {
  return type == type_f32 || type == type_i32 ? 4 : 1;
}

void fill(void* values, int32_t type, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    const auto code = static_cast<uint8_t>(count == 1 ? 1 : i * 37);
    const float number = count == 1 ? 1.0F : (static_cast<float>(code) - 127.5F) / 128;
    const int32_t whole = code;
    auto* at = static_cast<uint8_t*>(values) + i * size_of(type);
    if (type == type_f32) {
      std::memcpy(at, &number, sizeof number);
    } else {
      std::memcpy(at, &whole, size_of(type));  // its lowest byte, of a code
    }
  }
}

OneNode::OneNode(const Api& api, const NodeFacts& node, const std::vector<int64_t>& shape)
    : api_(api),
      output_(node.outputs[0].name),
      environment_(made_by(api, api.release_environment,
                           [&](Environment** out) {
                             return api.create_environment(logging_errors, "tilewright", out);
                           })),
      session_(nullptr, api.release_session) {
  const auto options = made_by(api, api.release_options, api.create_options);
  check(api, api.set_threads(options.get(), 1));
  const std::string model = model_of(node, shape);
  session_ = made_by(api, api.release_session, [&](Session** out) {
    return api.create_session(environment_.get(), model.data(), model.size(), options.get(), out);
  });
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const Operand& input = node.inputs[i];
    if (!input.is_there() || input.is_constant() || std::ranges::count(names_, input.name) != 0) {
      continue;
    }
    names_.push_back(input.name);
    inputs_.push_back(tensor(input.type, i == 0 ? shape : input.shape));
  }
}

OneNode::Held<Value> OneNode::tensor(int32_t type, const std::vector<int64_t>& shape) const {
  Allocator* allocator = nullptr;
  check(api_, api_.default_allocator(&allocator));
  Held<Value> made = made_by(api_, api_.release_value, [&](Value** out) {
    return api_.create_tensor(allocator, shape.data(), shape.size(), type, out);
  });
  void* values = nullptr;
  check(api_, api_.mutable_data(made.get(), &values));
  fill(values, type, value_count(shape));
  return made;
}

void OneNode::run() {
  std::vector<const char*> names;
  std::vector<const Value*> inputs;
  for (size_t i = 0; i < names_.size(); ++i) {
    names.push_back(names_[i].c_str());
    inputs.push_back(inputs_[i].get());
  }
  const char* output = output_.c_str();
  const Held<Value> made = made_by(api_, api_.release_value, [&](Value** out) {
    return api_.run(session_.get(), nullptr, names.data(), inputs.data(), names.size(), &output, 1,
                    out);
  });
}

}  // namespace tw::onnxruntime
