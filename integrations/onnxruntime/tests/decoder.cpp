// Decoders for scripts/onnxruntime:
//
//   onnx_decoder write MODEL [--quick] [--floats]   a model with random weights; quick: a small
//   one;
//                                                   floats: the same weights, products of floats
//   onnx_decoder error FILE FILE                    how far logits of the first file are from the
//                                                   second's: root of the mean square, as a share
#include <cmath>
#include <cstdlib>
#include <iostream>
#include <stdexcept>

#include "onnxruntime/models/decoder.h"

namespace tw::onnxruntime {
namespace {

void write(const std::string& path, const std::vector<std::string>& words) {
  DecoderShape shape;
  for (const std::string& word : words) {
    if (word == "--quick") {
      shape.layers = 2;
      shape.width = 512;
      shape.inner = 1408;
      shape.heads = 8;
      shape.words = 2000;
    } else if (word == "--floats") {
      shape.accuracy = 0;
    } else {
      throw std::invalid_argument("no option " + word);
    }
  }
  std::mt19937 random(16);
  write_model(path, decoder_model(shape, random));
}

double error_between(const std::string& of, const std::string& wanted) {
  const std::vector<Tensor> found = read_tensors(of), reference = read_tensors(wanted);
  if (found.size() != reference.size()) throw std::runtime_error("logits of other numbers");
  double difference = 0, size = 0;
  for (size_t i = 0; i < found.size(); ++i) {
    const std::vector<float> a = values_of<float>(found[i]), b = values_of<float>(reference[i]);
    if (a.size() != b.size()) throw std::runtime_error("logits of other numbers");
    for (size_t j = 0; j < a.size(); ++j) {
      difference += std::pow(double{a[j]} - b[j], 2);
      size += std::pow(double{b[j]}, 2);
    }
  }
  return std::sqrt(difference / size);
}

void run(const std::vector<std::string>& words) {
  if (words.size() >= 2 && words[0] == "write") {
    write(words[1], {words.begin() + 2, words.end()});
  } else if (words.size() == 3 && words[0] == "error") {
    std::cout << error_between(words[1], words[2]) << "\n";
  } else {
    throw std::invalid_argument("onnx_decoder write MODEL | error FILE FILE");
  }
}

}  // namespace
}  // namespace tw::onnxruntime

int main(int count, char** words) {
  try {
    tw::onnxruntime::run({words + 1, words + count});
    return EXIT_SUCCESS;
  } catch (const std::exception& failure) {
    std::cerr << "onnx_decoder: " << failure.what() << "\n";
    return EXIT_FAILURE;
  }
}
