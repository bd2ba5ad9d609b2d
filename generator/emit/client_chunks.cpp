// The functions of KleidiAI's names for convolutions, "imatmul": k is told in chunks, one for each
// tap of a window. Each begins a group of the values of k that stay together.
#include <fmt/format.h>

#include <algorithm>

#include "emit/client_parts.h"

namespace tw {
namespace {

std::string shape_text(const ClientPacker& packer, const Layout& layout) {
  return fmt::format(
      "  const tw_kai_chunks shape = {{k_chunk_count, k_chunk_length, {}, {}, {}}};\n",
      layout.order.kr, bits(layout.element) / 8, length_text(packer.panel));
}

}  // namespace

bool is_indirect(const Variant& kernel) {
  return kernel.family.operation == Operation::indirect;
}

/// Pointers to a chunk of all rows of a step stand together. Where chunks are empty there are none.
std::string indirect_args(const ClientMatmul& matmul) {
  return fmt::format(
      "  args.block = k_chunk_length == 0 ? 1 : k_chunk_length;\n"
      "  args.lhs = indirection_buffer;\n"
      "  args.lhs_stride = k_chunk_count * sizeof(void*);\n"
      "  args.lhs_pad = pad_ptr;\n"
      "  args.lhs_offset = lhs_ptr_offset;\n"
      "  args.lhs_chunk_stride = {} * sizeof(void*);\n",
      length_text(matmul.m_step));
}

/// Rows left over are in one step, one pointer after the other.
std::string call_by_table_rows(const ClientMatmul& matmul, const std::vector<ClientCode>& codes) {
  return fmt::format(
      "  args.m = m / {0} * {0};\n"
      "  {1}(&args);\n"
      "  args.lhs = (const char*)indirection_buffer + args.m * args.lhs_stride;\n"
      "  args.lhs_stride = sizeof(void*);\n"
      "  args.dst = (char*)dst + args.m * dst_stride_row;\n"
      "  args.m = m - args.m;\n"
      "  {2}(&args);\n",
      length_text(matmul.m_step), codes.front().symbol, codes.back().symbol);
}

std::vector<ClientFunction> told_in_chunks(std::vector<ClientFunction> functions,
                                           const Layout& layout) {
  for (ClientFunction& each : functions) {
    const auto k = std::find(each.parameters.begin(), each.parameters.end(), "size_t k");
    if (k == each.parameters.end()) continue;
    *k = "size_t k_chunk_count";
    each.parameters.insert(k + 1, "size_t k_chunk_length");
    each.body = fmt::format("  const size_t k = k_chunk_count * kai_roundup(k_chunk_length, {});\n",
                            layout.order.kr) +
                each.body;
  }
  return functions;
}

std::string call_for_chunks(const ClientPacker& packer, const Layout& layout,
                            const std::string& call) {
  return "  args.k = k_chunk_count * k_chunk_length;\n"
         "  if (args.k != k) {\n  " +
         shape_text(packer, layout) +
         fmt::format("    tw_kai_pack_chunk_columns(&shape, &args, {:d});\n", packer.rows_of_n) +
         "    return;\n  }\n" + call;
}

ClientFunction run_chunk_rows(const ClientPacker& packer, const Layout& layout) {
  return runner({"size_t m", "size_t k", "const void* const* lhs_ptrs", "size_t lhs_ptr_offset",
                 "const void* pad_ptr", "void* lhs_packed"},
                client_checks({"lhs_ptrs != NULL", "lhs_packed != NULL"}) + unused({"k"}) +
                    shape_text(packer, layout) +
                    "  tw_kai_pack_chunk_rows(&shape, m, lhs_ptrs, lhs_ptr_offset, pad_ptr, "
                    "lhs_packed);\n");
}

}  // namespace tw
