// A node of the host's graph, as it was told us.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "integrations/common/refused.h"
#include "integrations/onnxruntime/onnxruntime_abi.h"

namespace tw::onnxruntime {

inline void require(bool holds, const char* otherwise) {
  if (!holds) throw Refused(otherwise);
}

struct Operand {
  std::string name;  ///< "": omitted
  int32_t type = type_none;
  bool has_shape = false;
  std::vector<int64_t> shape;  ///< -1: not known yet
  const void* data = nullptr;  ///< of a constant; it stays as long as the node does

  [[nodiscard]] bool is_there() const { return !name.empty(); }
  [[nodiscard]] bool is_constant() const { return data != nullptr; }
};

/// Of a shape that is known.
size_t value_count(const std::vector<int64_t>& shape);
size_t value_count(const Operand& operand);

struct NodeFacts {
  std::string operation;  ///< "MatMulNBits"
  std::string maker;      ///< "com.microsoft"; "": ONNX's own
  std::vector<Operand> inputs, outputs;
  std::map<std::string, int64_t> integers;  ///< attributes that are set
  std::map<std::string, float> floats;
  std::map<std::string, std::vector<int64_t>> lists;
  std::map<std::string, std::string> words;

  [[nodiscard]] const Operand& input(size_t i) const;  ///< omitted ones included
  [[nodiscard]] int64_t integer(const char* name, int64_t otherwise) const;
  [[nodiscard]] float number(const char* name, float otherwise) const;
  /// Of so many numbers, which all are `otherwise` where the attribute is not set.
  [[nodiscard]] std::vector<int64_t> list(const char* name, size_t count, int64_t otherwise) const;
};

}  // namespace tw::onnxruntime
