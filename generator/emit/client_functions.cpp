#include "emit/client_functions.h"

#include <fmt/format.h>

#include <stdexcept>

#include "model/sources.h"

namespace tw {
namespace {

using Parameters = std::vector<std::string>;
using Functions = std::vector<ClientFunction>;

/// As a statement; what it checks holds wherever callers keep to the header.
std::string check(const std::string& condition) {
  return fmt::format("  KAI_ASSERT({});\n", condition);
}

std::string give(const std::string& value) {
  return fmt::format("  return {};\n", value);
}

Parameters with(Parameters some, const Parameters& more) {
  some.insert(some.end(), more.begin(), more.end());
  return some;
}

ClientFunction number(const std::string& name, int64_t value) {
  return {"get_" + name, "size_t", {}, give(std::to_string(value))};
}

int64_t fixed(Length length) {
  if (!length.is_fixed()) throw std::invalid_argument("panels of vector lengths have no names yet");
  return length.fixed;
}

/// What the operand's functions are told beside k.
Parameters block_parameter(const Layout& layout) {
  return layout.block != 0 ? Parameters{"size_t bl"} : Parameters{};
}

std::string row_bytes_call(const Layout& layout) {
  return layout.block != 0 ? "row_bytes(k, bl)" : "row_bytes(k)";
}

std::string check_blocks(const Layout& layout) {
  if (layout.block == 0) return "";
  return check(fmt::format("bl != 0 && bl % {} == 0", shortest_block)) + check("k % bl == 0");
}

const char* output_type(ElementType type) {
  return type == ElementType::f32 ? "float" : "void";
}

/// The kernel that serves blocks of `bl`.
std::string call_kernel(const std::vector<ClientCode>& codes) {
  if (codes.size() == 1) return fmt::format("  {}(&args);\n", codes.front().symbol);
  return fmt::format("  (bl == {} ? {} : {})(&args);\n", codes.front().block, codes.front().symbol,
                     codes.back().symbol);
}

ClientFunction run_matmul(const Variant& kernel, const std::vector<ClientCode>& codes) {
  const ElementType dst = kernel.family.dst;
  const Parameters bl = block_parameter(kernel.rhs);
  ClientFunction run;
  run.name = "run";
  run.result = "void";
  run.parameters = with({"size_t m", "size_t n", "size_t k"}, bl);
  run.parameters =
      with(run.parameters, {"const void* lhs_packed", "const void* rhs_packed",
                            fmt::format("{}* dst", output_type(dst)), "size_t dst_stride_row",
                            "size_t dst_stride_col", "float scalar_min", "float scalar_max"});
  run.body = check(fmt::format("dst_stride_col == {}", bits(dst) / 8)) + check_blocks(kernel.rhs) +
             "  KAI_UNUSED(dst_stride_col);\n"
             "  tw_args args = {0};\n"
             "  args.size = sizeof args;\n"
             "  args.m = m;\n"
             "  args.n = n;\n"
             "  args.k = k;\n" +
             (bl.empty() ? "" : "  args.block = bl;\n") +
             "  args.lhs = lhs_packed;\n"
             "  args.lhs_stride = lhs_panel_bytes(k" +
             (kernel.lhs.block != 0 ? ", bl" : "") +
             ");\n"
             "  args.rhs = rhs_packed;\n"
             "  args.rhs_stride = rhs_panel_bytes(k" +
             (bl.empty() ? "" : ", bl") +
             ");\n"
             "  args.dst = dst;\n"
             "  args.dst_stride = dst_stride_row;\n"
             "  args.min = scalar_min;\n"
             "  args.max = scalar_max;\n" +
             call_kernel(codes);
  return run;
}

/// The byte where an operand's panel begins.
ClientFunction packed_offset(const std::string& side, const std::string& index,
                             const Layout& layout) {
  const Parameters bl = block_parameter(layout);
  const int64_t panel = fixed(layout.panel);
  return {fmt::format("get_{}_packed_offset", side), "size_t",
          with({"size_t " + index, "size_t k"}, bl),
          check(fmt::format("{} % {} == 0", index, panel)) + check_blocks(layout) +
              give(fmt::format("{} / {} * {}_panel_bytes(k{})", index, panel, side,
                               bl.empty() ? "" : ", bl"))};
}

/// Of the arguments that a packer gets those that it need not know the panels' bytes.
const char* const unused_shape = "  KAI_UNUSED(kr);\n  KAI_UNUSED(sr);\n";

const Parameters shape = {"size_t mr", "size_t kr", "size_t sr"};
const Parameters rhs_shape = {"size_t nr", "size_t kr", "size_t sr"};

/// What is the same in all runs of packers.
std::string pack_args(const std::string& rows, const std::string& source) {
  return fmt::format(
      "  tw_pack_args args = {{0}};\n"
      "  args.size = sizeof args;\n"
      "  args.rows = args.row_end = {0};\n"
      "  args.k = k;\n"
      "  args.source = {1};\n"
      "  args.packed = {1}_packed;\n",
      rows, source);
}

Functions lhs_functions(const ClientPacker& packer, const Layout& layout) {
  const std::string row = row_bytes_call(layout);
  const Parameters depth = with({"size_t k"}, block_parameter(layout));
  const std::string type = packer.source == source_name(ElementType::f32) ? "float" : "void";
  ClientFunction run = {"run", "void", with(with({"size_t m"}, depth), shape), ""};
  run.parameters = with(run.parameters, {"size_t m_idx_start", fmt::format("const {}* lhs", type),
                                         "size_t lhs_stride", "void* lhs_packed"});
  run.body = check_blocks(layout) + check("sr != 0 && kr % sr == 0") + "  if (m == 0) return;\n" +
             pack_args("m", "lhs") +
             fmt::format(
                 "  args.source_stride = lhs_stride;\n"
                 "  args.packed_stride = mr * {};\n"
                 "  const size_t depth = kr / sr;\n"
                 "  tw_kai_pack_lhs(&args, mr, depth, m_idx_start % mr, find(mr, depth), "
                 "find(1, depth),\n"
                 "                  tw_kai_pack_{});\n",
                 row, packer.format->name);
  return {{"get_m_step", "size_t", {"size_t mr"}, give("mr")},
          {"get_lhs_offset",
           "size_t",
           {"size_t m_idx", "size_t lhs_stride"},
           give("m_idx * lhs_stride")},
          {"get_lhs_packed_offset", "size_t", with(with({"size_t m_idx"}, depth), shape),
           unused_shape + give(fmt::format("m_idx / mr * (mr * {})", row))},
          {"get_lhs_packed_size", "size_t", with(with({"size_t m"}, depth), shape),
           unused_shape + give(fmt::format("kai_div_ceil(m, mr) * (mr * {})", row))},
          run};
}

/// What the functions of a packer of weights depend on.
struct Weights {
  bool blocks = false;   ///< whose scales and strides the caller gives
  bool nibbles = false;  ///< signed, or 8 above
  bool rows_of_n = false;
};

std::string check_weights(const Weights& weights, const Layout& layout) {
  std::string text = check("num_groups == 1") + check("extra_bytes == 0") + check("rhs != NULL") +
                     check("scale != NULL") + check("rhs_packed != NULL") +
                     check("params != NULL") + check("params->lhs_zero_point == 1") +
                     check("sr != 0 && kr % sr == 0");
  if (weights.nibbles) {
    text += check(weights.blocks ? "params->rhs_zero_point == 8"
                                 : "params->rhs_zero_point == 0 || params->rhs_zero_point == 8");
  }
  if (weights.blocks) {
    text += check("params->scale_dt == kai_dt_bf16") + check("nr % 4 == 0") + check_blocks(layout);
  }
  return text + "  KAI_UNUSED(num_groups);\n  KAI_UNUSED(extra_bytes);\n  KAI_UNUSED(params);\n";
}

Parameters weights_parameters(const ClientPacker& packer, const Weights& weights) {
  const std::string& params = packer.alias.empty() ? packer.params : packer.alias;
  const Parameters codes = {fmt::format("const {}* rhs", weights.nibbles ? "uint8_t" : "int8_t")};
  const Parameters tail = {"void* rhs_packed", "size_t extra_bytes",
                           fmt::format("const struct {}* params", params)};
  Parameters all = with({"size_t num_groups", "size_t n", "size_t k"}, rhs_shape);
  if (!weights.blocks) {
    return with(with(with(all, codes), {"const float* bias", "const float* scale"}), tail);
  }
  all = with(with(all, {"size_t bl"}), codes);
  return with(with(all, {"size_t rhs_stride", "const float* bias", "const void* scale",
                         "size_t scale_stride"}),
              tail);
}

/// Bytes from a source's row to the next one.
std::string weights_stride(const Weights& weights) {
  if (weights.blocks) return "rhs_stride";
  const std::string values = weights.rows_of_n ? "n" : "k";
  return weights.nibbles ? fmt::format("({} + 1) / 2", values) : values;
}

ClientFunction run_rhs(const ClientPacker& packer, const Weights& weights, const Layout& layout,
                       bool has_code) {
  std::string body = check_weights(weights, layout) + "  if (n == 0) return;\n" +
                     pack_args("n", "rhs") +
                     fmt::format("  args.source_stride = {};\n", weights_stride(weights)) +
                     "  args.bias = bias;\n  args.scales = scale;\n";
  if (weights.blocks) body += "  args.scale_stride = scale_stride;\n  args.block = bl;\n";
  if (weights.nibbles) {
    body += "  if (params->rhs_zero_point == 8) args.flags = TW_PACK_UNSIGNED_NIBBLES;\n";
  }
  body += fmt::format("  args.packed_stride = nr * {};\n", row_bytes_call(layout));
  const std::string in_plain_c = fmt::format("tw_kai_pack_{}(&args, nr, kr / sr, {});\n",
                                             packer.format->name, weights.rows_of_n ? 1 : 0);
  body += has_code ? fmt::format(
                         "  const tw_packer_fn pack = find(nr, kr / sr{});\n"
                         "  if (pack != NULL) {{\n"
                         "    pack(&args);\n"
                         "  }} else {{\n"
                         "    {}"
                         "  }}\n",
                         weights.blocks ? ", bl" : "", in_plain_c)
                   : "  " + in_plain_c;
  return {"run", "void", weights_parameters(packer, weights), body};
}

/// Where columns from n_idx on begin in the source.
ClientFunction rhs_offset(const Weights& weights) {
  std::string body = give("n_idx * rhs_stride");
  if (weights.rows_of_n) {
    body = std::string(weights.nibbles ? check("n_idx % 2 == 0") : "") +
           "  KAI_UNUSED(rhs_stride);\n" + give(weights.nibbles ? "n_idx / 2" : "n_idx");
  }
  return {"get_rhs_offset", "size_t", {"size_t n_idx", "size_t rhs_stride"}, body};
}

Functions rhs_functions(const ClientPacker& packer, const Layout& layout, bool has_code) {
  const Weights weights = {layout.block != 0, bits(layout.element) == 4, packer.rows_of_n};
  const std::string stride = "nr * " + row_bytes_call(layout);
  Parameters tail = rhs_shape;
  std::string begin = unused_shape;
  if (weights.blocks) {
    tail = with(tail, {"size_t bl", "enum kai_datatype scale_dt"});
    begin += check("scale_dt == kai_dt_bf16") + "  KAI_UNUSED(scale_dt);\n" + check_blocks(layout);
  }
  return {{"get_n_step", "size_t", {"size_t nr"}, give("nr")},
          rhs_offset(weights),
          {"get_rhs_packed_stride", "size_t", with({"size_t k"}, tail), begin + give(stride)},
          {"get_rhs_packed_offset", "size_t", with({"size_t n_idx", "size_t k"}, tail),
           check("n_idx % nr == 0") + begin + give(fmt::format("n_idx / nr * ({})", stride))},
          {"get_rhs_packed_size", "size_t", with({"size_t n", "size_t k"}, tail),
           begin + give(fmt::format("kai_div_ceil(n, nr) * ({})", stride))},
          run_rhs(packer, weights, layout, has_code)};
}

}  // namespace

std::string row_bytes_text(const Layout& layout) {
  const int64_t panel = fixed(layout.panel);
  const int64_t once = fixed(panel_bytes(layout, 0)) / panel;
  const int64_t codes = byte_codes(layout);
  const std::string divided = codes == 1 ? "" : fmt::format(" / {}", codes);
  if (layout.block == 0) {
    return fmt::format("kai_roundup(k, {}){} + {}", layout.k_multiple, divided, once);
  }
  return fmt::format("k / bl * (bl{} + {}) + {}", divided, fixed(block_field_bytes(layout)) / panel,
                     once);
}

std::vector<ClientFunction> matmul_functions(const ClientMatmul& matmul,
                                             const std::vector<ClientCode>& codes) {
  const Variant& kernel = *matmul.kernels.front();
  const int64_t bytes = bits(kernel.family.dst) / 8;
  return {
      number("m_step", matmul.m_step),
      number("n_step", matmul.n_step),
      number("mr", fixed(kernel.lhs.panel)),
      number("nr", fixed(kernel.rhs.panel)),
      number("kr", kernel.rhs.order.kr * matmul.sr),
      number("sr", matmul.sr),
      packed_offset("lhs", "m_idx", kernel.lhs),
      packed_offset("rhs", "n_idx", kernel.rhs),
      {"get_dst_offset",
       "size_t",
       {"size_t m_idx", "size_t n_idx", "size_t dst_stride"},
       check(fmt::format("m_idx % {} == 0", matmul.m_step)) +
           check(fmt::format("n_idx % {} == 0", matmul.n_step)) +
           give(fmt::format("n_idx * {} + m_idx * dst_stride", bytes))},
      {"get_dst_size", "size_t", {"size_t m", "size_t n"}, give(fmt::format("m * n * {}", bytes))},
      run_matmul(kernel, codes)};
}

std::vector<ClientFunction> packer_functions(const ClientPacker& packer, const Layout& layout,
                                             bool has_code) {
  return packer.side == Side::lhs ? lhs_functions(packer, layout)
                                  : rhs_functions(packer, layout, has_code);
}

}  // namespace tw
