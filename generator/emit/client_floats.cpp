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

/// As a whole number of panels.
std::string check_index(const ClientPacker& packer, const std::string& index) {
  return client_check(fmt::format("{} % {} == 0", index, length_text(packer.panel)));
}

std::string panel_bytes_text(const ClientPacker& packer, const Layout& layout) {
  return fmt::format("{} * ({})", length_text(packer.panel), row_bytes_call(layout));
}

PackedOperand packed_operand(const ClientPacker& packer, const Layout& layout,
                             const ClientParameters& depth) {
  return {packer.side, length_text(packer.panel), panel_bytes_text(packer, layout), depth, ""};
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
  std::string text = client_checks({"rhs != NULL", "rhs_packed != NULL"}) +
                     (needs_bias(packer) ? client_check("bias != NULL") : "");
  if (has_scales(layout)) {
    text += client_checks({"scale != NULL", "params != NULL"});
  } else if (!packer.in_chunks) {
    text += client_checks({"scale == NULL", "params == NULL"}) + unused({"scale", "params"});
  }
  if (packer.in_chunks) return text;
  return client_check("num_groups == 1") + check_shape(packer, layout, "nr") + text +
         client_check("extra_bytes == 0") + unused({"num_groups", "nr", "kr", "sr", "extra_bytes"});
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
  ClientFunction run = runner(weights_parameters(packer, layout),
                              check_weights(packer, layout) + "  if (n == 0) return;\n" +
                                  pack_args("n", "rhs", "rhs") +
                                  strides(packer, layout, "rhs_stride") + "  args.bias = bias;\n");
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
  ClientFunction offset = getter(
      "rhs_offset", {"size_t n_idx"},
      check_index(packer, "n_idx") +
          client_return(packer.rows_of_n ? fmt::format("n_idx * {}", source_bytes(packer, layout))
                                         : "n_idx * rhs_stride"));
  if (!packer.rows_of_n) offset.parameters.emplace_back("size_t rhs_stride");
  return offset;
}

ClientFunction bias_offset(const ClientPacker& packer, const Layout& layout) {
  const bool checks = !packer.rows_of_n || is_quantizing(packer.name);
  return getter("bias_offset", {"size_t n_idx"},
                (checks ? check_index(packer, "n_idx") : "") +
                    client_return(fmt::format("n_idx * {}", bias_bytes(layout))));
}

std::vector<ClientFunction> rhs_functions(const ClientPacker& packer, const Layout& layout,
                                          const std::vector<ClientCode>& codes) {
  PackedOperand packed = packed_operand(packer, layout, {"size_t k"});
  std::vector<ClientFunction> all = {getter("n_step", {}, client_return(packed.panel)),
                                     source_offset(packer, layout), bias_offset(packer, layout)};
  if (tells_stride(packer.name)) {
    // As KleidiAI has it, of packers of rows of k a column's.
    const bool of_panels = packer.rows_of_n || packer.in_chunks;
    all.push_back(getter("rhs_packed_stride", {"size_t k"},
                         client_return(of_panels ? packed.bytes : row_bytes_call(layout))));
  }
  if (is_quantizing(packer.name)) {
    packed.depth = {"size_t k", "size_t nr", "size_t kr"};
    packed.check = client_check(fmt::format("nr == {}", packed.panel)) +
                   client_check(fmt::format("kr == {}", layout.order.kr)) + unused({"nr", "kr"});
  }
  all.push_back(packed_offset(packed));
  all.push_back(packed_size(packed));
  if (has_scales(layout)) {
    all.push_back(getter("scale_offset", {"size_t n_idx"}, client_return("n_idx * sizeof(float)")));
  }
  all.push_back(run_packer(packer, layout, codes));
  return all;
}

std::vector<ClientFunction> chunk_row_functions(const ClientPacker& packer, const Layout& layout) {
  const PackedOperand packed = packed_operand(packer, layout, {"size_t k"});
  return {getter("m_step", {}, client_return(packed.panel)), packed_offset(packed),
          packed_size(packed), run_chunk_rows(packer, layout)};
}

std::vector<ClientFunction> lhs_functions(const ClientPacker& packer, const Layout& layout,
                                          const std::vector<ClientCode>& codes) {
  PackedOperand packed =
      packed_operand(packer, layout, {"size_t k", "size_t mr", "size_t kr", "size_t sr"});
  const std::string check = check_shape(packer, layout, "mr");
  packed.check = check + unused({"mr", "kr", "sr"});
  // Those of SME that round do not look at the row's number.
  const bool rounds = packer.source != source_name(layout.element);
  const bool takes_start = rounds && !packer.panel.is_fixed();
  return {getter("m_step", {"size_t mr"},
                 client_check(fmt::format("mr == {}", packed.panel)) + client_return("mr")),
          lhs_rows_offset(is_quantizing(packer.name) ? "" : check_index(packer, "m_idx")),
          packed_offset(packed), packed_size(packed),
          runner(with(with({"size_t m"}, packed.depth), lhs_rows("void")),
                 check + (takes_start ? "" : client_check("m_idx_start == 0")) +
                     client_checks({"lhs != NULL", "lhs_packed != NULL"}) +
                     unused({"mr", "kr", "sr", "m_idx_start"}) + "  if (m == 0) return;\n" +
                     pack_args("m", "lhs", "lhs") + strides(packer, layout, "lhs_stride") +
                     call_packer(packer, layout, codes))};
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
  if (!is_float(*kernel.family.lhs)) return !is_unpacked(kernel.lhs);
  const bool rounded = kernel.family.lhs->element == ElementType::bf16;
  return is_older(matmul.name) || (rounded && kernel.isa->name != "sme2");
}

ClientFunction lhs_offset(const ClientMatmul& matmul) {
  const std::string stride = is_static(*matmul.kernels.front()->family.lhs) ? "k" : "lhs_stride";
  ClientFunction offset = getter("lhs_offset", {"size_t m_idx", "size_t " + stride},
                                 check_row(matmul) + client_return("m_idx * " + stride));
  // So it is called in KleidiAI's struct.
  const bool halves = matmul.kernels.front()->family.lhs->element == ElementType::f16;
  if (halves) offset.member = "get_lhs_packed_offset";
  if (halves && has(matmul.name, "_dot")) offset.name = offset.member;
  return offset;
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
