// A tensor with a name, and files of some: what programs that run models are given, and give back.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace tw::onnxruntime {

struct Tensor {
  std::string name;
  int32_t type = 1;  ///< of ONNX; 1: float32
  std::vector<int64_t> shape;
  std::vector<uint8_t> bytes;
};

template <class Element>
std::vector<uint8_t> bytes_of(const std::vector<Element>& values) {
  std::vector<uint8_t> bytes(values.size() * sizeof(Element));
  if (!values.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}
template <class Element>
std::vector<Element> values_of(const Tensor& tensor) {
  std::vector<Element> values(tensor.bytes.size() / sizeof(Element));
  if (!values.empty()) std::memcpy(values.data(), tensor.bytes.data(), tensor.bytes.size());
  return values;
}

void write_tensors(const std::string& path, const std::vector<Tensor>& tensors);
/// Throws std::runtime_error.
std::vector<Tensor> read_tensors(const std::string& path);

}  // namespace tw::onnxruntime
