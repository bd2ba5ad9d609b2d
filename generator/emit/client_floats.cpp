// The functions of KleidiAI's names for floats where they differ from those of codes: activations
// may be rows that are not packed, and packers are for panels of one shape, as are those of static
// int8.
#include <fmt/format.h>

#include "emit/client_parts.h"

namespace tw {
namespace {

bool has(const std::string& name, const char* part) {
  return name.find(part) != std::string::npos;
}

/// Older names of NEON say the bias's type, "f32p8x1biasf32". They check that columns of outputs
/// are neighbors.
bool is_older(const std::string& name) {
  return has(name, "x1bias") && !has(name, "vlx1bias");
}

/// Whether packers tell how far panels are apart.
bool tells_stride(const std::string& name) {
  return !is_older(name) && !has(name, "x4biasf32");
}

/// Those that have other checks, and of weights are told the shape of panels at every turn.
bool is_quantizing(const std::string& name) {
  return has(name, "_quant_");
}

/// They cannot do without a bias, nor can those of SME.
bool needs_bias(const ClientPacker& packer) {
  return is_older(packer.name) || !packer.panel.is_fixed();
}

int64_t element_bytes(const Layout& layout) {
  return bits(layout.element) / 8;
}

/// Of what it reads.
int64_t source_bytes(const ClientPacker& packer, const Layout& layout) {
  return packer.of ? bits(*packer.of) / 8 : element_bytes(layout);
}

int64_t bias_bytes(const Layout& layout) {
  return bits(field_of(layout, FieldKind::bias).type) / 8;
}

/// The arguments that say which panels are wanted; theirs for SVE do not look at sr.
std::string check_shape(const ClientPacker& packer, const Layout& layout, const std::string& rows) {
  return client_check(fmt::format("{} == {}", rows, length_text(packer.panel))) +
         client_check(fmt::format("kr == {}", layout.order.kr)) +
         (packer.panel.vl != 0 ? "" : client_check("sr == 1"));
}

std::string unused_panel_shape(const std::string& rows) {
  return fmt::format("  KAI_UNUSED({});\n  KAI_UNUSED(kr);\n  KAI_UNUSED(sr);\n", rows);
}

/// As a whole number of panels.
std::string check_index(const ClientPacker& packer, const std::string& index) {
  return client_check(fmt::format("{} % {} == 0", index, length_text(packer.panel)));
}

std::string panel_bytes_text(const ClientPacker& packer, const Layout& layout) {
  return fmt::format("{} * ({})", length_text(packer.panel), row_bytes_call(layout));
}

std::string strides(const ClientPacker& packer, const Layout& layout, const char* source) {
  return fmt::format("  args.source_stride = {};\n  args.packed_stride = {};\n", source,
                     panel_bytes_text(packer, layout));
}

/// Calls generated code, for panels as wide as this machine's vectors, or plain C.
std::string call_packer(const ClientPacker& packer, const Layout& layout,
                        const std::vector<ClientCode>& codes) {
  const std::string panel = length_text(packer.panel);
  const int kr = layout.order.kr;
  std::string text;
  if (packer.of && packer.side == Side::rhs) {
    text += fmt::format("  tw_kai_pack_{}_{}(&args, {}, {}, {}, {:d});\n", packer.format->name,
                        name(*packer.of), panel, kr, bias_bytes(layout), packer.first_again);
  } else if (packer.of) {
    text += fmt::format("  tw_kai_pack_{}_rows_{}(&args, {}, {});\n", packer.format->name,
                        name(*packer.of), panel, kr);
  } else {
    if (!packer.panel.is_fixed()) {
      text += fmt::format("  args.vector_bytes = kai_get_{}_vector_length_u8();\n",
                          packer.panel.svl != 0 ? "sme" : "sve");
    }
    text += fmt::format("  {}(&args);\n", codes.front().symbol);
  }
  if (!packer.first_row) return text;
  return text +
         fmt::format("  tw_kai_repeat_row(&args, {}, {});\n", panel, kr * element_bytes(layout));
}

/// Of weights that are codes for static activations.
bool has_scales(const Layout& layout) {
  return field_index(layout, FieldKind::scales) >= 0;
}

std::string check_weights(const ClientPacker& packer, const Layout& layout) {
  std::string text = client_check("rhs != NULL") + client_check("rhs_packed != NULL") +
                     (needs_bias(packer) ? client_check("bias != NULL") : "");
  if (has_scales(layout)) {
    text += client_check("scale != NULL") + client_check("params != NULL");
  } else if (!packer.in_chunks) {
    text += client_check("scale == NULL") + client_check("params == NULL") +
            "  KAI_UNUSED(scale);\n  KAI_UNUSED(params);\n";
  }
  if (packer.in_chunks) return text;
  return client_check("num_groups == 1") + check_shape(packer, layout, "nr") + text +
         client_check("extra_bytes == 0") + "  KAI_UNUSED(num_groups);\n" +
         unused_panel_shape("nr") + "  KAI_UNUSED(extra_bytes);\n";
}

ClientParameters weights_parameters(const ClientPacker& packer, const Layout& layout) {
  const bool scales = has_scales(layout);
  const std::string params =
      scales ? "const struct kai_rhs_pack_qsi8cx_params* params" : "const void* params";
  const ClientParameters weights = {"size_t rhs_stride", "const void* rhs", "const void* bias"};
  if (packer.in_chunks) {
    ClientParameters all = with({"size_t n", "size_t k"}, weights);
    if (scales) all.emplace_back("const void* scale");
    all.emplace_back("void* rhs_packed");
    if (scales) all.push_back(params);
    return all;
  }
  const ClientParameters shape = {"size_t num_groups", "size_t n",  "size_t k",
                                  "size_t nr",         "size_t kr", "size_t sr"};
  return with(with(shape, weights),
              {"const void* scale", "void* rhs_packed", "size_t extra_bytes", params});
}

ClientFunction run_packer(const ClientPacker& packer, const Layout& layout,
                          const std::vector<ClientCode>& codes) {
  ClientFunction run = {"run", "void", weights_parameters(packer, layout), ""};
  run.body = check_weights(packer, layout) + "  if (n == 0) return;\n" +
             pack_args("n", "rhs", "rhs") + strides(packer, layout, "rhs_stride") +
             "  args.bias = bias;\n";
  if (has_scales(layout)) {
    run.body +=
        "  args.scales = scale;\n"
        "  args.lhs_zero_point = params->lhs_zero_point;\n"
        "  args.lhs_scale = params->scale_multiplier;\n"
        "  args.dst_scale = 1;\n";
  }
  const std::string call = call_packer(packer, layout, codes);
  run.body += packer.in_chunks ? call_for_chunks(packer, layout, call) : call;
  if (packer.repeats) {
    run.body += fmt::format("  tw_kai_repeat_value(&args, {}, {});\n", length_text(packer.panel),
                            element_bytes(layout));
  }
  return run;
}

/// Where columns from n_idx on begin in the source.
ClientFunction source_offset(const ClientPacker& packer, const Layout& layout) {
  ClientFunction offset = {"get_rhs_offset", "size_t", {"size_t n_idx"}, ""};
  if (!packer.rows_of_n) offset.parameters.emplace_back("size_t rhs_stride");
  offset.body =
      check_index(packer, "n_idx") +
      client_return(packer.rows_of_n ? fmt::format("n_idx * {}", source_bytes(packer, layout))
                                     : "n_idx * rhs_stride");
  return offset;
}

ClientFunction bias_offset(const ClientPacker& packer, const Layout& layout) {
  return {"get_bias_offset",
          "size_t",
          {"size_t n_idx"},
          (packer.rows_of_n && !is_quantizing(packer.name) ? "" : check_index(packer, "n_idx")) +
              client_return(fmt::format("n_idx * {}", bias_bytes(layout)))};
}

std::vector<ClientFunction> rhs_functions(const ClientPacker& packer, const Layout& layout,
                                          const std::vector<ClientCode>& codes) {
  const std::string stride = panel_bytes_text(packer, layout);
  const std::string panel = length_text(packer.panel);
  std::vector<ClientFunction> all = {{"get_n_step", "size_t", {}, client_return(panel)},
                                     source_offset(packer, layout),
                                     bias_offset(packer, layout)};
  if (tells_stride(packer.name)) {
    // As KleidiAI has it, of packers of rows of k a column's.
    all.push_back(
        {"get_rhs_packed_stride",
         "size_t",
         {"size_t k"},
         client_return(packer.rows_of_n || packer.in_chunks ? stride : row_bytes_call(layout))});
  }
  ClientParameters depth = {"size_t k"};
  std::string check;
  if (is_quantizing(packer.name)) {
    depth = {"size_t k", "size_t nr", "size_t kr"};
    check = client_check(fmt::format("nr == {}", panel)) +
            client_check(fmt::format("kr == {}", layout.order.kr)) +
            "  KAI_UNUSED(nr);\n  KAI_UNUSED(kr);\n";
  }
  all.push_back({"get_rhs_packed_offset", "size_t", with({"size_t n_idx"}, depth),
                 check_index(packer, "n_idx") + check +
                     client_return(fmt::format("n_idx / {} * ({})", panel, stride))});
  all.push_back({"get_rhs_packed_size", "size_t", with({"size_t n"}, depth),
                 check + client_return(fmt::format("kai_div_ceil(n, {}) * ({})", panel, stride))});
  if (has_scales(layout)) {
    all.push_back(
        {"get_scale_offset", "size_t", {"size_t n_idx"}, client_return("n_idx * sizeof(float)")});
  }
  all.push_back(run_packer(packer, layout, codes));
  return all;
}

std::vector<ClientFunction> chunk_row_functions(const ClientPacker& packer, const Layout& layout) {
  const std::string stride = panel_bytes_text(packer, layout);
  const std::string panel = length_text(packer.panel);
  return {{"get_m_step", "size_t", {}, client_return(panel)},
          {"get_lhs_packed_offset",
           "size_t",
           {"size_t m_idx", "size_t k"},
           check_index(packer, "m_idx") +
               client_return(fmt::format("m_idx / {} * ({})", panel, stride))},
          {"get_lhs_packed_size",
           "size_t",
           {"size_t m", "size_t k"},
           client_return(fmt::format("kai_div_ceil(m, {}) * ({})", panel, stride))},
          run_chunk_rows(packer, layout)};
}

std::vector<ClientFunction> lhs_functions(const ClientPacker& packer, const Layout& layout,
                                          const std::vector<ClientCode>& codes) {
  const std::string stride = panel_bytes_text(packer, layout);
  const std::string panel = length_text(packer.panel);
  const ClientParameters shape = {"size_t k", "size_t mr", "size_t kr", "size_t sr"};
  const std::string check = check_shape(packer, layout, "mr");
  ClientFunction run = {"run", "void", with({"size_t m"}, shape), ""};
  run.parameters = with(run.parameters, {"size_t m_idx_start", "const void* lhs",
                                         "size_t lhs_stride", "void* lhs_packed"});
  // Those of SME that round do not look at the row's number.
  const bool rounds = packer.source != source_name(layout.element);
  const bool takes_start = rounds && !packer.panel.is_fixed();
  run.body = check + (takes_start ? "" : client_check("m_idx_start == 0")) +
             client_check("lhs != NULL") + client_check("lhs_packed != NULL") +
             unused_panel_shape("mr") + "  KAI_UNUSED(m_idx_start);\n  if (m == 0) return;\n" +
             pack_args("m", "lhs", "lhs") + strides(packer, layout, "lhs_stride") +
             call_packer(packer, layout, codes);
  return {{"get_m_step",
           "size_t",
           {"size_t mr"},
           client_check(fmt::format("mr == {}", panel)) + client_return("mr")},
          {"get_lhs_offset",
           "size_t",
           {"size_t m_idx", "size_t lhs_stride"},
           (is_quantizing(packer.name) ? "" : check_index(packer, "m_idx")) +
               client_return("m_idx * lhs_stride")},
          {"get_lhs_packed_offset", "size_t", with({"size_t m_idx"}, shape),
           check_index(packer, "m_idx") + check + unused_panel_shape("mr") +
               client_return(fmt::format("m_idx / {} * ({})", panel, stride))},
          {"get_lhs_packed_size", "size_t", with({"size_t m"}, shape),
           check + unused_panel_shape("mr") +
               client_return(fmt::format("kai_div_ceil(m, {}) * ({})", panel, stride))},
          run};
}

}  // namespace

bool has_one_row(const ClientMatmul& matmul) {
  const Variant& kernel = *matmul.kernels.front();
  return is_unpacked(kernel.lhs) && kernel.tile.m == Length{1};
}

std::string check_row(const ClientMatmul& matmul) {
  if (has_one_row(matmul)) return client_check("m_idx == 0");
  return client_check(fmt::format("m_idx % {} == 0", length_text(matmul.m_step)));
}

bool checks_strides(const ClientMatmul& matmul) {
  const Variant& kernel = *matmul.kernels.front();
  if (!is_float(*kernel.family.lhs)) return true;
  const bool rounded = kernel.family.lhs->element == ElementType::bf16;
  return is_older(matmul.name) || (rounded && kernel.isa->name != "sme2");
}

ClientFunction lhs_offset(const ClientMatmul& matmul) {
  ClientFunction offset = {"get_lhs_offset",
                           "size_t",
                           {"size_t m_idx", "size_t lhs_stride"},
                           check_row(matmul) + client_return("m_idx * lhs_stride")};
  // So it is called in KleidiAI's struct.
  const bool halves = matmul.kernels.front()->family.lhs->element == ElementType::f16;
  if (halves) offset.member = "get_lhs_packed_offset";
  if (halves && has(matmul.name, "_dot")) offset.name = offset.member;
  return offset;
}

std::string call_by_rows(const ClientMatmul& matmul, const std::vector<ClientCode>& codes) {
  if (is_indirect(*matmul.kernels.front())) return call_by_table_rows(matmul, codes);
  const int64_t rows = matmul.kernels.front()->tile.m.fixed;
  return fmt::format(
      "  args.m = m / {0} * {0};\n"
      "  {1}(&args);\n"
      "  args.lhs = (const char*)lhs + args.m * lhs_stride;\n"
      "  args.dst = (char*)dst + args.m * dst_stride_row;\n"
      "  args.m = m - args.m;\n"
      "  {2}(&args);\n",
      rows, codes.front().symbol, codes.back().symbol);
}

std::vector<ClientFunction> panel_packer_functions(const ClientPacker& packer, const Layout& layout,
                                                   const std::vector<ClientCode>& codes) {
  const bool lhs = packer.side == Side::lhs;
  if (packer.in_chunks) {
    return told_in_chunks(
        lhs ? chunk_row_functions(packer, layout) : rhs_functions(packer, layout, codes), layout);
  }
  return lhs ? lhs_functions(packer, layout, codes) : rhs_functions(packer, layout, codes);
}

}  // namespace tw
