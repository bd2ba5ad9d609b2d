#include <fmt/format.h>

#include "emit/client_parts.h"
#include "model/sources.h"

namespace tw {
namespace {

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
  std::string text = client_checks({"num_groups == 1", "extra_bytes == 0", "rhs != NULL",
                                    "scale != NULL", "rhs_packed != NULL", "params != NULL",
                                    "params->lhs_zero_point == 1", "sr != 0 && kr % sr == 0"});
  if (weights.nibbles) {
    text +=
        client_check(weights.blocks ? "params->rhs_zero_point == 8"
                                    : "params->rhs_zero_point == 0 || params->rhs_zero_point == 8");
  }
  if (weights.table) {
    text += client_checks({"params->rhs_zero_point == 2", "kr / sr == 4",
                           fmt::format("k % {} == 0", layout.k_multiple)});
  }
  if (weights.blocks) {
    text +=
        client_checks({"params->scale_dt == kai_dt_bf16", "nr % 4 == 0"}) + check_blocks(layout);
  }
  return text + unused({"num_groups", "extra_bytes", "params"});
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
  return runner(weights_parameters(packer, weights), body);
}

PackedOperand packed_columns(const Layout& layout, const ClientParameters& its_shape,
                             const std::string& check) {
  return {Side::rhs, "nr", "nr * " + row_bytes_call(layout), with({"size_t k"}, its_shape), check};
}

ClientFunction packed_stride(const PackedOperand& columns) {
  return getter("rhs_packed_stride", columns.depth, columns.check + client_return(columns.bytes));
}

/// Where columns from n_idx on begin in the source.
ClientFunction rhs_offset(const Weights& weights) {
  std::string body = client_return("n_idx * rhs_stride");
  if (weights.rows_of_n) {
    body = std::string(weights.nibbles ? client_check("n_idx % 2 == 0") : "") +
           unused({"rhs_stride"}) + client_return(weights.nibbles ? "n_idx / 2" : "n_idx");
  }
  return getter("rhs_offset", {"size_t n_idx", "size_t rhs_stride"}, body);
}

}  // namespace

std::vector<ClientFunction> packer_functions(const ClientStructPacker& packer) {
  return {
      runner({"const struct kai_matmul_pack_rhs_uker_config* config",
              "const struct kai_matmul_pack_rhs_uker_args* args", "int32_t rhs_zero_point"},
             unused({"config"}) + fmt::format("  {}(args, {}, rhs_zero_point, {:d});\n", packer.by,
                                              length_text(packer.panel), packer.rows_of_n))};
}

ClientParameters lhs_rows(const std::string& type) {
  return {"size_t m_idx_start", fmt::format("const {}* lhs", type), "size_t lhs_stride",
          "void* lhs_packed"};
}

ClientFunction lhs_rows_offset(const std::string& check) {
  return getter("lhs_offset", {"size_t m_idx", "size_t lhs_stride"},
                check + client_return("m_idx * lhs_stride"));
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

std::vector<ClientFunction> lhs_packer_functions(const ClientPacker& packer, const Layout& layout,
                                                 bool has_code) {
  const std::string panel_bytes = "mr * " + row_bytes_call(layout);
  const bool blocks = layout.block != 0;
  const ClientParameters depth = with(with({"size_t k"}, block_parameter(layout)), shape);
  const std::string type = packer.source == source_name(ElementType::f32) ? "float" : "void";
  ClientFunction run = runner(with(with({"size_t m"}, depth), lhs_rows(type)), "");
  // Of blocks the first row is told by its number alone; where their scales are apart, by none.
  const std::string source =
      blocks && !packer.apart ? "(const char*)lhs + m_idx_start * lhs_stride" : "lhs";
  run.body = check_blocks(layout) + client_check("sr != 0 && kr % sr == 0") +
             "  if (m == 0) return;\n" + pack_args("m", "lhs", source) +
             "  args.source_stride = lhs_stride;\n";
  if (blocks) run.body += "  args.block = bl;\n  args.scale_copies = 1;\n";
  run.body += fmt::format("  args.packed_stride = {};\n  const size_t depth = {};\n", panel_bytes,
                          packer.apart ? "kr" : "kr / sr");
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
  const PackedOperand packed = {Side::lhs, "mr", panel_bytes, depth, unused({"kr", "sr"}), false};
  return {getter("m_step", {"size_t mr"}, client_return("mr")), lhs_rows_offset(""),
          packed_offset(packed), packed_size(packed), run};
}

/// KleidiAI's takes rows for dense, whatever their stride, and does not look at the first one's
/// number.
std::vector<ClientFunction> float_row_functions(const ClientPacker& packer, const Layout& layout) {
  const PackedOperand packed = {
      Side::lhs, "mr", "mr * " + row_bytes_call(layout), with({"size_t k", "size_t bl"}, shape),
      client_checks({"kr != 0 && k % kr == 0", "bl != 0 && k % bl == 0"}) +
          unused({"kr", "sr", "bl"})};
  const std::string body = client_check(fmt::format("sr == {}", layout.order.kr)) +
                           unused({"bl", "kr", "sr", "m_idx_start", "lhs_stride"}) +
                           pack_args("m", "lhs", "lhs") +
                           fmt::format(
                               "  args.source_stride = k * sizeof(float);\n"
                               "  args.packed_stride = ({});\n"
                               "  tw_kai_pack_{}_rows_{}(&args, mr, {});\n",
                               packed.bytes, packer.format->name, packer.source, layout.order.kr);
  return {getter("m_step", {"size_t mr"}, client_return("mr")), lhs_rows_offset(""),
          packed_offset(packed), packed_size(packed),
          runner(with(with({"size_t m"}, packed.depth), lhs_rows("void")), body)};
}

std::vector<ClientFunction> rhs_packer_functions(const ClientPacker& packer, const Layout& layout,
                                                 bool has_code) {
  const Weights weights = {layout.block != 0, bits(layout.element) == 4,
                           takes_table(*packer.format), packer.rows_of_n};
  PackedOperand packed = packed_columns(layout, rhs_shape, unused({"kr", "sr"}));
  if (weights.blocks) {
    packed.depth = with(packed.depth, {"size_t bl", "enum kai_datatype scale_dt"});
    packed.check +=
        client_check("scale_dt == kai_dt_bf16") + unused({"scale_dt"}) + check_blocks(layout);
  }
  return {getter("n_step", {"size_t nr"}, client_return("nr")),
          rhs_offset(weights),
          packed_stride(packed),
          packed_offset(packed),
          packed_size(packed),
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
  return client_checks({"num_groups == 1", "extra_bytes == 0", "rhs != NULL", "rhs_packed != NULL",
                        "params != NULL", "params->lhs_zero_point == 1",
                        "params->rhs_zero_point == 8", "sr == 2"}) +
         check_blocks(layout) + unused({"num_groups", "extra_bytes", "params"}) +
         "  if (n == 0) return;\n" + pack_args("n", "rhs", "rhs") +
         fmt::format("  args.block = bl;\n  args.packed_stride = nr * {};\n",
                     row_bytes_call(layout));
}

/// Where such weights are packed.
static PackedOperand packed_blocks(const Layout& layout) {
  return packed_columns(layout, {"size_t nr", "size_t kr", "size_t bl"},
                        check_blocks(layout) + unused({"kr"}));
}

std::vector<ClientFunction> offset_packer_functions(const ClientPacker& packer,
                                                    const Layout& layout) {
  const PackedOperand packed = packed_blocks(layout);
  const std::string kind = packer.sequential ? "_sequential" : "";
  const std::string checks = packer.sequential ? client_checks({"kr / sr == 4", "nr % 4 == 0"})
                                               : client_check("kr >= 1 && kr <= 16");
  const ClientFunction run = runner(
      block_parameters(packer, {"const void* zero", "const void* bias", "const void* scale"}),
      client_checks({"zero != NULL", "scale != NULL"}) + checks + begin_blocks(layout) +
          fmt::format("  args.source_stride = k / 2;\n"
                      "  args.scales = scale;\n"
                      "  args.scale_stride = k / bl * sizeof(float);\n"
                      "  args.zero_points = zero;\n"
                      "  args.bias = bias;\n"
                      "  tw_kai_pack_{}{}(&args, nr, kr / sr, {});\n",
                      packer.format->name, kind, packer.high_first ? 1 : 0));
  return {rhs_offset({}), packed_offset(packed), packed_size(packed), run};
}

std::vector<ClientFunction> row_packer_functions(const ClientPacker& packer, const Layout& layout,
                                                 bool has_code) {
  const PackedOperand packed = packed_blocks(layout);
  const std::string in_plain_c =
      packer.apart ? fmt::format("tw_kai_pack_{}_{}_apart(&args, nr, {:d});\n", packer.format->name,
                                 packer.source, packer.sequential)
                   : fmt::format("tw_kai_pack_{}_{}(&args, nr, kr / sr);\n", packer.format->name,
                                 packer.source);
  const std::string body = (packer.apart ? client_check("kr == 4") : "") +
                           client_check("bias == NULL") + unused({"bias"}) + begin_blocks(layout) +
                           "  args.source_stride = row_bytes(k, bl);\n" +
                           packer_call(in_plain_c, layout, has_code);
  return {packed_stride(packed), rhs_offset({}), packed_offset(packed), packed_size(packed),
          runner(block_parameters(packer, {"const float* bias"}), body)};
}

}  // namespace tw
