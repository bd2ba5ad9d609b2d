#include "integrations/onnxruntime/tests/session.h"

#include <dlfcn.h>

#include <fstream>
#include <stdexcept>

namespace tw::onnxruntime {

namespace {

constexpr char kName[] = "TilewrightExecutionProvider";

const OrtApiBase& base_of(const std::string& library) {
  void* loaded = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (loaded == nullptr) throw std::runtime_error(dlerror());
  using Get = const OrtApiBase* (*)();
  const auto get = reinterpret_cast<Get>(dlsym(loaded, "OrtGetApiBase"));
  if (get == nullptr) throw std::runtime_error(library + " is no ONNX Runtime");
  return *get();
}

}  // namespace

Runtime::Runtime(const SessionChoice& choice) : choice_(choice) {
  const OrtApiBase& base = base_of(choice.library);
  version_ = base.GetVersionString();
  api_ = base.GetApi(ORT_API_VERSION);
  if (api_ == nullptr) throw std::runtime_error("ONNX Runtime is older than its header");
  check(api_->CreateEnv(ORT_LOGGING_LEVEL_ERROR, "tests", &environment_));
  if (choice.provider.empty()) return;
  check(api_->RegisterExecutionProviderLibrary(environment_, kName, choice.provider.c_str()));
}

Runtime::~Runtime() {
  api_->ReleaseEnv(environment_);
}

void Runtime::check(OrtStatus* status) const {
  if (status == nullptr) return;
  const std::string message = api_->GetErrorMessage(status);
  api_->ReleaseStatus(status);
  throw std::runtime_error(message);
}

void Runtime::add_provider(OrtSessionOptions* session, const ProviderOptions& options) const {
  const OrtEpDevice* const* devices = nullptr;
  size_t count = 0;
  check(api_->GetEpDevices(environment_, &devices, &count));
  std::vector<const OrtEpDevice*> ours;
  for (size_t i = 0; i < count; ++i) {
    if (std::string(api_->EpDevice_EpName(devices[i])) == kName) ours.push_back(devices[i]);
  }
  if (ours.empty()) throw std::runtime_error("no device of our provider");
  std::vector<const char*> keys, values;
  for (const auto& [key, value] : options) {
    keys.push_back(key.c_str());
    values.push_back(value.c_str());
  }
  check(api_->SessionOptionsAppendExecutionProvider_V2(
      session, environment_, ours.data(), ours.size(), keys.data(), values.data(), keys.size()));
}

Runtime::Session Runtime::open(const std::string& model, const ProviderOptions& provider) const {
  OrtSessionOptions* options = nullptr;
  check(api_->CreateSessionOptions(&options));
  const std::unique_ptr<OrtSessionOptions, void (*)(OrtSessionOptions*)> held(
      options, api_->ReleaseSessionOptions);
  check(api_->SetIntraOpNumThreads(options, choice_.threads));
  if (!choice_.profile.empty()) check(api_->EnableProfiling(options, choice_.profile.c_str()));
  if (!choice_.provider.empty()) add_provider(options, provider);
  OrtSession* session = nullptr;
  check(api_->CreateSession(environment_, model.c_str(), options, &session));
  return {session, api_->ReleaseSession};
}

Runtime::Value Runtime::value_of(Tensor& tensor) const {
  OrtMemoryInfo* memory = nullptr;
  check(api_->CreateCpuMemoryInfo(OrtArenaAllocator, OrtMemTypeDefault, &memory));
  const std::unique_ptr<OrtMemoryInfo, void (*)(OrtMemoryInfo*)> held(memory,
                                                                      api_->ReleaseMemoryInfo);
  OrtValue* value = nullptr;
  check(api_->CreateTensorWithDataAsOrtValue(
      memory, tensor.bytes.data(), tensor.bytes.size(), tensor.shape.data(), tensor.shape.size(),
      static_cast<ONNXTensorElementDataType>(tensor.type), &value));
  return {value, api_->ReleaseValue};
}

Tensor Runtime::tensor_of(const std::string& name, OrtValue* value) const {
  OrtTensorTypeAndShapeInfo* info = nullptr;
  check(api_->GetTensorTypeAndShape(value, &info));
  const std::unique_ptr<OrtTensorTypeAndShapeInfo, void (*)(OrtTensorTypeAndShapeInfo*)> held(
      info, api_->ReleaseTensorTypeAndShapeInfo);
  ONNXTensorElementDataType type = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
  size_t rank = 0, bytes = 0;
  void* data = nullptr;
  check(api_->GetTensorElementType(info, &type));
  check(api_->GetDimensionsCount(info, &rank));
  Tensor tensor{name, type, std::vector<int64_t>(rank), {}};
  check(api_->GetDimensions(info, tensor.shape.data(), rank));
  check(api_->GetTensorSizeInBytes(value, &bytes));
  check(api_->GetTensorMutableData(value, &data));
  const auto* begin = static_cast<const uint8_t*>(data);
  tensor.bytes.assign(begin, begin + bytes);
  return tensor;
}

std::vector<Runtime::Value> Runtime::run(OrtSession* session, const std::vector<const char*>& names,
                                         const std::vector<const OrtValue*>& inputs,
                                         const std::vector<const char*>& outputs) const {
  std::vector<OrtValue*> out(outputs.size());
  check(api_->Run(session, nullptr, names.data(), inputs.data(), inputs.size(), outputs.data(),
                  outputs.size(), out.data()));
  std::vector<Value> held;
  for (OrtValue* value : out) held.emplace_back(value, api_->ReleaseValue);
  return held;
}

std::vector<OnnxInput> Runtime::inputs(OrtSession* session) const {
  OrtAllocator* allocator = nullptr;
  check(api_->GetAllocatorWithDefaultOptions(&allocator));
  size_t count = 0;
  check(api_->SessionGetInputCount(session, &count));
  std::vector<OnnxInput> inputs(count);
  for (size_t i = 0; i < count; ++i) {
    char* name = nullptr;
    check(api_->SessionGetInputName(session, i, allocator, &name));
    inputs[i].name = name;
    check(api_->AllocatorFree(allocator, name));
    OrtTypeInfo* type = nullptr;
    check(api_->SessionGetInputTypeInfo(session, i, &type));
    const std::unique_ptr<OrtTypeInfo, void (*)(OrtTypeInfo*)> held(type, api_->ReleaseTypeInfo);
    const OrtTensorTypeAndShapeInfo* info = nullptr;
    check(api_->CastTypeInfoToTensorInfo(type, &info));
    size_t rank = 0;
    check(api_->GetDimensionsCount(info, &rank));
    inputs[i].shape.resize(rank);
    check(api_->GetDimensions(info, inputs[i].shape.data(), rank));
  }
  return inputs;
}

std::vector<std::string> Runtime::output_names(OrtSession* session) const {
  OrtAllocator* allocator = nullptr;
  check(api_->GetAllocatorWithDefaultOptions(&allocator));
  size_t count = 0;
  check(api_->SessionGetOutputCount(session, &count));
  std::vector<std::string> names;
  for (size_t i = 0; i < count; ++i) {
    char* name = nullptr;
    check(api_->SessionGetOutputName(session, i, allocator, &name));
    names.emplace_back(name);
    check(api_->AllocatorFree(allocator, name));
  }
  return names;
}

size_t resident_kib() {
  std::ifstream in("/proc/self/status");
  for (std::string word; in >> word;) {
    size_t kib = 0;
    if (word == "VmRSS:" && in >> kib) return kib;
  }
  return 0;
}

bool take_word(const std::string& name, const std::string& value, SessionChoice& choice) {
  if (name == "--provider") {
    choice.provider = value;
  } else if (name == "--threads") {
    choice.threads = std::stoi(value);
  } else if (name == "--profile") {
    choice.profile = value;
  } else if (name == "--option") {
    const size_t at = value.find('=');
    if (at == std::string::npos) throw std::invalid_argument(value + ": no =");
    choice.options.emplace_back(value.substr(0, at), value.substr(at + 1));
  } else {
    return false;
  }
  return true;
}

}  // namespace tw::onnxruntime
