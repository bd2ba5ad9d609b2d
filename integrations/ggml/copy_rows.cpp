// SET_ROWS, GET_ROWS of floats, CPY and CONT: rows of f32 to rows of floats or of blocks, as caches
// of K and V have them.
#include <stdexcept>

#include "integrations/common/message.h"
#include "integrations/ggml/packing.h"
#include "integrations/ggml/row_operations.h"
#include "integrations/ggml/rows.h"
#include "integrations/ggml/symbols.h"

namespace tw::ggml {

namespace {

/// Of shorter rows ggml's own way is faster: caches of V that are not for flash attention have
/// rows of one value, and so have the shares of experts, which stand between operations of ggml's.
constexpr int64_t kShortest = 16;

using ToFloats16 = void(const float* values, uint16_t* floats, int64_t count);
using ToBlocks = void(const float* values, void* blocks, int64_t count);

/// The host's own, for the same bits, and its CPU backend's where it has any: how that rounds
/// depends on the processor. Null: it has none.
struct HostRows {
  ToFloats16* f16 = first_function<ToFloats16>({"ggml_cpu_fp32_to_fp16", "ggml_fp32_to_fp16_row"});
  ToFloats16* bf16 = first_function<ToFloats16>({"ggml_cpu_fp32_to_bf16", "ggml_fp32_to_bf16_row"});
  ToBlocks* q8_0 = first_function<ToBlocks>({"quantize_row_q8_0"});
  ToBlocks* q4_0 = first_function<ToBlocks>({"quantize_row_q4_0"});
};
const HostRows& host_rows() {
  static const HostRows found;
  return found;
}

ToFloats16* to_floats_16(int32_t type) {
  return type == type_f16 ? host_rows().f16 : type == type_bf16 ? host_rows().bf16 : nullptr;
}
ToBlocks* to_blocks(int32_t type) {
  return type == type_q8_0 ? host_rows().q8_0 : type == type_q4_0 ? host_rows().q4_0 : nullptr;
}

bool takes_floats(const Tensor& to) {
  if (to.type == type_f32) return to.nb[0] == sizeof(float);
  if (to_floats_16(to.type) != nullptr) return to.nb[0] == sizeof(uint16_t);
  if (to_blocks(to.type) == nullptr) return false;
  const WeightType& type = *weight_type(to.type);
  return to.nb[0] == type.block_bytes && extent(to, 0) % type.block == 0;
}

void copy(const float* from, const Tensor& to, const RowAt& at) {
  if (ToFloats16* const floats = to_floats_16(to.type)) {
    floats(from, row_in<uint16_t>(to, at), to.ne[0]);
  } else if (ToBlocks* const blocks = to_blocks(to.type)) {
    blocks(from, row_in<void>(to, at), to.ne[0]);
  } else {
    std::memcpy(row_in<float>(to, at), from, extent(to, 0) * sizeof(float));
  }
}

// ---- the same rows elsewhere ----

bool covers_copy(const Tensor& op) {
  return has_float_rows(op.src[0]) && has_same_shape(op, *op.src[0]) && takes_floats(op) &&
         op.ne[0] >= kShortest;
}

size_t all_rows(const Tensor& op) {
  return rows_in(op);
}

void compute_copy(const Tensor& op, size_t begin, size_t end) {
  for (size_t row = begin; row < end; ++row) {
    const RowAt at = row_at(op, row);
    copy(row_in<const float>(*op.src[0], at), op, at);
  }
}

// ---- rows by their numbers ----

bool are_numbers(const Tensor* numbers) {
  if (numbers == nullptr || numbers->ne[3] != 1) return false;
  return (numbers->type == type_i32 && numbers->nb[0] == sizeof(int32_t)) ||
         (numbers->type == type_i64 && numbers->nb[0] == sizeof(int64_t));
}

int64_t number_at(const Tensor& numbers, const RowAt& at) {
  const char* place = static_cast<const char*>(numbers.data) + at.i1 * numbers.nb[0] +
                      at.i2 * numbers.nb[1] + at.i3 * numbers.nb[2];
  if (numbers.type == type_i32) return *reinterpret_cast<const int32_t*>(place);
  return *reinterpret_cast<const int64_t*>(place);
}

/// `at` counts rows, of which numbers may have fewer batches.
int64_t number_of(const Tensor& numbers, const RowAt& at) {
  return number_at(numbers, {at.i1, at.i2 % extent(numbers, 1), at.i3 % extent(numbers, 2)});
}

void check_numbers(const Tensor& op, const Tensor& counted, int64_t rows) {
  for (size_t row = 0; row < rows_in(counted); ++row) {
    const int64_t number = number_of(*op.src[1], row_at(counted, row));
    if (number >= 0 && number < rows) continue;
    throw std::out_of_range(
        fmt::format("{}: row {} is asked for; 0 to {} are legal", op.name, number, rows - 1));
  }
}

bool covers_set(const Tensor& op) {
  const Tensor *rows = op.src[0], *numbers = op.src[1];
  if (!has_float_rows(rows) || !takes_floats(op) || !are_numbers(numbers)) return false;
  const auto divides = [](int64_t part, int64_t whole) { return part > 0 && whole % part == 0; };
  return rows->ne[0] == op.ne[0] && rows->ne[2] == op.ne[2] && rows->ne[3] == op.ne[3] &&
         numbers->ne[0] == rows->ne[1] && divides(numbers->ne[1], rows->ne[2]) &&
         divides(numbers->ne[2], rows->ne[3]) && op.ne[0] >= kShortest;
}

size_t rows_to_set(const Tensor& op) {
  return rows_in(*op.src[0]);
}

void compute_set(const Tensor& op, size_t begin, size_t end) {
  const Tensor& rows = *op.src[0];
  for (size_t row = begin; row < end; ++row) {
    const RowAt at = row_at(rows, row);
    const auto number = static_cast<size_t>(number_of(*op.src[1], at));
    copy(row_in<const float>(rows, at), op, {number, at.i2, at.i3});
  }
}

void check_set(const Tensor& op) {
  check_numbers(op, *op.src[0], op.ne[1]);
}

bool covers_get(const Tensor& op) {
  const Tensor *rows = op.src[0], *numbers = op.src[1];
  return has_float_rows(rows) && has_float_rows(&op) && are_numbers(numbers) &&
         op.ne[0] == rows->ne[0] && op.ne[1] == numbers->ne[0] && op.ne[2] == numbers->ne[1] &&
         op.ne[3] == numbers->ne[2] && rows->ne[2] == op.ne[2] && rows->ne[3] == op.ne[3] &&
         op.ne[0] >= kShortest;
}

void compute_get(const Tensor& op, size_t begin, size_t end) {
  for (size_t row = begin; row < end; ++row) {
    const RowAt at = row_at(op, row);
    const auto number = static_cast<size_t>(number_of(*op.src[1], at));
    copy(row_in<const float>(*op.src[0], {number, at.i2, at.i3}), op, at);
  }
}

void check_get(const Tensor& op) {
  check_numbers(op, op, op.src[0]->ne[1]);
}

}  // namespace

const RowOperation kSetRows = {"SET_ROWS", covers_set, rows_to_set, compute_set, check_set};
const RowOperation kGetFloats = {"GET_ROWS", covers_get, all_rows, compute_get, check_get};
const RowOperation kCopy = {"CPY", covers_copy, all_rows, compute_copy};
const RowOperation kContiguous = {"CONT", covers_copy, all_rows, compute_copy};

}  // namespace tw::ggml
