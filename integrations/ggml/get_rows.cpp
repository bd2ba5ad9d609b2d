#include "integrations/ggml/get_rows.h"

#include <atomic>
#include <cstring>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

#include "integrations/ggml/buffer.h"
#include "integrations/ggml/rows.h"
#include "integrations/ggml/symbols.h"
#include "integrations/ggml/team.h"

namespace tw::ggml {

namespace {

void copy_floats(const void* row, float* values, int64_t count) {
  std::memcpy(values, row, static_cast<size_t>(count) * sizeof(float));
}

ToFloats* look_up_to_floats(int32_t type) {
  if (type == type_f32) return copy_floats;
  if (type == type_f16) return find_function<ToFloats>("ggml_fp16_to_fp32_row");
  if (type == type_bf16) return find_function<ToFloats>("ggml_bf16_to_fp32_row");
  const auto name_of = find_function<const char*(int32_t)>("ggml_type_name");
  if (name_of == nullptr) return nullptr;
  return find_function<ToFloats>(("dequantize_row_" + std::string(name_of(type))).c_str());
}

/// Of one row that is read.
struct Row {
  size_t matrix, row;
  float* values;
};

template <class Value>
Value* place_in(const Tensor& tensor, size_t i0, size_t i1, size_t i2) {
  return reinterpret_cast<Value*>(static_cast<char*>(tensor.data) + i0 * tensor.nb[0] +
                                  i1 * tensor.nb[1] + i2 * tensor.nb[2]);
}

/// Numbers of rows have the same batches as the matrices that they are rows of.
std::vector<Row> rows_of(const Tensor& op) {
  const Tensor &weights = *op.src[0], &numbers = *op.src[1];
  std::vector<Row> rows;
  for (size_t i2 = 0; i2 < extent(numbers, 2); ++i2) {
    for (size_t i1 = 0; i1 < extent(numbers, 1); ++i1) {
      for (size_t i0 = 0; i0 < extent(numbers, 0); ++i0) {
        const int32_t number = *place_in<int32_t>(numbers, i0, i1, i2);
        if (number < 0 || number >= weights.ne[1]) {
          throw std::out_of_range(fmt::format("{}: row {} of {} is asked for; 0 to {} are legal",
                                              op.name, number, weights.name, weights.ne[1] - 1));
        }
        auto* values = reinterpret_cast<float*>(static_cast<char*>(op.data) + i0 * op.nb[1] +
                                                i1 * op.nb[2] + i2 * op.nb[3]);
        rows.push_back({i1 + i2 * extent(weights, 2), static_cast<size_t>(number), values});
      }
    }
  }
  return rows;
}

}  // namespace

ToFloats* find_to_floats(int32_t type) {
  static std::mutex mutex;
  static std::map<int32_t, ToFloats*> known;
  const std::lock_guard lock(mutex);
  const auto [at, is_new] = known.try_emplace(type);
  if (is_new) at->second = look_up_to_floats(type);
  return at->second;
}

bool can_get_rows(const Tensor& op) {
  const Tensor &weights = *op.src[0], &numbers = *op.src[1];
  return weight_type(weights.type) != nullptr && numbers.type == type_i32 && op.type == type_f32 &&
         op.nb[0] == sizeof(float) && op.ne[0] == weights.ne[0] && numbers.ne[1] == weights.ne[2] &&
         numbers.ne[2] == weights.ne[3] && numbers.ne[3] == 1 &&
         find_to_floats(weights.type) != nullptr;
}

Status get_rows(const Tensor& op, int threads) {
  const Tensor& weights = *op.src[0];
  const Packing& packing = *packing_of(weights);
  const std::vector<Row> rows = rows_of(op);
  ToFloats* const to_floats = find_to_floats(weights.type);
  const auto* packed = static_cast<const uint8_t*>(weights.data);
  std::vector<uint8_t> loose;
  if (weights.extra == nullptr) {
    loose.resize(packing.bytes * matrices_of(weights));
    const size_t bytes = weights.nb[3] * extent(weights, 3);
    set_span(packing, matrices_of(weights), {0, bytes}, weights.data, loose.data());
    packed = loose.data();
  }
  share_out(threads, rows.size(), [&](size_t i) {
    const Row& row = rows[i];
    std::vector<uint8_t> stored(row_bytes(*packing.type, packing.k));
    unpack_rows(packing, packed + row.matrix * packing.bytes, row.row, 1, stored);
    to_floats(stored.data(), row.values, weights.ne[0]);
  });
  return success;
}

}  // namespace tw::ggml
