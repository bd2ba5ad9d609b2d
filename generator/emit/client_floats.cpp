// The functions of KleidiAI's names for floats where they differ from those of codes: rows of
// activations are not packed, and packers of weights are for one shape of panels.
#include <fmt/format.h>

#include "emit/client_parts.h"

namespace tw {
namespace {

/// Older names say the bias's type, "f32p8x1biasf32". They cannot do without a bias, they check
/// that columns of outputs are neighbors, and they do not tell how far panels are apart.
bool is_older(const std::string& name) {
  return name.find("x1bias") != std::string::npos;
}

int64_t element_bytes(const Layout& layout) {
  return bits(layout.element) / 8;
}

std::string check_floats(const ClientPacker& packer) {
  return client_check("num_groups == 1") + client_check(fmt::format("nr == {}", packer.panel)) +
         client_check("kr == 1") + client_check("sr == 1") + client_check("rhs != NULL") +
         (is_older(packer.name) ? client_check("bias != NULL") : "") +
         client_check("scale == NULL") + client_check("rhs_packed != NULL") +
         client_check("extra_bytes == 0") + client_check("params == NULL") +
         "  KAI_UNUSED(num_groups);\n  KAI_UNUSED(nr);\n  KAI_UNUSED(kr);\n  KAI_UNUSED(sr);\n"
         "  KAI_UNUSED(scale);\n  KAI_UNUSED(extra_bytes);\n  KAI_UNUSED(params);\n";
}

ClientFunction run_packer(const ClientPacker& packer, const Layout& layout,
                          const ClientCode& code) {
  ClientFunction run = {"run", "void", {}, ""};
  run.parameters = {"size_t num_groups", "size_t n",         "size_t k",
                    "size_t nr",         "size_t kr",        "size_t sr",
                    "size_t rhs_stride", "const void* rhs",  "const void* bias",
                    "const void* scale", "void* rhs_packed", "size_t extra_bytes",
                    "const void* params"};
  run.body = check_floats(packer) + "  if (n == 0) return;\n" + pack_args("n", "rhs", "rhs") +
             fmt::format(
                 "  args.source_stride = rhs_stride;\n"
                 "  args.bias = bias;\n"
                 "  args.packed_stride = {} * ({});\n"
                 "  {}(&args);\n",
                 packer.panel, row_bytes_call(layout), code.symbol);
  if (packer.repeats) {
    run.body +=
        fmt::format("  tw_kai_repeat_value(&args, {}, {});\n", packer.panel, element_bytes(layout));
  }
  return run;
}

/// Where columns from n_idx on begin in the source.
ClientFunction source_offset(const ClientPacker& packer, const Layout& layout) {
  ClientFunction offset = {"get_rhs_offset", "size_t", {"size_t n_idx"}, ""};
  if (!packer.rows_of_n) offset.parameters.emplace_back("size_t rhs_stride");
  offset.body = client_check(fmt::format("n_idx % {} == 0", packer.panel)) +
                client_return(packer.rows_of_n ? fmt::format("n_idx * {}", element_bytes(layout))
                                               : "n_idx * rhs_stride");
  return offset;
}

ClientFunction bias_offset(const ClientPacker& packer, const Layout& layout) {
  const std::string check = client_check(fmt::format("n_idx % {} == 0", packer.panel));
  return {"get_bias_offset",
          "size_t",
          {"size_t n_idx"},
          (packer.rows_of_n ? "" : check) +
              client_return(fmt::format("n_idx * {}", element_bytes(layout)))};
}

}  // namespace

bool has_floats(const Family& family) {
  return is_float(*family.lhs);
}

bool checks_strides(const ClientMatmul& matmul) {
  return !has_floats(matmul.kernels.front()->family) || is_older(matmul.name);
}

ClientFunction lhs_offset(const ClientMatmul& matmul) {
  ClientFunction offset = {
      "get_lhs_offset",
      "size_t",
      {"size_t m_idx", "size_t lhs_stride"},
      client_check(fmt::format("m_idx % {} == 0", length_text(matmul.m_step))) +
          client_return("m_idx * lhs_stride")};
  // So it is called in KleidiAI's struct.
  const bool halves = matmul.kernels.front()->family.lhs->element == ElementType::f16;
  if (halves) offset.member = "get_lhs_packed_offset";
  return offset;
}

std::string call_by_rows(const ClientMatmul& matmul, const std::vector<ClientCode>& codes) {
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

std::vector<ClientFunction> float_packer_functions(const ClientPacker& packer, const Layout& layout,
                                                   const std::vector<ClientCode>& codes) {
  const std::string stride = fmt::format("{} * ({})", packer.panel, row_bytes_call(layout));
  std::vector<ClientFunction> all = {
      {"get_n_step", "size_t", {}, client_return(std::to_string(packer.panel))},
      source_offset(packer, layout),
      bias_offset(packer, layout)};
  if (!is_older(packer.name)) {
    // As KleidiAI has it, of packers of rows of k a column's.
    all.push_back({"get_rhs_packed_stride",
                   "size_t",
                   {"size_t k"},
                   client_return(packer.rows_of_n ? stride : row_bytes_call(layout))});
  }
  all.push_back({"get_rhs_packed_offset",
                 "size_t",
                 {"size_t n_idx", "size_t k"},
                 client_check(fmt::format("n_idx % {} == 0", packer.panel)) +
                     client_return(fmt::format("n_idx / {} * ({})", packer.panel, stride))});
  all.push_back({"get_rhs_packed_size",
                 "size_t",
                 {"size_t n", "size_t k"},
                 client_return(fmt::format("kai_div_ceil(n, {}) * ({})", packer.panel, stride))});
  all.push_back(run_packer(packer, layout, codes.front()));
  return all;
}

}  // namespace tw
