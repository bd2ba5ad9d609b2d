// Runs models in an ONNX Runtime, if asked with our provider:
//
//   run_onnx_model LIBRARY MODEL... [--provider PLUGIN] [--option KEY=VALUE] [--threads N]
//                  [--profile BEGINNING] [--callers N]
//
// Inputs stand in MODEL.inputs, as tests/onnxruntime/models/tensor.h has them, outputs are written
// to MODEL.outputs. --callers: so many threads run each model at the same time, and all outputs
// must be the same. Prints the runtime's version, and for each model the KiB that the process has
// grown by.
#include <algorithm>
#include <cstdlib>
#include <future>
#include <iostream>
#include <stdexcept>

#include "integrations/onnxruntime/tests/session.h"

namespace tw::onnxruntime {
namespace {

std::vector<Tensor> run_once(const Runtime& runtime, OrtSession* session,
                             std::vector<Tensor> inputs) {
  std::vector<Runtime::Value> values;
  std::vector<const OrtValue*> in;
  std::vector<const char*> names, outputs;
  for (Tensor& input : inputs) {
    values.push_back(runtime.value_of(input));
    in.push_back(values.back().get());
    names.push_back(input.name.c_str());
  }
  const std::vector<std::string> output_names = runtime.output_names(session);
  for (const std::string& name : output_names) outputs.push_back(name.c_str());
  const std::vector<Runtime::Value> out = runtime.run(session, names, in, outputs);
  std::vector<Tensor> made;
  for (size_t i = 0; i < out.size(); ++i) {
    made.push_back(runtime.tensor_of(output_names[i], out[i].get()));
  }
  return made;
}

bool is_same(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const Tensor& x, const Tensor& y) { return x.bytes == y.bytes; });
}

void run_model(const Runtime& runtime, const std::string& path, int callers) {
  const std::vector<Tensor> inputs = read_tensors(path + ".inputs");
  const size_t before = resident_kib();
  const Runtime::Session session = runtime.open(path);
  const std::vector<Tensor> outputs = run_once(runtime, session.get(), inputs);
  std::cout << "grown by " << resident_kib() - std::min(before, resident_kib()) << " KiB\n";
  write_tensors(path + ".outputs", outputs);
  std::vector<std::future<void>> others;
  for (int i = 1; i < callers; ++i) {
    others.push_back(std::async(std::launch::async, [&] {
      constexpr int kCalls = 20;
      for (int call = 0; call < kCalls; ++call) {
        if (!is_same(run_once(runtime, session.get(), inputs), outputs)) {
          throw std::runtime_error("callers have other outputs");
        }
      }
    }));
  }
  for (std::future<void>& other : others) other.get();
}

void run(int count, char** words) {
  SessionChoice choice;
  std::vector<std::string> models;
  int callers = 1;
  if (count < 3) throw std::invalid_argument("run_onnx_model LIBRARY MODEL... [OPTION]");
  choice.library = words[1];
  for (int i = 2; i < count; ++i) {
    const std::string word = words[i];
    if (!word.starts_with("--")) {
      models.push_back(word);
    } else if (i + 1 == count) {
      throw std::invalid_argument(word + ": no value");
    } else if (word == "--callers") {
      callers = std::stoi(words[++i]);
    } else if (!take_word(word, words[++i], choice)) {
      throw std::invalid_argument("no option " + word);
    }
  }
  const Runtime runtime(choice);
  std::cout << runtime.version() << "\n";
  for (const std::string& model : models) run_model(runtime, model, callers);
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
