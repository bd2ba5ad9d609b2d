#include "emit/client_functions.h"

#include <fmt/format.h>

#include <algorithm>

#include "emit/client_parts.h"
#include "model/reject.h"

namespace tw {
namespace {

ClientFunction number(const std::string& name, Length value) {
  return getter(name, {}, client_return(length_text(value)));
}

const char* output_type(const Family& family) {
  return family.dst == ElementType::f32 && !is_float(*family.rhs) ? "float" : "void";
}

/// Of activations, and what becomes of them.
ClientParameters lhs_parameters(const Variant& kernel) {
  if (is_indirect(kernel)) {
    return {"const void* indirection_buffer", "const void* pad_ptr", "size_t lhs_ptr_offset"};
  }
  if (!is_unpacked(kernel.lhs)) return {"const void* lhs_packed"};
  // Of codes one row, of which nobody tells the next one's place.
  if (is_static(*kernel.family.lhs)) return {"const void* lhs"};
  return {"const void* lhs", "size_t lhs_stride"};
}

std::string lhs_args(const ClientMatmul& matmul) {
  const Variant& kernel = *matmul.kernels.front();
  if (is_indirect(kernel)) return indirect_args(matmul);
  if (is_unpacked(kernel.lhs)) {
    const bool codes = is_static(*kernel.family.lhs);
    return fmt::format("  args.lhs = lhs;\n  args.lhs_stride = {};\n", codes ? "k" : "lhs_stride");
  }
  return fmt::format("  args.lhs = lhs_packed;\n  args.lhs_stride = lhs_panel_bytes(k{});\n",
                     kernel.lhs.block != 0 ? ", bl" : "");
}

/// Whether only the shortest blocks have a kernel. KleidiAI takes all multiples.
bool lacks_long_blocks(const Variant& kernel, const std::vector<ClientCode>& codes) {
  return kernel.lhs.block != 0 && codes.size() == 1 && !has_long_blocks(kernel.rhs);
}

/// The kernel that serves blocks of `bl`, where vectors are as long as panels are wide.
std::string call_kernel(const ClientMatmul& matmul, const Variant& kernel,
                        const std::vector<ClientCode>& codes) {
  if (lacks_long_blocks(kernel, codes)) {
    const std::string panel = length_text(kernel.rhs.panel);
    const std::string told = length_text(told_rhs(matmul).panel);
    const std::string fits = panel == told ? "" : fmt::format(" && {} == {}", panel, told);
    return fmt::format(
        "  if (bl == {}{}) {{\n"
        "    {}(&args);\n"
        "  }} else {{\n"
        "    tw_kai_multiply_{}_{}(&args, {}, {}, {});\n"
        "  }}\n",
        plain_block, fits, codes.front().symbol, kernel.family.lhs->name, kernel.family.rhs->name,
        length_text(kernel.lhs.panel), told, kernel.rhs.order.kr);
  }
  if (codes.size() == 1) return fmt::format("  {}(&args);\n", codes.front().symbol);
  return fmt::format("  (bl == {} ? {} : {})(&args);\n", codes.front().block, codes.front().symbol,
                     codes.back().symbol);
}

/// As the body of a branch.
std::string indented(const std::string& lines) {
  std::string text;
  for (size_t at = 0; at < lines.size();) {
    const size_t end = lines.find('\n', at) + 1;
    text += "  " + lines.substr(at, end - at);
    at = end;
  }
  return text;
}

/// What calls those for the rest: one row may have its own.
std::string call_rest(const ClientMatmul& matmul, const std::vector<ClientCode>& rest) {
  if (matmul.single.empty()) return call_kernel(matmul, *matmul.rest.front(), rest);
  const auto middle = rest.begin() + static_cast<std::ptrdiff_t>(rest.size() / 2);
  return fmt::format("  if (rest == 1) {{\n{}  }} else {{\n{}  }}\n",
                     indented(call_kernel(matmul, *matmul.single.front(), {middle, rest.end()})),
                     indented(call_kernel(matmul, *matmul.rest.front(), {rest.begin(), middle})));
}

/// Codes of the kernels for whole tiles come first, then those for the rest.
std::string call_by_rows(const ClientMatmul& matmul, const std::vector<ClientCode>& codes) {
  const Variant& kernel = *matmul.kernels.front();
  if (is_indirect(kernel)) return call_by_table_rows(matmul, codes);
  const Variant& rest = *matmul.rest.front();
  const size_t parts = matmul.single.empty() ? 2 : 3;
  const auto middle = codes.begin() + static_cast<std::ptrdiff_t>(codes.size() / parts);
  const bool unpacked = is_unpacked(kernel.lhs);
  const std::string most = length_text(kernel.tile.m - rest.tile.m);
  const auto if_any = [](const std::string& call) {
    return "  if (args.m != 0) {\n" + indented(call) + "  }\n";
  };
  return fmt::format(
      "  const size_t left = m % {};\n"
      "  const size_t rest = {};\n"
      "  args.m = m - rest;\n"
      "{}"
      "  args.lhs = (const char*)args.lhs + {} * args.lhs_stride;\n"
      "  args.dst = (char*)dst + args.m * dst_stride_row;\n"
      "  args.m = rest;\n"
      "{}",
      length_text(kernel.tile.m), unpacked ? "left" : fmt::format("left <= {} ? left : 0", most),
      if_any(call_kernel(matmul, kernel, {codes.begin(), middle})),
      unpacked ? "args.m" : "args.m / " + length_text(kernel.lhs.panel),
      if_any(call_rest(matmul, {middle, codes.end()})));
}

/// What outputs are clamped to, and of codes which one stands for 0.
ClientParameters clamp_parameters(const Family& family) {
  if (is_static(*family.lhs)) return {"const struct kai_matmul_requantize32_params* params"};
  const ClientParameters limits = {"float scalar_min", "float scalar_max"};
  return takes_table(*family.rhs) ? with(limits, {"const int32_t* lut"}) : limits;
}

std::string clamp_args(const Family& family) {
  if (!is_static(*family.lhs)) {
    const std::string limits = "  args.min = scalar_min;\n  args.max = scalar_max;\n";
    if (!takes_table(*family.rhs)) return limits;
    return limits + usual_table(*family.rhs) + "  args.lookup = lut != NULL ? lut : usual;\n";
  }
  return "  args.min = (float)params->min_value;\n"
         "  args.max = (float)params->max_value;\n"
         "  args.dst_zero_point = params->output_zero_point;\n";
}

ClientFunction run_matmul(const ClientMatmul& matmul, const std::vector<ClientCode>& codes) {
  const Variant& kernel = *matmul.kernels.front();
  const ElementType dst = kernel.family.dst;
  const ClientParameters bl = block_parameter(kernel.rhs);
  ClientFunction run = runner(with({"size_t m", "size_t n", "size_t k"}, bl), "");
  run.parameters = with(run.parameters, lhs_parameters(kernel));
  run.parameters = with(
      run.parameters, {"const void* rhs_packed", fmt::format("{}* dst", output_type(kernel.family)),
                       "size_t dst_stride_row"});
  if (!matmul.in_chunks) {
    run.parameters.emplace_back("size_t dst_stride_col");
    if (checks_strides(matmul)) {
      run.body += client_check(fmt::format("dst_stride_col == {}", bits(dst) / 8));
    }
    run.body += "  KAI_UNUSED(dst_stride_col);\n";
  }
  run.parameters = with(run.parameters, clamp_parameters(kernel.family));
  if (has_one_row(matmul)) run.body += client_check("m == 1");
  run.body +=
      check_blocks(kernel.rhs) +
      "  tw_args args = {0};\n"
      "  args.size = sizeof args;\n"
      "  args.m = m;\n"
      "  args.n = n;\n"
      "  args.k = k;\n" +
      (bl.empty() ? "" : "  args.block = bl;\n") + lhs_args(matmul) +
      "  args.rhs = rhs_packed;\n"
      "  args.rhs_stride = rhs_panel_bytes(k" +
      (bl.empty() ? "" : ", bl") +
      ");\n"
      "  args.dst = dst;\n"
      "  args.dst_stride = dst_stride_row;\n" +
      clamp_args(kernel.family) +
      (matmul.rest.empty() ? call_kernel(matmul, kernel, codes) : call_by_rows(matmul, codes));
  return run;
}

/// The byte where an operand's panel begins. `told`: whose blocks callers tell.
ClientFunction panel_offset(const std::string& side, const std::string& index, const Layout& layout,
                            const Layout& told) {
  const ClientParameters bl = block_parameter(told);
  const std::string panel = length_text(layout.panel);
  const bool ignores_blocks = !bl.empty() && layout.block == 0;
  return getter(side + "_packed_offset", with({"size_t " + index, "size_t k"}, bl),
                client_check(fmt::format("{} % {} == 0", index, panel)) + check_blocks(told) +
                    (ignores_blocks ? unused({"bl"}) : "") +
                    client_return(fmt::format("{} / {} * {}_panel_bytes(k{})", index, panel, side,
                                              layout.block == 0 ? "" : ", bl")));
}

}  // namespace

std::string client_check(const std::string& condition) {
  return fmt::format("  KAI_ASSERT({});\n", condition);
}

std::string client_checks(const std::vector<std::string>& conditions) {
  std::string text;
  for (const std::string& condition : conditions) text += client_check(condition);
  return text;
}

std::string client_return(const std::string& value) {
  return fmt::format("  return {};\n", value);
}

std::string unused(const std::vector<std::string>& parameters) {
  std::string text;
  for (const std::string& parameter : parameters)
    text += fmt::format("  KAI_UNUSED({});\n", parameter);
  return text;
}

ClientParameters with(ClientParameters some, const ClientParameters& more) {
  some.insert(some.end(), more.begin(), more.end());
  return some;
}

ClientFunction getter(const std::string& what, const ClientParameters& parameters,
                      const std::string& body) {
  return {"get_" + what, "size_t", parameters, body};
}

ClientFunction runner(const ClientParameters& parameters, const std::string& body) {
  return {"run", "void", parameters, body};
}

ClientFunction packed_offset(const PackedOperand& operand) {
  const bool lhs = operand.side == Side::lhs;
  const std::string index = lhs ? "m_idx" : "n_idx";
  const std::string check =
      operand.checks_index ? client_check(fmt::format("{} % {} == 0", index, operand.panel)) : "";
  return getter(
      lhs ? "lhs_packed_offset" : "rhs_packed_offset", with({"size_t " + index}, operand.depth),
      check + operand.check +
          client_return(fmt::format("{} / {} * ({})", index, operand.panel, operand.bytes)));
}

ClientFunction packed_size(const PackedOperand& operand) {
  const bool lhs = operand.side == Side::lhs;
  const char* count = lhs ? "m" : "n";
  return getter(lhs ? "lhs_packed_size" : "rhs_packed_size",
                with({fmt::format("size_t {}", count)}, operand.depth),
                operand.check + client_return(fmt::format("kai_div_ceil({}, {}) * ({})", count,
                                                          operand.panel, operand.bytes)));
}

ClientParameters block_parameter(const Layout& layout) {
  return layout.block != 0 ? ClientParameters{"size_t bl"} : ClientParameters{};
}

std::string row_bytes_call(const Layout& layout) {
  return layout.block != 0 ? "row_bytes(k, bl)" : "row_bytes(k)";
}

std::string usual_table(const Format& format) {
  const auto& values = format.table->values;
  const auto* const end = values.data() + (size_t{1} << code_bits(format));
  return fmt::format("  static const int32_t usual[] = {{{}}};\n",
                     fmt::join(values.data(), end, ", "));
}

std::string check_blocks(const Layout& layout) {
  if (layout.block == 0) return "";
  return client_check(fmt::format("bl != 0 && bl % {} == 0", plain_block)) +
         client_check("k % bl == 0");
}

std::string length_text(Length length) {
  if (length.is_fixed()) return std::to_string(length.fixed);
  const bool streams = length.svl != 0;
  const int64_t segments = length.vl + length.svl;
  if (length.fixed != 0 || (streams && length.vl != 0) || segments % 4 != 0) {
    reject("of KleidiAI's names lengths are numbers, or of vectors");
  }
  const int64_t vectors = segments / 4;  // of 32-bit lanes
  const std::string one = fmt::format("kai_get_{}_vector_length_u32()", streams ? "sme" : "sve");
  return vectors == 1 ? one : fmt::format("({} * {})", vectors, one);
}

Layout told_rhs(const ClientMatmul& matmul) {
  Layout layout = matmul.kernels.front()->rhs;
  if (matmul.n_step.is_fixed() && !layout.panel.is_fixed()) layout.panel = matmul.n_step;
  return layout;
}

std::string row_bytes_text(const Layout& layout) {
  const int64_t once =
      panel_bytes(layout, 0) == Length{} ? 0 : ratio(panel_bytes(layout, 0), layout.panel);
  if (is_float(layout.element)) {
    const std::string k =
        layout.k_multiple == 1 ? "k" : fmt::format("kai_roundup(k, {})", layout.k_multiple);
    const std::string values = fmt::format("{} * {}", k, bits(layout.element) / 8);
    return once == 0 ? values : fmt::format("{} + {}", values, once);
  }
  const int64_t codes = byte_codes(layout);
  const std::string divided = codes == 1 ? "" : fmt::format(" / {}", codes);
  if (layout.block == 0) {
    return fmt::format("kai_roundup(k, {}){} + {}", layout.k_multiple, divided, once);
  }
  const std::string blocks =
      fmt::format("k / bl * (bl{} + {})", divided,
                  ratio(block_field_bytes(layout) + apart_bytes(layout), layout.panel));
  return once == 0 ? blocks : fmt::format("{} + {}", blocks, once);
}

std::vector<ClientFunction> matmul_functions(const ClientMatmul& matmul,
                                             const std::vector<ClientCode>& codes) {
  const Variant& kernel = *matmul.kernels.front();
  const int64_t bytes = bits(kernel.family.dst) / 8;
  // Of floats that are packed the weights' blocks are told, too.
  const bool told = is_float(*kernel.family.lhs) && kernel.rhs.block != 0;
  std::vector<ClientFunction> all = {
      number("m_step", matmul.m_step),
      number("n_step", matmul.n_step),
      number("mr", kernel.lhs.panel),
      number("nr", told_rhs(matmul).panel),
      number("kr", matmul.kr),
      number("sr", matmul.sr),
      is_unpacked(kernel.lhs)
          ? lhs_offset(matmul)
          : panel_offset("lhs", "m_idx", kernel.lhs, told ? kernel.rhs : kernel.lhs),
      panel_offset("rhs", "n_idx", told_rhs(matmul), told_rhs(matmul)),
      getter("dst_offset", {"size_t m_idx", "size_t n_idx", "size_t dst_stride"},
             check_row(matmul) +
                 client_check(fmt::format("n_idx % {} == 0", length_text(matmul.n_step))) +
                 client_return(fmt::format("n_idx * {} + m_idx * dst_stride", bytes))),
      getter("dst_size", {"size_t m", "size_t n"}, client_return(fmt::format("m * n * {}", bytes))),
      run_matmul(matmul, codes)};
  // Rows that are not packed are in no panels.
  if (is_unpacked(kernel.lhs)) all.erase(all.begin() + 2);
  if (!matmul.in_chunks) return all;
  // Nor are panels told.
  const auto offset = std::find_if(all.begin(), all.end(), [](const ClientFunction& each) {
    return each.name.starts_with("get_lhs_");
  });
  offset->in_struct = !is_indirect(kernel);
  all.erase(all.begin() + 2, offset);
  all.back().member = "run_imatmul";
  return told_in_chunks(all, kernel.rhs);
}

std::vector<ClientFunction> packer_functions(const ClientPacker& packer, const Layout& layout,
                                             const std::vector<ClientCode>& codes) {
  if (packer.of_taps) return tap_packer_functions(packer, layout, codes);
  if (packer.panel != Length{}) return panel_packer_functions(packer, layout, codes);
  const bool has_code = !codes.empty();
  if (is_float(layout.element)) return float_row_functions(packer, layout);
  if (packer.side == Side::lhs) return lhs_packer_functions(packer, layout, has_code);
  if (packer.has_offsets()) return offset_packer_functions(packer, layout);
  return packer.rows_of_blocks ? row_packer_functions(packer, layout, has_code)
                               : rhs_packer_functions(packer, layout, has_code);
}

}  // namespace tw
