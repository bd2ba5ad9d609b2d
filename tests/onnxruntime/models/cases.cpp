#include "onnxruntime/models/cases.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <stdexcept>

namespace tw::onnxruntime {

std::vector<float> random_floats(size_t count, float largest, std::mt19937& random) {
  std::uniform_real_distribution<float> real(-largest, largest);
  std::vector<float> made(count);
  for (float& value : made) value = real(random);
  return made;
}

std::vector<uint8_t> random_bytes(size_t count, std::mt19937& random) {
  std::vector<uint8_t> made(count);
  for (uint8_t& value : made) value = static_cast<uint8_t>(random());
  return made;
}

size_t product_of(const std::vector<int64_t>& extents) {
  return static_cast<size_t>(
      std::accumulate(extents.begin(), extents.end(), int64_t{1}, std::multiplies<>()));
}

Case case_of(OnnxNode node, const std::vector<int64_t>& rows, int64_t k, int64_t n, int32_t type_in,
             int32_t type_out) {
  Case made;
  made.model.nodes = {std::move(node)};
  std::vector<int64_t> in = rows, out = rows;
  in.push_back(k);
  out.push_back(n);
  made.model.inputs = {{"a", type_in, in}};
  made.model.outputs = {{"y", type_out, out}};
  made.inputs = {{"a", type_in, in, {}}};
  return made;
}

void make_input(Case& of, const std::string& constant) {
  auto& constants = of.model.constants;
  const auto found = std::find_if(constants.begin(), constants.end(),
                                  [&](const Tensor& tensor) { return tensor.name == constant; });
  if (found == constants.end()) throw std::invalid_argument("no constant " + constant);
  of.model.inputs.push_back({found->name, found->type, found->shape});
  of.inputs.push_back(*found);
  constants.erase(found);
}

}  // namespace tw::onnxruntime
