// ONNX models, as far as tests and benchmarks need them, written as protocol buffers.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "onnxruntime/models/tensor.h"

namespace tw::onnxruntime {

/// Types of elements, by ONNX's numbers.
enum Element : int32_t { f32 = 1, u8 = 2, i8 = 3, i32 = 6, i64 = 7 };

struct OnnxAttribute {
  std::string name;
  std::variant<int64_t, float, std::vector<int64_t>> value;
};

struct OnnxNode {
  std::string operation;
  std::vector<std::string> inputs, outputs;  ///< "": omitted
  std::vector<OnnxAttribute> attributes;
  std::string maker;  ///< "com.microsoft"; "": ONNX
};

struct OnnxValue {
  std::string name;
  int32_t type;
  std::vector<int64_t> shape;  ///< -1: any
};

struct OnnxModel {
  std::vector<OnnxNode> nodes;
  std::vector<Tensor> constants;
  std::vector<OnnxValue> inputs, outputs;
};

/// Nodes are named by their numbers: "n0" ...
std::string file_of(const OnnxModel& model);
void write_model(const std::string& path, const OnnxModel& model);

}  // namespace tw::onnxruntime
