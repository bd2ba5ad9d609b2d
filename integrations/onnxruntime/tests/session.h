// Sessions of an ONNX Runtime that is loaded by its path, with our provider or without.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "onnxruntime/models/tensor.h"
#include "onnxruntime_c_api.h"

namespace tw::onnxruntime {

using ProviderOptions = std::vector<std::pair<std::string, std::string>>;

struct SessionChoice {
  std::string library;      ///< ONNX Runtime's
  std::string provider;     ///< ours; "": only the runtime's own
  ProviderOptions options;  ///< the provider's
  int threads = 1;
  std::string profile;  ///< what a profile's file begins with; "": none
};

struct OnnxInput {
  std::string name;
  std::vector<int64_t> shape;  ///< -1: any
};

/// Failures are exceptions.
class Runtime {
 public:
  explicit Runtime(const SessionChoice& choice);
  ~Runtime();
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  [[nodiscard]] const OrtApi& api() const { return *api_; }
  void check(OrtStatus* status) const;
  [[nodiscard]] std::string version() const { return version_; }

  using Session = std::unique_ptr<OrtSession, void (*)(OrtSession*)>;
  Session open(const std::string& model) const { return open(model, choice_.options); }
  /// With other options of the provider.
  Session open(const std::string& model, const ProviderOptions& options) const;

  using Value = std::unique_ptr<OrtValue, void (*)(OrtValue*)>;
  /// Reads and writes the tensor's own bytes.
  Value value_of(Tensor& tensor) const;
  [[nodiscard]] Tensor tensor_of(const std::string& name, OrtValue* value) const;
  /// All outputs; `names` of inputs and outputs.
  std::vector<Value> run(OrtSession* session, const std::vector<const char*>& names,
                         const std::vector<const OrtValue*>& inputs,
                         const std::vector<const char*>& outputs) const;
  [[nodiscard]] std::vector<OnnxInput> inputs(OrtSession* session) const;
  [[nodiscard]] std::vector<std::string> output_names(OrtSession* session) const;

 private:
  void add_provider(OrtSessionOptions* session, const ProviderOptions& options) const;

  const SessionChoice choice_;
  std::string version_;
  const OrtApi* api_ = nullptr;
  OrtEnv* environment_ = nullptr;
};

/// Of this process.
size_t resident_kib();

/// Whether it is one of the options that programs have in common.
bool take_word(const std::string& name, const std::string& value, SessionChoice& choice);

}  // namespace tw::onnxruntime
