// Runs a decoder (onnx_decoder) in an ONNX Runtime, if asked with our provider:
//
//   run_onnx_decoder LIBRARY MODEL LOGITS [--provider PLUGIN] [--option KEY=VALUE] [--threads N]
//                    [--prompt N] [--decode N] [--rounds N]
//
// A prompt of so many rows, then so many rows one by one; rows are the same random numbers in every
// run. Logits after the prompt and after each row are written to LOGITS. Prints "prompt P decode D
// load S memory M": tokens a second, of the best round each, seconds, MiB.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <random>
#include <stdexcept>

#include "integrations/onnxruntime/tests/session.h"

namespace tw::onnxruntime {
namespace {

struct Arguments {
  SessionChoice choice;
  std::string model, logits;
  int64_t prompt = 128, decode = 32, rounds = 1;
};

Arguments read_arguments(int count, char** words) {
  Arguments read;
  if (count < 4 || count % 2 != 0) {
    throw std::invalid_argument("run_onnx_decoder LIBRARY MODEL LOGITS [OPTION]");
  }
  read.choice.library = words[1];
  read.model = words[2];
  read.logits = words[3];
  for (int i = 4; i < count; i += 2) {
    const std::string name = words[i], value = words[i + 1];
    if (name == "--prompt") {
      read.prompt = std::stoll(value);
    } else if (name == "--decode") {
      read.decode = std::stoll(value);
    } else if (name == "--rounds") {
      read.rounds = std::stoll(value);
    } else if (!take_word(name, value, read.choice)) {
      throw std::invalid_argument("no option " + name);
    }
  }
  return read;
}

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// A session, and the cache of what it was given.
class Talk {
 public:
  Talk(const Runtime& runtime, OrtSession* session) : runtime_(runtime), session_(session) {
    for (const OnnxInput& input : runtime.inputs(session)) {
      if (input.name == "x") width_ = input.shape.back();
      if (input.name.starts_with("past.")) past_.push_back({input.name, 1, empty(input.shape), {}});
    }
    outputs_ = runtime.output_names(session);
  }

  /// Logits after these rows of embeddings.
  Tensor take(const std::vector<float>& rows) {
    const int64_t count = static_cast<int64_t>(rows.size()) / width_;
    position_ += count;
    Tensor x{"x", 1, {1, count, width_}, bytes_of(rows)};
    Tensor last{"last", 6, {1}, bytes_of(std::vector<int32_t>{int32_t(position_ - 1)})};
    Tensor total{"total", 6, {}, bytes_of(std::vector<int32_t>{int32_t(position_)})};
    std::vector<Runtime::Value> values;
    for (Tensor* tensor : {&x, &last, &total}) values.push_back(runtime_.value_of(*tensor));
    std::vector<const char*> names = {"x", "last", "total"};
    std::vector<const OrtValue*> in;
    for (size_t i = 0; i < past_.size(); ++i) {
      names.push_back(past_[i].name.c_str());
      if (cache_.empty()) values.push_back(runtime_.value_of(past_[i]));
    }
    for (const Runtime::Value& value : values) in.push_back(value.get());
    for (const Runtime::Value& value : cache_) in.push_back(value.get());
    std::vector<const char*> outputs;
    for (const std::string& name : outputs_) outputs.push_back(name.c_str());
    std::vector<Runtime::Value> out = runtime_.run(session_, names, in, outputs);
    Tensor logits = runtime_.tensor_of("logits", out[0].get());
    cache_.clear();
    for (size_t i = 1; i < out.size(); ++i) cache_.push_back(std::move(out[i]));
    return logits;
  }

  [[nodiscard]] int64_t width() const { return width_; }

 private:
  static std::vector<int64_t> empty(std::vector<int64_t> shape) {
    for (int64_t& extent : shape) extent = std::max<int64_t>(extent, 0);
    return shape;
  }

  const Runtime& runtime_;
  OrtSession* session_;
  std::vector<Tensor> past_;
  std::vector<std::string> outputs_;
  std::vector<Runtime::Value> cache_;
  int64_t width_ = 0, position_ = 0;
};

std::vector<float> random_rows(int64_t count, int64_t width, std::mt19937& random) {
  std::normal_distribution<float> normal;
  std::vector<float> rows(static_cast<size_t>(count * width));
  for (float& value : rows) value = normal(random);
  return rows;
}

struct Speed {
  double prompt = 0, decode = 0;  ///< tokens a second
};

Speed round(const Arguments& arguments, const Runtime& runtime, OrtSession* session,
            std::vector<Tensor>& logits) {
  std::mt19937 random(17);
  Talk talk(runtime, session);
  logits.clear();
  const std::vector<float> prompt = random_rows(arguments.prompt, talk.width(), random);
  auto begin = std::chrono::steady_clock::now();
  logits.push_back(talk.take(prompt));
  Speed speed;
  speed.prompt = static_cast<double>(arguments.prompt) / seconds_since(begin);
  begin = std::chrono::steady_clock::now();
  for (int64_t i = 0; i < arguments.decode; ++i) {
    logits.push_back(talk.take(random_rows(1, talk.width(), random)));
  }
  speed.decode = static_cast<double>(arguments.decode) / seconds_since(begin);
  return speed;
}

void run(const Arguments& arguments) {
  const Runtime runtime(arguments.choice);
  const auto begin = std::chrono::steady_clock::now();
  const Runtime::Session session = runtime.open(arguments.model);
  const double load = seconds_since(begin);
  std::vector<Tensor> logits;
  Speed best;
  for (int64_t i = 0; i < arguments.rounds; ++i) {
    const Speed speed = round(arguments, runtime, session.get(), logits);
    best.prompt = std::max(best.prompt, speed.prompt);
    best.decode = std::max(best.decode, speed.decode);
  }
  write_tensors(arguments.logits, logits);
  std::cout << "prompt " << best.prompt << " decode " << best.decode << " load " << load
            << " memory " << resident_kib() / 1024 << "\n";
}

}  // namespace
}  // namespace tw::onnxruntime

int main(int count, char** words) {
  try {
    tw::onnxruntime::run(tw::onnxruntime::read_arguments(count, words));
    return EXIT_SUCCESS;
  } catch (const std::exception& failure) {
    std::cerr << "run_onnx_decoder: " << failure.what() << "\n";
    return EXIT_FAILURE;
  }
}
