#include <fmt/format.h>

#include "emit/client_parts.h"
#include "model/sources.h"

namespace tw {
namespace {

/// Of the arguments that a packer gets those that it need not know the panels' bytes.
const char* const unused_shape = "  KAI_UNUSED(kr);\n  KAI_UNUSED(sr);\n";

const ClientParameters shape = {"size_t mr", "size_t kr", "size_t sr"};
const ClientParameters rhs_shape = {"size_t nr", "size_t kr", "size_t sr"};

/// What the functions of a packer of weights depend on.
struct Weights {
  bool blocks = false;   ///< whose scales and strides the caller gives
  bool nibbles = false;  ///< signed, or 8 above
  bool table = false;    ///< codes of 2 bits, which each call may say the meaning of
  bool rows_of_n = false;
};

std::string check_weights(const Weights& weights, const Layout& layout) {
  std::string text = client_check("num_groups == 1") + client_check("extra_bytes == 0") +
                     client_check("rhs != NULL") + client_check("scale != NULL") +
                     client_check("rhs_packed != NULL") + client_check("params != NULL") +
                     client_check("params->lhs_zero_point == 1") +
                     client_check("sr != 0 && kr % sr == 0");
  if (weights.nibbles) {
    text +=
        client_check(weights.blocks ? "params->rhs_zero_point == 8"
                                    : "params->rhs_zero_point == 0 || params->rhs_zero_point == 8");
  }
  if (weights.table) {
    text += client_check("params->rhs_zero_point == 2") + client_check("kr / sr == 4") +
            client_check(fmt::format("k % {} == 0", layout.k_multiple));
  }
  if (weights.blocks) {
    text += client_check("params->scale_dt == kai_dt_bf16") + client_check("nr % 4 == 0") +
            check_blocks(layout);
  }
  return text + "  KAI_UNUSED(num_groups);\n  KAI_UNUSED(extra_bytes);\n  KAI_UNUSED(params);\n";
}

ClientParameters weights_parameters(const ClientPacker& packer, const Weights& weights) {
  const std::string& params = packer.alias.empty() ? packer.params : packer.alias;
  const ClientParameters codes = {
      fmt::format("const {}* rhs", weights.nibbles || weights.table ? "uint8_t" : "int8_t")};
  ClientParameters tail = {"void* rhs_packed", "size_t extra_bytes",
                           fmt::format("const struct {}* params", params)};
  if (weights.table) tail.emplace_back("const int32_t* lut_arg");
  ClientParameters all = with({"size_t num_groups", "size_t n", "size_t k"}, rhs_shape);
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
  if (weights.table) return "(k + 3) / 4";
  const std::string values = weights.rows_of_n ? "n" : "k";
  return weights.nibbles ? fmt::format("({} + 1) / 2", values) : values;
}

/// Of generated code where there is some for the panels.
std::string packer_call(const std::string& in_plain_c, const Layout& layout, bool has_code) {
  if (!has_code) return "  " + in_plain_c;
  return fmt::format(
      "  const tw_packer_fn pack = find(nr, kr / sr{});\n"
      "  if (pack != NULL) {{\n"
      "    pack(&args);\n"
      "  }} else {{\n"
      "    {}"
      "  }}\n",
      layout.block != 0 ? ", bl" : "", in_plain_c);
}

ClientFunction run_rhs(const ClientPacker& packer, const Weights& weights, const Layout& layout,
                       bool has_code) {
  std::string body = check_weights(weights, layout) + "  if (n == 0) return;\n" +
                     pack_args("n", "rhs", "rhs") +
                     fmt::format("  args.source_stride = {};\n", weights_stride(weights)) +
                     "  args.bias = bias;\n  args.scales = scale;\n";
  if (weights.blocks) body += "  args.scale_stride = scale_stride;\n  args.block = bl;\n";
  if (weights.nibbles) {
    body += "  if (params->rhs_zero_point == 8) args.flags = TW_PACK_UNSIGNED_NIBBLES;\n";
  }
  body += fmt::format("  args.packed_stride = nr * {};\n", row_bytes_call(layout));
  if (weights.table) body += usual_table(*packer.format);
  const std::string how = weights.table ? "lut_arg != NULL ? lut_arg : usual"
                                        : fmt::format("kr / sr, {}", weights.rows_of_n ? 1 : 0);
  const std::string in_plain_c =
      fmt::format("tw_kai_pack_{}{}(&args, nr, {});\n", packer.format->name,
                  packer.sequential ? "_sequential" : "", how);
  body += packer_call(in_plain_c, layout, has_code);
  return {"run", "void", weights_parameters(packer, weights), body};
}

/// Where columns from n_idx on begin in the source.
ClientFunction rhs_offset(const Weights& weights) {
  std::string body = client_return("n_idx * rhs_stride");
  if (weights.rows_of_n) {
    body = std::string(weights.nibbles ? client_check("n_idx % 2 == 0") : "") +
           "  KAI_UNUSED(rhs_stride);\n" + client_return(weights.nibbles ? "n_idx / 2" : "n_idx");
  }
  return {"get_rhs_offset", "size_t", {"size_t n_idx", "size_t rhs_stride"}, body};
}

}  // namespace

std::vector<ClientFunction> packer_functions(const ClientStructPacker& packer) {
  return {{"run",
           "void",
           {"const struct kai_matmul_pack_rhs_uker_config* config",
            "const struct kai_matmul_pack_rhs_uker_args* args", "int32_t rhs_zero_point"},
           fmt::format("  KAI_UNUSED(config);\n  {}(args, {}, rhs_zero_point, {:d});\n", packer.by,
                       length_text(packer.panel), packer.rows_of_n)}};
}

std::string pack_args(const std::string& rows, const std::string& operand,
                      const std::string& source) {
  return fmt::format(
      "  tw_pack_args args = {{0}};\n"
      "  args.size = sizeof args;\n"
      "  args.rows = args.row_end = {};\n"
      "  args.k = k;\n"
      "  args.source = {};\n"
      "  args.packed = {}_packed;\n",
      rows, source, operand);
}

/// What callers have those pack at a time, by their kr and sr.
static std::string depth_text(const ClientPacker& packer) {
  return packer.apart ? "kr" : "kr / sr";
}

std::vector<ClientFunction> lhs_packer_functions(const ClientPacker& packer, const Layout& layout,
                                                 bool has_code) {
  const std::string row = row_bytes_call(layout);
  const bool blocks = layout.block != 0;
  const ClientParameters depth = with({"size_t k"}, block_parameter(layout));
  const std::string type = packer.source == source_name(ElementType::f32) ? "float" : "void";
  ClientFunction run = {"run", "void", with(with({"size_t m"}, depth), shape), ""};
  run.parameters = with(run.parameters, {"size_t m_idx_start", fmt::format("const {}* lhs", type),
                                         "size_t lhs_stride", "void* lhs_packed"});
  // Of blocks the first row is told by its number alone; where their scales are apart, by none.
  const std::string source =
      blocks && !packer.apart ? "(const char*)lhs + m_idx_start * lhs_stride" : "lhs";
  run.body = check_blocks(layout) + client_check("sr != 0 && kr % sr == 0") +
             "  if (m == 0) return;\n" + pack_args("m", "lhs", source) +
             "  args.source_stride = lhs_stride;\n";
  if (blocks) run.body += "  args.block = bl;\n  args.scale_copies = 1;\n";
  run.body += fmt::format("  args.packed_stride = mr * {};\n  const size_t depth = {};\n", row,
                          depth_text(packer));
  std::string plain =
      fmt::format("tw_kai_pack_{}{}", packer.format->name, packer.real_sums ? "_sums" : "");
  if (type == "void") plain += "_" + packer.source;
  if (packer.rounding == Rounding::even) plain += "_ties_even";
  if (packer.apart) {
    run.body += fmt::format(
        "  KAI_UNUSED(m_idx_start);\n"
        "  tw_kai_pack_lhs_apart(&args, mr, depth, {}, {}_apart);\n",
        has_code ? "find(1, depth)" : "NULL", plain);
  } else {
    run.body += fmt::format(
        "  tw_kai_pack_lhs(&args, mr, depth, m_idx_start % mr, {},\n"
        "                  {});\n",
        has_code ? "find(mr, depth), find(1, depth)" : "NULL, NULL", plain);
  }
  return {{"get_m_step", "size_t", {"size_t mr"}, client_return("mr")},
          {"get_lhs_offset",
           "size_t",
           {"size_t m_idx", "size_t lhs_stride"},
           client_return("m_idx * lhs_stride")},
          {"get_lhs_packed_offset", "size_t", with(with({"size_t m_idx"}, depth), shape),
           unused_shape + client_return(fmt::format("m_idx / mr * (mr * {})", row))},
          {"get_lhs_packed_size", "size_t", with(with({"size_t m"}, depth), shape),
           unused_shape + client_return(fmt::format("kai_div_ceil(m, mr) * (mr * {})", row))},
          run};
}

/// KleidiAI's takes rows for dense, whatever their stride, and does not look at the first one's
/// number.
std::vector<ClientFunction> float_row_functions(const ClientPacker& packer, const Layout& layout) {
  const ClientParameters depth = {"size_t k", "size_t bl"};
  const std::string panel = "(mr * " + row_bytes_call(layout) + ")";
  const std::string check = client_check("kr != 0 && k % kr == 0") +
                            client_check("bl != 0 && k % bl == 0") +
                            "  KAI_UNUSED(kr);\n  KAI_UNUSED(sr);\n  KAI_UNUSED(bl);\n";
  ClientFunction run = {"run", "void", with(with({"size_t m"}, depth), shape), ""};
  run.parameters = with(run.parameters, {"size_t m_idx_start", "const void* lhs",
                                         "size_t lhs_stride", "void* lhs_packed"});
  run.body = client_check(fmt::format("sr == {}", layout.order.kr)) +
             "  KAI_UNUSED(bl);\n  KAI_UNUSED(kr);\n  KAI_UNUSED(sr);\n"
             "  KAI_UNUSED(m_idx_start);\n  KAI_UNUSED(lhs_stride);\n" +
             pack_args("m", "lhs", "lhs") +
             fmt::format(
                 "  args.source_stride = k * sizeof(float);\n"
                 "  args.packed_stride = {};\n"
                 "  tw_kai_pack_{}_rows_{}(&args, mr, {});\n",
                 panel, packer.format->name, packer.source, layout.order.kr);
  return {{"get_m_step", "size_t", {"size_t mr"}, client_return("mr")},
          {"get_lhs_offset",
           "size_t",
           {"size_t m_idx", "size_t lhs_stride"},
           client_return("m_idx * lhs_stride")},
          {"get_lhs_packed_offset", "size_t", with(with({"size_t m_idx"}, depth), shape),
           client_check("m_idx % mr == 0") + check + client_return("m_idx / mr * " + panel)},
          {"get_lhs_packed_size", "size_t", with(with({"size_t m"}, depth), shape),
           check + client_return("kai_div_ceil(m, mr) * " + panel)},
          run};
}

std::vector<ClientFunction> rhs_packer_functions(const ClientPacker& packer, const Layout& layout,
                                                 bool has_code) {
  const Weights weights = {layout.block != 0, bits(layout.element) == 4,
                           takes_table(*packer.format), packer.rows_of_n};
  const std::string stride = "nr * " + row_bytes_call(layout);
  ClientParameters tail = rhs_shape;
  std::string begin = unused_shape;
  if (weights.blocks) {
    tail = with(tail, {"size_t bl", "enum kai_datatype scale_dt"});
    begin += client_check("scale_dt == kai_dt_bf16") + "  KAI_UNUSED(scale_dt);\n" +
             check_blocks(layout);
  }
  return {
      {"get_n_step", "size_t", {"size_t nr"}, client_return("nr")},
      rhs_offset(weights),
      {"get_rhs_packed_stride", "size_t", with({"size_t k"}, tail), begin + client_return(stride)},
      {"get_rhs_packed_offset", "size_t", with({"size_t n_idx", "size_t k"}, tail),
       client_check("n_idx % nr == 0") + begin +
           client_return(fmt::format("n_idx / nr * ({})", stride))},
      {"get_rhs_packed_size", "size_t", with({"size_t n", "size_t k"}, tail),
       begin + client_return(fmt::format("kai_div_ceil(n, nr) * ({})", stride))},
      run_rhs(packer, weights, layout, has_code)};
}

/// Weights in blocks of unsigned codes, with all that the packer is told between them and where
/// they go to.
static ClientParameters block_parameters(const ClientPacker& packer, const ClientParameters& own) {
  const std::string& params = packer.alias.empty() ? packer.params : packer.alias;
  ClientParameters all = with({"size_t num_groups", "size_t n", "size_t k"}, rhs_shape);
  all = with(with(all, {"size_t bl", "const uint8_t* rhs"}), own);
  return with(all, {"void* rhs_packed", "size_t extra_bytes",
                    fmt::format("const struct {}* params", params)});
}

/// What runs of both kinds of such packers begin with.
static std::string begin_blocks(const Layout& layout) {
  return client_check("num_groups == 1") + client_check("extra_bytes == 0") +
         client_check("rhs != NULL") + client_check("rhs_packed != NULL") +
         client_check("params != NULL") + client_check("params->lhs_zero_point == 1") +
         client_check("params->rhs_zero_point == 8") + client_check("sr == 2") +
         check_blocks(layout) +
         "  KAI_UNUSED(num_groups);\n  KAI_UNUSED(extra_bytes);\n  KAI_UNUSED(params);\n"
         "  if (n == 0) return;\n" +
         pack_args("n", "rhs", "rhs") +
         fmt::format("  args.block = bl;\n  args.packed_stride = nr * {};\n",
                     row_bytes_call(layout));
}

/// Where such weights are, packed and before.
static std::vector<ClientFunction> block_functions(const Layout& layout) {
  const ClientParameters block_shape = {"size_t nr", "size_t kr", "size_t bl"};
  const std::string stride = "nr * " + row_bytes_call(layout);
  const std::string begin = check_blocks(layout) + "  KAI_UNUSED(kr);\n";
  return {{"get_rhs_packed_stride", "size_t", with({"size_t k"}, block_shape),
           begin + client_return(stride)},
          {"get_rhs_offset",
           "size_t",
           {"size_t n_idx", "size_t rhs_stride"},
           client_return("n_idx * rhs_stride")},
          {"get_rhs_packed_offset", "size_t", with({"size_t n_idx", "size_t k"}, block_shape),
           client_check("n_idx % nr == 0") + begin +
               client_return(fmt::format("n_idx / nr * ({})", stride))},
          {"get_rhs_packed_size", "size_t", with({"size_t n", "size_t k"}, block_shape),
           begin + client_return(fmt::format("kai_div_ceil(n, nr) * ({})", stride))}};
}

std::vector<ClientFunction> offset_packer_functions(const ClientPacker& packer,
                                                    const Layout& layout) {
  std::vector<ClientFunction> all = block_functions(layout);
  all.erase(all.begin());  // KleidiAI has no such function
  const std::string kind = packer.sequential ? "_sequential" : "";
  const std::string checks = packer.sequential
                                 ? client_check("kr / sr == 4") + client_check("nr % 4 == 0")
                                 : client_check("kr >= 1 && kr <= 16");
  all.push_back(
      {"run", "void",
       block_parameters(packer, {"const void* zero", "const void* bias", "const void* scale"}),
       client_check("zero != NULL") + client_check("scale != NULL") + checks +
           begin_blocks(layout) +
           fmt::format("  args.source_stride = k / 2;\n"
                       "  args.scales = scale;\n"
                       "  args.scale_stride = k / bl * sizeof(float);\n"
                       "  args.zero_points = zero;\n"
                       "  args.bias = bias;\n"
                       "  tw_kai_pack_{}{}(&args, nr, kr / sr, {});\n",
                       packer.format->name, kind, packer.high_first ? 1 : 0)});
  return all;
}

std::vector<ClientFunction> row_packer_functions(const ClientPacker& packer, const Layout& layout,
                                                 bool has_code) {
  ClientFunction run = {"run", "void", block_parameters(packer, {"const float* bias"}), ""};
  run.body = client_check("bias == NULL") + "  KAI_UNUSED(bias);\n" + begin_blocks(layout) +
             "  args.source_stride = row_bytes(k, bl);\n" +
             packer_call(packer.apart ? fmt::format("tw_kai_pack_{}_{}_apart(&args, nr, {});\n",
                                                    packer.format->name, packer.source,
                                                    packer.sequential ? 1 : 0)
                                      : fmt::format("tw_kai_pack_{}_{}(&args, nr, kr / sr);\n",
                                                    packer.format->name, packer.source),
                         layout, has_code);
  if (packer.apart) run.body = client_check("kr == 4") + run.body;
  std::vector<ClientFunction> all = block_functions(layout);
  all.push_back(run);
  return all;
}

}  // namespace tw
