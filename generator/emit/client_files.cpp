#include "emit/client_files.h"

#include <fmt/format.h>

#include <map>
#include <set>

namespace tw {
namespace {

constexpr std::string_view headers = "kai/ukernels/matmul";
constexpr std::string_view depthwise_headers = "kai/ukernels/dwconv";

std::string extern_c(const std::string& text) {
  return "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n" + text +
         "\n#ifdef __cplusplus\n}\n#endif\n";
}

/// Of the family's struct.
std::string pointer_name(const ClientFunction& function) {
  if (!function.member.empty()) return function.member;
  return function.name == "run" ? "run_matmul" : function.name;
}

/// A side that the function's name says is not said again.
std::string c_name(const std::string& function, const std::string& name) {
  constexpr std::string_view side = "rhs_";
  const bool said = function.starts_with(side) && name.starts_with(side);
  if (said) return fmt::format("kai_{}_{}", function, name.substr(side.size()));
  return fmt::format("kai_{}_{}", function, name);
}

/// "(size_t m, size_t n)", broken where lines would be too long.
std::string parameter_list(const ClientFunction& function, size_t before) {
  if (function.parameters.empty()) return "(void)";
  const std::string one_line = fmt::format("({})", fmt::join(function.parameters, ", "));
  if (before + one_line.size() < 100) return one_line;
  return fmt::format("(\n    {})", fmt::join(function.parameters, ",\n    "));
}

std::string prototype(const ClientFunction& function, const std::string& name) {
  const std::string begin = fmt::format("{} {}", function.result, c_name(function.name, name));
  return begin + parameter_list(function, begin.size());
}

std::string declarations(const std::string& name, const std::vector<ClientFunction>& functions) {
  std::string text;
  for (const ClientFunction& function : functions) text += prototype(function, name) + ";\n";
  return text;
}

std::string definitions(const std::string& name, const std::vector<ClientFunction>& functions) {
  std::string text;
  for (const ClientFunction& function : functions) {
    text += fmt::format("\n{} {{\n{}}}\n", prototype(function, name), function.body);
  }
  return text;
}

std::string guarded(const std::string& guard, const std::string& text) {
  return guard.empty() ? text : fmt::format("#if {}\n{}#endif\n", guard, text);
}

std::string declare_codes(const std::vector<ClientCode>& codes, const char* args) {
  std::string text;
  std::set<std::string> known;
  for (const ClientCode& code : codes) {
    if (!known.insert(code.symbol).second) continue;
    text += fmt::format("void {}(const {}* args);\n", code.symbol, args);
  }
  return text;
}

std::string bytes_function(const std::string& name, const Layout& layout,
                           const std::string& value) {
  return fmt::format("\nstatic inline size_t {}(size_t k{}) {{\n  return {};\n}}\n", name,
                     layout.block != 0 ? ", size_t bl" : "", value);
}

std::string panel_bytes_function(const std::string& side, const Layout& layout) {
  return bytes_function(
      side + "_panel_bytes", layout,
      fmt::format("{} * ({})", length_text(layout.panel), row_bytes_text(layout)));
}

std::string find_function(const std::vector<ClientCode>& codes, bool by_blocks) {
  if (codes.empty()) return "";
  std::string text = "\nstatic const tw_kai_packer packers[] = {\n";
  for (const ClientCode& code : codes) {
    text += fmt::format("    {{{}, {}, {}, {}}},\n", code.panel, code.kr, code.block, code.symbol);
  }
  return text + fmt::format(
                    "}};\n\n"
                    "static inline tw_packer_fn find(size_t panel, size_t depth{}) {{\n"
                    "  return tw_kai_find_packer(packers, sizeof packers / sizeof *packers, panel, "
                    "depth, {});\n"
                    "}}\n",
                    by_blocks ? ", size_t bl" : "",
                    by_blocks ? fmt::format("bl % {0} == 0 ? {0} : bl", long_block_step) : "0");
}

/// Structs of parameters are of another header.
std::string header_begin(const std::vector<ClientFunction>& functions) {
  const std::string& last = functions.back().parameters.back();
  const bool structs = last.find("struct ") != std::string::npos;
  const bool tables = last.find("int32_t") != std::string::npos;
  return std::string("#pragma once\n\n#include <stddef.h>\n") +
         (tables ? "#include <stdint.h>\n\n" : "\n") +
         (structs ? "#include \"kai/kai_common.h\"\n\n" : "");
}

std::string list_macro(const std::string& name, const std::vector<std::string>& entries) {
  std::string text = fmt::format("\n#define {}(X)", name);
  for (const std::string& entry : entries) text += fmt::format(" \\\n  X({})", entry);
  return text + "\n";
}

}  // namespace

std::string client_header(const ClientMatmul& matmul) {
  return fmt::format("{}/{}/kai_{}.h", headers, matmul.folder, matmul.name);
}

std::string client_header(const ClientPacker& packer) {
  return fmt::format("{}/pack/kai_{}.h", packer.of_taps ? depthwise_headers : headers, packer.name);
}

std::string client_header(const ClientDepthwise& depthwise) {
  return fmt::format("{}/{}/kai_{}.h", depthwise_headers, depthwise.folder, depthwise.name);
}

std::string client_interface(const ClientMatmul& matmul) {
  return fmt::format("{}/{}/kai_{}_interface.h", headers, matmul.folder, matmul.family);
}

std::string client_interface(const ClientDepthwise& depthwise) {
  return fmt::format("{}/{}/kai_{}_interface.h", depthwise_headers, depthwise.folder,
                     depthwise.kernel->family.name);
}

std::string print_client_header(const std::string& name,
                                const std::vector<ClientFunction>& functions) {
  return header_begin(functions) + extern_c(declarations(name, functions));
}

std::string print_client_header(const ClientPacker& packer,
                                const std::vector<ClientFunction>& functions) {
  std::string text = "#pragma once\n\n#include <stddef.h>\n#include <stdint.h>\n\n";
  if (packer.side == Side::rhs) text += "#include \"kai/kai_common.h\"\n\n";
  if (!packer.alias.empty()) text += fmt::format("#define {} {}\n\n", packer.alias, packer.params);
  return text + extern_c(declarations(packer.name, functions));
}

std::string print_client_interface(const std::string& family, const std::string& pointers,
                                   const std::vector<ClientFunction>& functions) {
  std::string types;
  std::string members;
  for (const ClientFunction& function : functions) {
    if (!function.in_struct) continue;
    const std::string type =
        fmt::format("kai_{}_{}_func_t", family,
                    function.name == "run" ? pointer_name(function) : function.name);
    const std::string begin = fmt::format("typedef {} (*{})", function.result, type);
    types += begin + parameter_list(function, begin.size()) + ";\n";
    members += fmt::format("  {} {};\n", type, pointer_name(function));
  }
  return header_begin(functions) +
         extern_c(fmt::format("{}\nstruct kai_{}_ukernel {{\n{}}};\n", types, pointers, members));
}

std::string print_client_source(const ClientMatmul& matmul,
                                const std::vector<ClientFunction>& functions,
                                const std::vector<ClientCode>& codes, const std::string& guard) {
  const Variant& kernel = *matmul.kernels.front();
  const std::string lhs = is_unpacked(kernel.lhs) ? "" : panel_bytes_function("lhs", kernel.lhs);
  const std::string text = declare_codes(codes, "tw_args") + lhs +
                           panel_bytes_function("rhs", told_rhs(matmul)) +
                           definitions(matmul.name, functions);
  return fmt::format(
      "#include \"{}\"\n\n#include \"kai/kai_common.h\"\n#include \"multiply.h\"\n\n{}",
      client_header(matmul), guarded(guard, text));
}

std::string print_client_source(const ClientPacker& packer,
                                const std::vector<ClientFunction>& functions,
                                const std::vector<ClientCode>& codes, const Layout& layout,
                                const std::string& guard) {
  const bool by_blocks = packer.side == Side::rhs && layout.block != 0;
  const bool one_shape = packer.panel != Length{};
  const bool has_find = !one_shape && !is_float(layout.element);
  const std::string find = has_find ? find_function(codes, by_blocks) : "";
  const std::string text = declare_codes(codes, "tw_pack_args") +
                           bytes_function("row_bytes", layout, row_bytes_text(layout)) + find +
                           definitions(packer.name, functions);
  return fmt::format(
      "#include \"{}\"\n\n#include \"kai/kai_common.h\"\n#include \"packing.h\"\n\n{}",
      client_header(packer), guarded(guard, text));
}

std::string print_client_source(const ClientDepthwise& depthwise,
                                const std::vector<ClientFunction>& functions,
                                const ClientCode& code, const std::string& guard) {
  const std::string text =
      declare_codes({code}, "tw_args") + definitions(depthwise.name, functions);
  return fmt::format(
      "#include \"{}\"\n\n#include \"depthwise.h\"\n#include \"kai/kai_common.h\"\n\n{}",
      client_header(depthwise), guarded(guard, text));
}

std::string print_client_source(const ClientStructPacker& packer,
                                const std::vector<ClientFunction>& functions) {
  return "#include \"kai/kai_common.h\"\n#include \"pack_structs.h\"\n\n" +
         declarations(packer.name, functions) + definitions(packer.name, functions);
}

std::string client_list_name(const ClientDepthwise& depthwise) {
  return depthwise.rows != 0 ? "DEPTHWISE_LINES" : "DEPTHWISE_PLANES";
}

std::string client_list_name(const ClientMatmul& matmul) {
  const Variant& kernel = *matmul.kernels.front();
  if (is_unpacked(kernel.lhs)) {
    if (is_static(*kernel.family.lhs)) return "STATIC_ROW_MATMULS";
    return matmul.in_chunks ? "INDIRECT_MATMULS" : "FLOAT_MATMULS";
  }
  if (matmul.in_chunks) {
    return is_static(*kernel.family.lhs) ? "STATIC_CHUNK_MATMULS" : "CHUNK_MATMULS";
  }
  if (is_static(*kernel.family.lhs)) return "STATIC_MATMULS";
  return is_float(*kernel.family.rhs) ? "PACKED_FLOAT_MATMULS" : "MATMULS";
}

std::string client_list_name(const ClientPacker& packer, const Layout& layout) {
  if (packer.of_taps) return "TAP_PACKERS";
  const bool has_scales = field_index(layout, FieldKind::scales) >= 0;
  if (packer.in_chunks) {
    if (packer.side == Side::lhs) return "CHUNK_ROW_PACKERS";
    return has_scales ? "STATIC_CHUNK_PACKERS" : "CHUNK_PACKERS";
  }
  if (packer.panel != Length{} && has_scales) return "STATIC_RHS_PACKERS";
  if (is_static(*packer.format)) return "STATIC_LHS_PACKERS";
  if (is_float(*packer.format) && packer.panel == Length{}) return "LHS_BLOCK_PACKERS";
  const bool floats = is_float(*packer.format);
  if (floats) return packer.side == Side::lhs ? "FLOAT_LHS_PACKERS" : "FLOAT_RHS_PACKERS";
  if (packer.side == Side::lhs) return layout.block != 0 ? "LHS_BLOCK_PACKERS" : "LHS_PACKERS";
  if (packer.has_offsets()) return "RHS_OFFSET_PACKERS";
  return packer.rows_of_blocks ? "RHS_ROW_PACKERS" : "RHS_PACKERS";
}

std::string print_client_table(const std::vector<ClientEntry>& entries) {
  std::string text = "| `kai_run_...` | kernels and packers here |\n|---|---|\n";
  for (const ClientEntry& entry : entries) {
    std::vector<std::string> symbols;
    for (const ClientCode& code : entry.codes) symbols.push_back(fmt::format("`{}`", code.symbol));
    if (!entry.plain.empty()) symbols.push_back(entry.plain);
    text += fmt::format("| `{}` | {} |\n", entry.name, fmt::join(symbols, ", "));
  }
  return text;
}

std::string print_client_list(const std::string& version, const std::vector<ClientEntry>& entries) {
  std::string text = "#pragma once\n\n";
  std::map<std::string, std::vector<std::string>> lists;
  std::set<std::string> included, families;
  const auto include = [&](const std::string& header) {
    const bool is_new = included.insert(header).second;
    if (is_new) text += fmt::format("#include <{}>\n", header);
    return is_new;
  };
  std::string declared;
  for (const ClientEntry& entry : entries) {
    lists["RUNS"].push_back(entry.name);
    if (entry.header.empty()) {
      declared += declarations(entry.name, entry.functions);
    } else {
      include(entry.header);
    }
    for (const ClientFunction& function : entry.functions) {
      lists["FUNCTIONS"].push_back(c_name(function.name, entry.name));
    }
    if (entry.family.empty()) {
      lists[entry.list].push_back(entry.name);
      continue;
    }
    lists[entry.list].push_back(fmt::format("{}, {}", entry.family, entry.name));
    if (!families.insert(entry.family).second) continue;
    include(entry.interface);
    for (const ClientFunction& function : entry.functions) {
      if (!function.in_struct) continue;
      lists["MEMBERS"].push_back(
          fmt::format("kai_{}_ukernel, {}", entry.family, pointer_name(function)));
    }
  }
  if (!declared.empty()) {
    text += "#include <kai/ukernels/matmul/kai_matmul_pack_rhs_types.h>\n\n" + extern_c(declared);
  }
  text += fmt::format("\n#define TW_KAI_VERSION \"{}\"\n", version);
  for (const auto& [name, list] : lists) text += list_macro("TW_KAI_" + name, list);
  return text;
}

}  // namespace tw
