#include "kernels/harness.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <optional>
#include <sstream>

#include "kernels/float_operands.h"
#include "kernels/given_table.h"
#include "kernels/output.h"
#include "kernels/rhs_source.h"
#include "kernels/rows.h"
#include "kernels/static_operands.h"
#include "reference/half_reference.h"
#include "reference/half_sums_reference.h"
#include "reference/pack_reference.h"
#include "support/call_checked.h"

namespace tw::test {
namespace {

/// What a packed operand is made of.
struct Packed {
  Buffer buffer;
  size_t stride = 0;  ///< from panel to panel
  std::vector<uint8_t> before;

  [[nodiscard]] const uint8_t* panel_at(size_t row, const tw_layout& layout) const {
    return buffer->data() + row / panel_rows(layout) * stride;
  }
  [[nodiscard]] bool changed() const {
    return !std::equal(before.begin(), before.end(), buffer->data());
  }
};

std::string report_text(const CallReport& report, const std::vector<const GuardedBuffer*>& buffers,
                        uint64_t allowed) {
  if (report.signal != 0) {
    for (const GuardedBuffer* buffer : buffers) {
      const std::string place = buffer->describe(report.address);
      if (!place.empty()) return "it touched memory " + place;
    }
    std::ostringstream text;
    text << "signal " << report.signal << " (" << fault_name(report.signal) << ") at "
         << report.address;
    return text.str();
  }
  const uint64_t clobbered = report.clobbered & ~allowed;
  if (clobbered != 0) return "it clobbered " + register_names(clobbered);
  if (report.split_rows != 0) return "rows of tiles in its frame lie across cache lines";
  for (const GuardedBuffer* buffer : buffers) {
    const std::string damage = buffer->slack_damage();
    if (!damage.empty()) return damage;
  }
  return {};
}

std::string call(void (*function)(const tw_args*), const tw_args& args,
                 const std::vector<const GuardedBuffer*>& buffers, uint64_t allowed) {
  return report_text(call_checked(reinterpret_cast<Function>(function), &args), buffers, allowed);
}

/// Packs `rows` rows with everything between guard pages.
std::string pack(const tw_packer& packer, const Case& test, tw_pack_args args,
                 const std::vector<const GuardedBuffer*>& sources, Packed& packed) {
  const size_t panel = panel_rows(*packer.layout);
  const size_t panels = (args.rows + panel - 1) / panel;
  const size_t bytes = panel_bytes(*packer.layout, args.k);
  packed.stride = bytes + test.panel_padding;
  packed.buffer =
      make_buffer(packer.operand, panels == 0 ? 0 : (panels - 1) * packed.stride + bytes, test);
  packed.buffer->fill(poison);
  args.size = sizeof args;
  tw_pack_into(&args, packer.layout);
  args.row_end = args.rows;
  args.packed = packed.buffer->data();
  args.packed_stride = packed.stride;
  args.vector_bytes = vector_bytes(*packer.layout);
  std::vector<const GuardedBuffer*> buffers = sources;
  buffers.push_back(packed.buffer.get());
  const std::string wrong = report_text(call_checked(reinterpret_cast<Function>(packer.run), &args),
                                        buffers, compilers_choice());
  packed.before.assign(packed.buffer->data(), packed.buffer->data() + packed.buffer->size());
  return wrong.empty() ? wrong : std::string(packer.name) + ": " + wrong;
}

/// Rows as their user keeps them; the last one ends where the buffer does.
void place_rows(const Case& test, const Matmul& problem, const std::vector<uint8_t>& rows,
                const tw_layout& layout, Packed& lhs) {
  const size_t row = problem.k * layout.data_bits / 8;
  lhs.stride = row + test.panel_padding;
  lhs.buffer = make_buffer("lhs", problem.m == 0 ? 0 : (problem.m - 1) * lhs.stride + row, test);
  lhs.buffer->fill(poison);
  for (size_t r = 0; r < problem.m && row != 0; ++r) {
    std::memcpy(lhs.buffer->data() + r * lhs.stride, rows.data() + r * row, row);
  }
  lhs.before.assign(lhs.buffer->data(), lhs.buffer->data() + lhs.buffer->size());
}

/// `rows` are [m][k] values; of codes that are not packed alone, what they mean.
template <typename T>
std::string pack_lhs(const tw_packer& packer, const Case& test, const std::vector<T>& rows,
                     Packed& packed, int32_t zero_point = 0, float scale = 0) {
  const Buffer source = make_buffer("lhs source", rows, test);
  tw_pack_args args{};
  args.rows = test.m;
  args.k = test.k;
  args.source = source->data();
  args.source_stride = test.k * sizeof(T);
  args.lhs_zero_point = zero_point;
  args.lhs_scale = scale;
  return pack(packer, test, args, {source.get()}, packed);
}

/// As bytes. A bias argument replaces the packed bias, so that one is made wrong.
std::vector<uint8_t> packed_bias(std::vector<int32_t> values, const Case& test) {
  if (test.bias == Bias::argument) std::fill(values.begin(), values.end(), 1000);
  std::vector<uint8_t> bytes(values.size() * sizeof(int32_t));
  if (!bytes.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

std::vector<uint8_t> packed_bias(std::vector<float> values, const std::string& type,
                                 const Case& test) {
  if (test.bias == Bias::argument) std::fill(values.begin(), values.end(), 1000.0F);
  return bytes_of_floats(type, values);
}

/// `codes`: of activations that are codes, or none.
std::string pack_rhs(const tw_packer& packer, const Case& test, const Matmul& problem,
                     const std::optional<StaticMatmul>& codes, Packed& packed) {
  const tw_layout& layout = *packer.layout;
  const bool floats = has_float_weights(layout);
  const std::vector<uint8_t> bytes =
      floats ? float_source(problem, layout, test.kxn) : rhs_source(problem, test, packer);
  const Buffer source = make_buffer("rhs source", bytes, test);
  const bool none = floats || is_ggml(packer);
  const std::vector<uint8_t> typed =
      none ? std::vector<uint8_t>()
           : scale_bytes(codes ? codes->scales : problem.scales, scale_type(layout));
  const Buffer scales = make_buffer("scales", typed, test);
  const std::string type = bias_type(read_layout(layout.text));
  const Buffer bias = make_buffer(
      "bias source", codes ? packed_bias(codes->bias, test) : packed_bias(problem.bias, type, test),
      test);
  const Buffer zeros =
      make_buffer("zero points", scale_bytes(problem.zeros, scale_type(layout)), test);
  tw_pack_args args{};
  if (!problem.zeros.empty()) args.zero_points = zeros->data();
  if (codes) {
    args.lhs_zero_point = codes->lhs_zero_point;
    args.lhs_scale = codes->lhs_scale;
    args.dst_scale = codes->dst_scale;
  }
  args.rows = problem.n;
  args.k = problem.k;
  args.source = source->data();
  const size_t rows = std::strcmp(packer.source, "kxn") == 0 ? problem.k : problem.n;
  args.source_stride = rows == 0 ? 0 : bytes.size() / rows;
  args.scales = none ? nullptr : scales->data();
  args.scale_stride = problem.n == 0 ? 0 : typed.size() / problem.n;
  args.bias = test.bias == Bias::none ? nullptr : bias->data();
  args.flags =
      packer.layout->data_bits == 4 && test.unsigned_nibbles ? TW_PACK_UNSIGNED_NIBBLES : 0;
  return pack(packer, test, args, {source.get(), scales.get(), bias.get(), zeros.get()}, packed);
}

/// Weights that no generated packer fills.
void place_given(const tw_layout& layout, const Case& test, const Matmul& problem, Packed& packed) {
  const bool wrong_bias = test.bias == Bias::argument;
  const std::vector<uint8_t> bytes =
      given_weights(layout.text, vector_bytes(layout) / 16, problem, wrong_bias);
  const size_t panel = panel_bytes(layout, problem.k);
  const size_t panels = panel == 0 ? 0 : bytes.size() / panel;
  packed.stride = panel + test.panel_padding;
  packed.buffer = make_buffer("rhs", panels == 0 ? 0 : (panels - 1) * packed.stride + panel, test);
  packed.buffer->fill(poison);
  for (size_t i = 0; i < panels; ++i) {
    std::memcpy(packed.buffer->data() + i * packed.stride, bytes.data() + i * panel, panel);
  }
  packed.before.assign(packed.buffer->data(), packed.buffer->data() + packed.buffer->size());
}

/// The type of a kernel's outputs, as its row says.
std::string output_type(const tw_kernel& kernel) {
  switch (kernel.dst) {
    case TW_F32:
      return "f32";
    case TW_F16:
      return "f16";
    case TW_BF16:
      return "bf16";
    case TW_S8:
      return "i8";
    case TW_S32:
      return "i32";
    default:
      return "";
  }
}

/// The kernel whose f32 outputs those of `kernel` are before they are added to what was there, and
/// converted.
const tw_kernel* f32_twin(const tw_kernel& kernel) {
  for (const tw_kernel* other : running_kernels()) {
    if (other->dst == TW_F32 && other->accumulate == 0 &&
        std::strcmp(kernel.isa, other->isa) == 0 &&
        std::strcmp(kernel.technique, other->technique) == 0 && kernel.lhs->id == other->lhs->id &&
        kernel.rhs->id == other->rhs->id && kernel.tile_m == other->tile_m &&
        kernel.tile_n == other->tile_n && kernel.tile_n_scalable == other->tile_n_scalable &&
        kernel.unroll_k == other->unroll_k && kernel.accumulators == other->accumulators) {
      return other;
    }
  }
  return nullptr;
}

/// Outputs of floats in another type than f32, or added to `old`: those of the f32 kernel, to which
/// that is done.
Judge judge_by(const tw_kernel& twin, tw_args args, const Case& test,
               const std::vector<float>& old) {
  auto out = std::make_shared<Output>(make_output(test, "f32", {}));
  args.dst = out->buffer->data() + out->offset(test.portion.m0, test.portion.n0);
  args.dst_stride = out->stride;
  const float min = args.min;
  const float max = args.max;
  if (!old.empty()) {
    args.min = -INFINITY;
    args.max = INFINITY;
  }
  twin.run(&args);
  return judge_bits([out, old, min, max, n = test.n](size_t row, size_t column) {
    const float sum = out->value(row, column);
    return old.empty() ? sum : clamp_output(sum + old[row * n + column], min, max);
  });
}

const tw_packer* rhs_packer_of(const tw_kernel& kernel, const Packers& packers, const Case& test) {
  if (!test.kxn && packers.nxk != nullptr) return packers.nxk;
  if (kernel.rhs->block == 0) return packers.kxn;
  // Where there is a packer of ggml's rows it is tried.
  return packers.ggml != nullptr ? packers.ggml : packers.nxk;
}

/// For each column of the portion what packed ones are.
std::vector<uint8_t> bias_argument(const Matmul& problem, const std::optional<StaticMatmul>& codes,
                                   bool gives_sums, const std::string& type,
                                   const Portion& portion) {
  std::vector<float> values;
  for (size_t column = portion.n0; column < portion.n1; ++column) {
    const int32_t whole = !codes       ? 0
                          : gives_sums ? codes->bias[column]
                                       : folded_bias(*codes, column);
    values.push_back(codes ? std::bit_cast<float>(whole) : problem.bias[column]);
  }
  return bytes_of_floats(type, values);
}

std::string check(const tw_kernel& kernel, const Packers& packers, const Case& test,
                  std::vector<uint8_t>* bytes) {
  if (output_type(kernel).empty()) return "its outputs are of no type that is known here";
  const tw_packer* rhs_packer = rhs_packer_of(kernel, packers, test);
  if (!is_unpacked(*kernel.lhs) && packers.lhs == nullptr) return "no packer for its lhs layout";
  const LayoutText& rhs_layout = read_layout(kernel.rhs->text);
  const bool is_given = rhs_layout.table == "given";
  if (rhs_packer == nullptr && !is_given) return "no packer for its rhs layout";
  if (panel_rows(*kernel.lhs) == 0 || panel_rows(*kernel.rhs) == 0) {
    return "its panels depend on a vector length, and this machine has no such vectors";
  }
  const LayoutText& lhs_layout = read_layout(kernel.lhs->text);
  Matmul problem = make_operands(test, scaling_of(kernel));
  const std::string biases = bias_type(rhs_layout);
  for (float& bias : problem.bias) bias = rounded_to(biases, bias);
  if (kernel.accumulate != 0) problem.old = old_outputs(test, output_type(kernel));
  problem.ties = lhs_layout.ties_away ? Ties::away : Ties::even;
  problem.half_scales = scales_of(lhs_layout).type == "f16";
  problem.factor = scale_factor(rhs_layout);
  // Where sums are in accumulator tiles, the product of a block's scales is made in one, too; with
  // offsets the scales' product is what sums are multiplied by.
  problem.offsets = has_offsets(rhs_layout);
  problem.scales_first =
      problem.offsets || (rhs_layout.block != 0 && std::strcmp(kernel.technique, "outer") == 0);
  problem.from_lowest = kernel.lhs->sum_factor == -1;
  for (size_t column = 0; column < test.n; ++column) {
    problem.sixteenfold.push_back(counts_sixteenfold(lhs_layout, rhs_layout, column));
  }
  const bool gives_sums = kernel.dst == TW_S32;
  if (gives_sums) {
    // Whole numbers, as contracts want them.
    for (float& zero : problem.zeros)
      zero = std::fmax(-128.0F, std::fmin(std::round(zero), 127.0F));
  }
  std::optional<StaticMatmul> codes;
  if (kernel.dst == TW_S8 || gives_sums) codes = as_static(problem, test);
  Packed lhs;
  Packed rhs;
  std::string wrong;
  if (is_unpacked(*kernel.lhs)) {
    const auto rows = codes ? std::vector<uint8_t>(codes->lhs.begin(), codes->lhs.end())
                            : float_rows(problem, *kernel.lhs);
    place_rows(test, problem, rows, *kernel.lhs, lhs);
  } else {
    wrong = codes ? pack_lhs(*packers.lhs, test, codes->lhs, lhs, codes->lhs_zero_point,
                             codes->lhs_scale)
                  : pack_lhs(*packers.lhs, test, problem.lhs, lhs);
  }
  if (is_given) {
    place_given(*kernel.rhs, test, problem, rhs);
  } else if (wrong.empty()) {
    wrong = pack_rhs(*rhs_packer, test, problem, codes, rhs);
  }
  if (!wrong.empty()) return wrong;

  const Portion& portion = test.portion;
  const Output dst = make_output(test, output_type(kernel), problem.old);
  const Buffer bias =
      make_buffer("bias", bias_argument(problem, codes, gives_sums, biases, portion), test);

  tw_args args{};
  args.size = sizeof args;
  args.m = portion.m1 - portion.m0;
  args.n = portion.n1 - portion.n0;
  args.k = test.k;
  args.block = kernel.rhs->block;
  args.lhs = lhs.panel_at(portion.m0, *kernel.lhs);
  args.lhs_stride = lhs.stride;
  args.rhs = rhs.panel_at(portion.n0, *kernel.rhs);
  args.rhs_stride = rhs.stride;
  args.dst = dst.buffer->data() + dst.offset(portion.m0, portion.n0);
  args.dst_stride = dst.stride;
  args.bias = test.bias == Bias::argument ? bias->data() : nullptr;
  const Buffer lookup = make_buffer(
      "lookup", is_given ? given_values(rhs_layout.table) : std::vector<int32_t>(), test);
  if (is_given) args.lookup = lookup->data();
  args.min = problem.min;
  args.max = problem.max;
  if (codes) {
    args.min = static_cast<float>(codes->min);
    args.max = static_cast<float>(codes->max);
    args.dst_zero_point = codes->dst_zero_point;
  }
  args.rhs_prefetch = test.prefetch;
  args.flags = test.prefetch != 0 ? TW_STREAM_OUTPUT : 0;

  const bool is_assembly = std::strcmp(kernel.printer, "assembly") == 0;
  wrong = call(kernel.run, args, {lhs.buffer.get(), rhs.buffer.get(), dst.buffer.get(), bias.get()},
               is_assembly ? 0 : compilers_choice());
  if (!wrong.empty()) return wrong;
  if (lhs.changed()) return "it changed its lhs";
  if (rhs.changed()) return "it changed its rhs";
  if (bytes != nullptr) *bytes = output_bytes(test, dst);
  if (gives_sums) return compare(test, judge_sums(as_sums(problem, *codes)), dst);
  if (codes) return compare(test, judge_codes(*codes), dst);
  if (has_half_sums(*kernel.lhs, *kernel.rhs)) {
    return compare(test,
                   judge_half_sums(as_floats(problem, *kernel.lhs, *kernel.rhs), problem.old,
                                   {kernel.accumulators, kernel.unroll_k}),
                   dst);
  }
  if (!has_float_rows(*kernel.lhs)) return compare(test, judge_codes(problem), dst);
  if (kernel.dst == TW_F32 && kernel.accumulate == 0) {
    return compare(test, judge_floats(as_floats(problem, *kernel.lhs, *kernel.rhs)), dst);
  }
  const tw_kernel* twin = f32_twin(kernel);
  if (twin == nullptr) return "there is no kernel of f32 outputs to compare with";
  return compare(test, judge_by(*twin, args, test, problem.old), dst);
}

}  // namespace

std::string run_case(const tw_kernel& kernel, const Packers& packers, const Case& asked,
                     std::vector<uint8_t>* bytes) {
  Case test = asked;
  const tw_axes* axes = kernel.rhs->axes;
  if (axes != nullptr && axes->bias.type == TW_TYPE_NONE) test.bias = Bias::none;
  if (axes != nullptr && axes->codes != nullptr && axes->codes->given != 0) {
    test.k =
        (test.k + kernel.rhs->k_multiple - 1) / kernel.rhs->k_multiple * kernel.rhs->k_multiple;
  }
  const std::string wrong = check(kernel, packers, test, bytes);
  return wrong.empty() ? wrong : wrong + " (" + to_string(test) + ")";
}

}  // namespace tw::test
