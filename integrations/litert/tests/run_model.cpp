// Runs a model in TensorFlow Lite, if asked with our delegate:
//
//   run_model MODEL OUTPUTS [--delegate LIBRARY] [--option KEY=VALUE] [--threads N] [--runs N]
//             [--inputs FILE] [--resize D,D...] [--clones N]
//
// The inputs' bytes stand in FILE one right after the other, the outputs' are written to OUTPUTS.
// --resize gives the first input this shape. --clones: so many interpreters of the one model, each
// with a delegate of its own, of which the last one's outputs count. Prints the best run's
// microseconds and the growth of the process's memory since the model was loaded, in KiB.
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "tensorflow/lite/c/c_api.h"
#include "tensorflow/lite/delegates/external/external_delegate.h"
#include "tensorflow/lite/minimal_logging.h"

namespace {

struct Arguments {
  std::string model, outputs, delegate, inputs;
  std::vector<std::pair<std::string, std::string>> options;
  std::vector<int> shape;
  int threads = 1, runs = 1, clones = 1;
};

std::pair<std::string, std::string> split(const std::string& option) {
  const size_t at = option.find('=');
  if (at == std::string::npos) throw std::invalid_argument(option + ": no =");
  return {option.substr(0, at), option.substr(at + 1)};
}

std::vector<int> numbers(std::string list) {
  std::vector<int> found;
  for (size_t at = 0; at < list.size(); at = list.find(',', at)) {
    if (list[at] == ',') ++at;
    found.push_back(std::stoi(list.substr(at)));
  }
  return found;
}

Arguments read_arguments(int count, char** words) {
  Arguments read;
  if (count < 3 || count % 2 == 0) throw std::invalid_argument("run_model MODEL OUTPUTS [OPTION]");
  read.model = words[1];
  read.outputs = words[2];
  for (int i = 3; i < count; i += 2) {
    const std::string name = words[i], value = words[i + 1];
    if (name == "--delegate") {
      read.delegate = value;
    } else if (name == "--option") {
      read.options.push_back(split(value));
    } else if (name == "--threads") {
      read.threads = std::stoi(value);
    } else if (name == "--runs") {
      read.runs = std::stoi(value);
    } else if (name == "--inputs") {
      read.inputs = value;
    } else if (name == "--resize") {
      read.shape = numbers(value);
    } else if (name == "--clones") {
      read.clones = std::stoi(value);
    } else {
      throw std::invalid_argument("no option " + name);
    }
  }
  return read;
}

void check(bool holds, const char* what) {
  if (!holds) throw std::runtime_error(what);
}

void check(TfLiteStatus status, const char* what) {
  check(status == kTfLiteOk, what);
}

size_t resident_kib() {
  std::ifstream in("/proc/self/status");
  for (std::string word; in >> word;) {
    size_t kib = 0;
    if (word == "VmRSS:" && in >> kib) return kib;
  }
  return 0;
}

using Delegate = std::unique_ptr<TfLiteDelegate, decltype(&TfLiteExternalDelegateDelete)>;
using Interpreter = std::unique_ptr<TfLiteInterpreter, decltype(&TfLiteInterpreterDelete)>;

Delegate make_delegate(const Arguments& arguments) {
  Delegate none(nullptr, TfLiteExternalDelegateDelete);
  if (arguments.delegate.empty()) return none;
  TfLiteExternalDelegateOptions options =
      TfLiteExternalDelegateOptionsDefault(arguments.delegate.c_str());
  for (const auto& [key, value] : arguments.options) {
    check(options.insert(&options, key.c_str(), value.c_str()), "the option is not taken");
  }
  none.reset(TfLiteExternalDelegateCreate(&options));
  check(none != nullptr, "there is no delegate");
  return none;
}

Interpreter make_interpreter(const Arguments& arguments, const TfLiteModel* model,
                             TfLiteDelegate* delegate) {
  TfLiteInterpreterOptions* options = TfLiteInterpreterOptionsCreate();
  TfLiteInterpreterOptionsSetNumThreads(options, arguments.threads);
  if (delegate != nullptr) TfLiteInterpreterOptionsAddDelegate(options, delegate);
  Interpreter made(TfLiteInterpreterCreate(model, options), TfLiteInterpreterDelete);
  TfLiteInterpreterOptionsDelete(options);
  check(made != nullptr, "the interpreter is not made");
  check(TfLiteInterpreterAllocateTensors(made.get()), "tensors are not allocated");
  if (!arguments.shape.empty()) {
    check(TfLiteInterpreterResizeInputTensor(made.get(), 0, arguments.shape.data(),
                                             static_cast<int>(arguments.shape.size())),
          "the input is not resized");
    check(TfLiteInterpreterAllocateTensors(made.get()), "tensors are not allocated again");
  }
  return made;
}

void set_inputs(const Arguments& arguments, TfLiteInterpreter* interpreter) {
  if (arguments.inputs.empty()) return;
  std::ifstream in(arguments.inputs, std::ios::binary);
  for (int i = 0; i < TfLiteInterpreterGetInputTensorCount(interpreter); ++i) {
    TfLiteTensor* tensor = TfLiteInterpreterGetInputTensor(interpreter, i);
    const auto bytes = static_cast<std::streamsize>(TfLiteTensorByteSize(tensor));
    in.read(static_cast<char*>(TfLiteTensorData(tensor)), bytes);
    check(in.gcount() == bytes, "the inputs are too short");
  }
  in.peek();
  check(in.eof(), "the inputs are too long");
}

void write_outputs(const Arguments& arguments, const TfLiteInterpreter* interpreter) {
  std::ofstream out(arguments.outputs, std::ios::binary);
  for (int i = 0; i < TfLiteInterpreterGetOutputTensorCount(interpreter); ++i) {
    const TfLiteTensor* tensor = TfLiteInterpreterGetOutputTensor(interpreter, i);
    out.write(static_cast<const char*>(TfLiteTensorData(tensor)),
              static_cast<std::streamsize>(TfLiteTensorByteSize(tensor)));
  }
  check(out.good(), "the outputs are not written");
}

double best_run(const Arguments& arguments, TfLiteInterpreter* interpreter) {
  double best = 0;
  for (int i = 0; i < arguments.runs; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    check(TfLiteInterpreterInvoke(interpreter), "the model does not run");
    const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - begin;
    if (i == 0 || took.count() < best) best = took.count();
  }
  return best;
}

void run(const Arguments& arguments) {
  const std::unique_ptr<TfLiteModel, decltype(&TfLiteModelDelete)> model(
      TfLiteModelCreateFromFile(arguments.model.c_str()), TfLiteModelDelete);
  check(model != nullptr, "no model");
  const size_t before = resident_kib();
  std::vector<Delegate> delegates;
  std::vector<Interpreter> interpreters;
  for (int i = 0; i < arguments.clones; ++i) {
    delegates.push_back(make_delegate(arguments));
    interpreters.push_back(make_interpreter(arguments, model.get(), delegates.back().get()));
  }
  TfLiteInterpreter* last = interpreters.back().get();
  set_inputs(arguments, last);
  const double microseconds = best_run(arguments, last);
  write_outputs(arguments, last);
  std::cout << microseconds << " us, " << resident_kib() - before << " KiB\n";
}

}  // namespace

int main(int count, char** words) {
  // So that it says how many nodes it has replaced by a delegate's.
  tflite::logging_internal::MinimalLogger::SetMinimumLogSeverity(tflite::TFLITE_LOG_VERBOSE);
  try {
    run(read_arguments(count, words));
    return EXIT_SUCCESS;
  } catch (const std::exception& failure) {
    std::cerr << "run_model: " << failure.what() << "\n";
    return EXIT_FAILURE;
  }
}
