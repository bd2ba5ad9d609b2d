#include "kernels/wrong_kernel.h"

#include <cmath>
#include <cstring>

#include "reference/fused.h"

namespace tw::test {
namespace {

// lhs: panels of one row, [padded k] codes, negated zero point, scale.
// rhs: panels of four columns, [padded k][4] codes, then sums, scales, biases.
constexpr size_t columns = 4;
constexpr size_t k_multiple = 4;
const tw_layout lhs_layout = {1,          "lhs i8 m1 kr4 k%4 [data|zeros:i32|scales:f32]",
                              1,          0,
                              k_multiple, 0,
                              8,          8,
                              0,          0,
                              1,          TW_SCALES_UNSET,
                              0,          0,
                              0,          0,
                              0,          nullptr,
                              TW_S8,      0};
const tw_layout rhs_layout = {2,          "rhs i8 n4 kr1 k%4 [data|sums:i32*1|scales:f32|bias:f32]",
                              columns,    0,
                              k_multiple, 0,
                              8,          12,
                              0,          0,
                              1,          TW_SCALES_UNSET,
                              0,          0,
                              0,          0,
                              0,          nullptr,
                              TW_S8,      0};

size_t padded(size_t k) {
  return (k + k_multiple - 1) / k_multiple * k_multiple;
}

template <typename T>
T get(const void* base, size_t bytes, size_t index) {
  T value;
  std::memcpy(&value, static_cast<const uint8_t*>(base) + bytes + index * sizeof(T), sizeof(T));
  return value;
}

template <typename T>
void put(void* base, size_t bytes, size_t index, T value) {
  std::memcpy(static_cast<uint8_t*>(base) + bytes + index * sizeof(T), &value, sizeof(T));
}

void pack_lhs(const tw_pack_args* args) {
  for (size_t row = args->row_begin; row < args->row_end; ++row) {
    std::vector<float> values(args->k);
    if (args->k != 0) {
      std::memcpy(values.data(),
                  static_cast<const uint8_t*>(args->source) + row * args->source_stride,
                  args->k * sizeof(float));
    }
    const QuantizedRow quantized = quantize_row_qai8dx(values.data(), args->k);
    uint8_t* panel = static_cast<uint8_t*>(args->packed) + row * args->packed_stride;
    std::memset(panel, 0, padded(args->k));
    if (args->k != 0) std::memcpy(panel, quantized.codes.data(), args->k);
    put<int32_t>(panel, padded(args->k), 0, -quantized.zero_point);
    put<float>(panel, padded(args->k), 1, quantized.scale);
  }
}

int8_t code_at(const tw_pack_args* args, size_t row, size_t column) {
  return get<int8_t>(args->source, row * args->source_stride + column, 0);
}

template <bool kxn>
void pack_rhs(const tw_pack_args* args) {
  const size_t depth = padded(args->k);
  for (size_t first = args->row_begin; first < args->row_end; first += columns) {
    uint8_t* panel = static_cast<uint8_t*>(args->packed) + first / columns * args->packed_stride;
    std::memset(panel, 0, columns * (depth + 12));
    for (size_t j = 0; j < columns && first + j < args->rows; ++j) {
      int32_t sum = 0;
      for (size_t i = 0; i < args->k; ++i) {
        const int8_t code = kxn ? code_at(args, i, first + j) : code_at(args, first + j, i);
        put<int8_t>(panel, 0, i * columns + j, code);
        sum += code;
      }
      put<int32_t>(panel, depth * columns, j, sum);
      put<float>(panel, (depth + 4) * columns, j, get<float>(args->scales, 0, first + j));
      const float bias = args->bias == nullptr ? 0 : get<float>(args->bias, 0, first + j);
      put<float>(panel, (depth + 8) * columns, j, bias);
    }
  }
}

volatile uint8_t sink;

/// What a kernel that touches memory which is not its own does there.
void corrupt_memory(Fault fault, const tw_args* args) {
  auto* last_row = static_cast<uint8_t*>(args->dst) + (args->m - 1) * args->dst_stride;
  const auto* lhs = static_cast<const uint8_t*>(args->lhs);
  const auto* rhs = static_cast<const uint8_t*>(args->rhs);
  const size_t panels = (args->n + columns - 1) / columns;
  const size_t depth = padded(args->k);
  switch (fault) {
    case Fault::write_past_dst:
      last_row[args->n * sizeof(float)] = 0;
      break;
    case Fault::write_before_dst:
      static_cast<uint8_t*>(args->dst)[-1] = 0;
      break;
    case Fault::read_past_lhs:
      sink = lhs[(args->m - 1) * args->lhs_stride + depth + 8];
      break;
    case Fault::read_past_rhs:
      sink = rhs[(panels - 1) * args->rhs_stride + columns * (depth + 12)];
      break;
    case Fault::read_past_bias:
      if (args->bias != nullptr) sink = get<uint8_t>(args->bias, args->n * sizeof(float), 0);
      break;
    case Fault::changed_operand:
      const_cast<uint8_t*>(rhs)[0] ^= 1;
      break;
    default:
      break;
  }
}

template <Fault fault>
float value_at(const tw_args* args, size_t row, size_t column) {
  const size_t depth = padded(args->k);
  const auto* lhs = static_cast<const uint8_t*>(args->lhs) + row * args->lhs_stride;
  const auto* rhs = static_cast<const uint8_t*>(args->rhs) + column / columns * args->rhs_stride;
  const size_t j = column % columns;
  int32_t sum = get<int32_t>(lhs, depth, 0) * get<int32_t>(rhs, depth * columns, j);
  const size_t end = fault == Fault::wrong_value && args->k > 0 ? args->k - 1 : depth;
  for (size_t i = 0; i < end; ++i) {
    sum += get<int8_t>(lhs, 0, i) * get<int8_t>(rhs, 0, i * columns + j);
  }
  const float scale = get<float>(rhs, (depth + 4) * columns, j) * get<float>(lhs, depth, 1);
  const bool own_bias = args->bias == nullptr || fault == Fault::ignored_bias;
  const float bias =
      own_bias ? get<float>(rhs, (depth + 8) * columns, j) : get<float>(args->bias, 0, column);
  const float lower = fault == Fault::one_sided_clamp ? -INFINITY : args->min;
  return clamp_output(fused(static_cast<float>(sum), scale, bias), lower, args->max);
}

template <Fault fault>
void run(const tw_args* args) {
  if (args->m == 0 || args->n == 0) return;
  const size_t rows = fault == Fault::tail_row ? args->m & ~size_t{1} : args->m;
  const size_t n = fault == Fault::write_past_n ? args->n + 1 : args->n;
  for (size_t row = 0; row < rows; ++row) {
    for (size_t column = 0; column < n; ++column) {
      const float value = column < args->n ? value_at<fault>(args, row, column) : 0;
      put<float>(args->dst, row * args->dst_stride, column, value);
    }
  }
  corrupt_memory(fault, args);
}

/// Functions that do nothing but leave a register as it must not be; no compiler could repair it.
extern "C" void tw_test_clobbers_register(const tw_args* args);
extern "C" void tw_test_clobbers_state(const tw_args* args);
extern "C" void tw_test_moves_stack(const tw_args* args);
// Only ELF has symbols say that they are functions.
#if !defined(__ELF__)
#define TW_TYPE(name)
#elif defined(__x86_64__)
#define TW_TYPE(name) ".type " name ", @function\n"
#else
#define TW_TYPE(name) ".type " name ", %function\n"
#endif
#if defined(__x86_64__)
#define TW_FUNCTION(name, body) asm(".text\n.globl " name "\n" TW_TYPE(name) name ":\n" body "\n");
TW_FUNCTION("tw_test_clobbers_register", "not %r13\n ret")
TW_FUNCTION("tw_test_clobbers_state", "pushq $0x7F80\n ldmxcsr (%rsp)\n pop %rax\n ret")
TW_FUNCTION("tw_test_moves_stack", "pop %rax\n sub $64, %rsp\n jmp *%rax")
#elif defined(__aarch64__)
#define TW_FUNCTION(name, body) asm(".text\n.globl " name "\n" TW_TYPE(name) name ":\n" body "\n");
TW_FUNCTION("tw_test_clobbers_register", "mvn x23, x23\n ret")
TW_FUNCTION("tw_test_clobbers_state", "fmov d11, #1.0\n ret")
TW_FUNCTION("tw_test_moves_stack", "sub sp, sp, #64\n ret")
#endif

tw_kernel_fn function_of(Fault fault) {
  switch (fault) {
    case Fault::none:
      return run<Fault::none>;
    case Fault::wrong_value:
      return run<Fault::wrong_value>;
    case Fault::one_sided_clamp:
      return run<Fault::one_sided_clamp>;
    case Fault::ignored_bias:
      return run<Fault::ignored_bias>;
    case Fault::write_past_n:
      return run<Fault::write_past_n>;
    case Fault::write_past_dst:
      return run<Fault::write_past_dst>;
    case Fault::write_before_dst:
      return run<Fault::write_before_dst>;
    case Fault::tail_row:
      return run<Fault::tail_row>;
    case Fault::read_past_lhs:
      return run<Fault::read_past_lhs>;
    case Fault::read_past_rhs:
      return run<Fault::read_past_rhs>;
    case Fault::read_past_bias:
      return run<Fault::read_past_bias>;
    case Fault::changed_operand:
      return run<Fault::changed_operand>;
    case Fault::clobbered_register:
      return tw_test_clobbers_register;
    case Fault::clobbered_state:
      return tw_test_clobbers_state;
    case Fault::clobbered_stack:
      return tw_test_moves_stack;
  }
  return nullptr;
}

}  // namespace

tw_kernel wrong_kernel(Fault fault) {
  tw_kernel row{};
  row.name = "wrong_kernel";
  row.family = "matmul_clamp_f32_qai8dxp_qsi8cxp";
  row.isa = "scalar";
  row.printer = "intrinsics";
  row.technique = "dot";
  row.run = function_of(fault);
  row.lhs = &lhs_layout;
  row.rhs = &rhs_layout;
  row.tile_m = 2;
  row.tile_n = columns;
  row.dst = TW_F32;
  return row;
}

Packers wrong_kernel_packers() {
  static const tw_packer lhs = {"lhs", "lhs", "f32", "scalar", pack_lhs, 0, &lhs_layout, 0, 0};
  static const tw_packer nxk = {"nxk", "rhs",       "nxk", "scalar", pack_rhs<false>,
                                0,     &rhs_layout, 0,     0};
  static const tw_packer kxn = {"kxn", "rhs",       "kxn", "scalar", pack_rhs<true>,
                                0,     &rhs_layout, 0,     0};
  return {&lhs, &nxk, &kxn};
}

}  // namespace tw::test
