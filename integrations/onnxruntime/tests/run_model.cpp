// Runs models in an ONNX Runtime, if asked with our provider:
//
//   run_onnx_model LIBRARY MODEL... [--provider PLUGIN] [--option KEY=VALUE] [--threads N]
//             [--profile BEGINNING]
//
// Inputs stand in MODEL.inputs, as tests/onnxruntime/models/tensor.h has them, outputs are written
// to MODEL.outputs. Prints the runtime's version.
#include <cstdlib>
#include <iostream>
#include <stdexcept>

#include "integrations/onnxruntime/tests/session.h"

namespace tw::onnxruntime {
namespace {

void run_model(const Runtime& runtime, const std::string& path) {
  std::vector<Tensor> inputs = read_tensors(path + ".inputs");
  const Runtime::Session session = runtime.open(path);
  std::vector<Runtime::Value> values;
  std::vector<const OrtValue*> in;
  std::vector<const char*> names, outputs;
  for (Tensor& input : inputs) {
    values.push_back(runtime.value_of(input));
    in.push_back(values.back().get());
    names.push_back(input.name.c_str());
  }
  const std::vector<std::string> output_names = runtime.output_names(session.get());
  for (const std::string& name : output_names) outputs.push_back(name.c_str());
  const std::vector<Runtime::Value> out = runtime.run(session.get(), names, in, outputs);
  std::vector<Tensor> written;
  for (size_t i = 0; i < out.size(); ++i) {
    written.push_back(runtime.tensor_of(output_names[i], out[i].get()));
  }
  write_tensors(path + ".outputs", written);
}

void run(int count, char** words) {
  SessionChoice choice;
  std::vector<std::string> models;
  if (count < 3) throw std::invalid_argument("run_onnx_model LIBRARY MODEL... [OPTION]");
  choice.library = words[1];
  for (int i = 2; i < count; ++i) {
    const std::string word = words[i];
    if (!word.starts_with("--")) {
      models.push_back(word);
    } else if (i + 1 == count || !take_word(word, words[i + 1], choice)) {
      throw std::invalid_argument("no option " + word);
    } else {
      ++i;
    }
  }
  const Runtime runtime(choice);
  std::cout << runtime.version() << "\n";
  for (const std::string& model : models) run_model(runtime, model);
}

}  // namespace
}  // namespace tw::onnxruntime

int main(int count, char** words) {
  try {
    tw::onnxruntime::run(count, words);
    return EXIT_SUCCESS;
  } catch (const std::exception& failure) {
    std::cerr << "run_onnx_model: " << failure.what() << "\n";
    return EXIT_FAILURE;
  }
}
