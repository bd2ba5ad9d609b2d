// The functions of KleidiAI's names for depthwise convolutions: of a few lines of outputs, whose
// shape strides tell, or of whole planes; and the packers of their weights.
#include <fmt/format.h>

#include "emit/client_parts.h"

namespace tw {
namespace {

ClientFunction number(const std::string& name, int64_t value, bool in_struct) {
  ClientFunction function = getter(name, {}, client_return(std::to_string(value)));
  function.in_struct = in_struct;
  return function;
}

/// What all of them tell the kernel, which plain C calls for pieces of lines.
std::string call(const ClientDepthwise& depthwise, const ClientCode& code) {
  const Variant& kernel = *depthwise.kernel;
  return fmt::format(
      "  const size_t k = {0} * {1};\n"
      "  tw_args args = {{0}};\n"
      "  args.size = sizeof args;\n"
      "  args.n = num_channels;\n"
      "  args.k = k;\n"
      "  args.rhs = rhs_packed;\n"
      "  args.rhs_stride = {2} * ({3});\n"
      "  args.dst = dst;\n"
      "  args.dst_stride = dst_stride_col;\n"
      "  args.min = clamp_min;\n"
      "  args.max = clamp_max;\n"
      "  tw_kai_run_depthwise(&plane, &args, {2},\n                       {4});\n",
      kernel.window.height, kernel.window.width, length_text(kernel.rhs.panel),
      row_bytes_text(kernel.rhs), code.symbol);
}

std::string plane(const Window& window, int64_t bytes, const std::string& rest) {
  return fmt::format(
      "  const tw_kai_plane plane = {{\n"
      "      .width = {}, .bytes = {},\n"
      "      .top = pad_top, .left = pad_left,\n"
      "      .src = src, .row_stride = in_stride_row, .col_stride = in_stride_col,\n"
      "      .dst_row_stride = dst_stride_row,\n"
      "{}  }};\n",
      window.width, bytes, rest);
}

/// As many lines as a step, of which some may not exist. Strides are those of whole tensors.
ClientFunction run_lines(const ClientDepthwise& depthwise, const ClientCode& code) {
  const Variant& kernel = *depthwise.kernel;
  const int64_t bytes = bits(kernel.family.dst) / 8;
  ClientFunction run{"run", "void", {}, "", "run_dwconv"};
  run.parameters = {"const void* src",       "const void* rhs_packed",  "void* dst",
                    "size_t in_stride_row",  "size_t in_stride_col",    "size_t dst_stride_row",
                    "size_t dst_stride_col", "size_t valid_input_rows", "size_t valid_dst_rows",
                    "size_t pad_left",       "size_t pad_top",          "float pad_value",
                    "float clamp_min",       "float clamp_max"};
  run.body =
      client_checks({"src != NULL", "rhs_packed != NULL", "dst != NULL", "valid_dst_rows != 0",
                     "pad_value == 0.0F", "dst_stride_col == in_stride_col"});
  run.body += fmt::format(
      "  KAI_UNUSED(pad_value);\n"
      "  const size_t num_channels = dst_stride_col / {0};\n"
      "  if (num_channels == 0) return;\n",
      bytes);
  run.body += plane(kernel.window, bytes,
                    fmt::format("      .rows = valid_input_rows,\n"
                                "      .cols = in_stride_row / ({0} * num_channels),\n"
                                "      .dst_rows = KAI_MIN(valid_dst_rows, {1}),\n"
                                "      .dst_cols = dst_stride_row / ({0} * num_channels),\n",
                                bytes, depthwise.rows));
  run.body += call(depthwise, code);
  return run;
}

ClientFunction run_plane(const ClientDepthwise& depthwise, const ClientCode& code) {
  const Variant& kernel = *depthwise.kernel;
  ClientFunction run{"run", "void", {}, "", "run_dwconv"};
  run.parameters = {"const void* src",       "const void* rhs_packed", "void* dst",
                    "size_t num_channels",   "size_t src_rows",        "size_t src_cols",
                    "size_t dst_rows",       "size_t dst_cols",        "size_t pad_left",
                    "size_t pad_top",        "size_t in_stride_row",   "size_t in_stride_col",
                    "size_t dst_stride_row", "size_t dst_stride_col",  "float clamp_min",
                    "float clamp_max"};
  run.body = plane(kernel.window, bits(kernel.family.dst) / 8,
                   "      .rows = src_rows,\n      .cols = src_cols,\n"
                   "      .dst_rows = dst_rows,\n      .dst_cols = dst_cols,\n") +
             call(depthwise, code);
  return run;
}

}  // namespace

std::vector<ClientFunction> depthwise_functions(const ClientDepthwise& depthwise,
                                                const ClientCode& code) {
  const Window& window = depthwise.kernel->window;
  const int64_t bytes = bits(depthwise.kernel->family.dst) / 8;
  const bool lines = depthwise.rows != 0;
  const ClientFunction size =
      getter("dst_size", {"size_t dst_height", "size_t dst_width", "size_t num_channels"},
             client_return(fmt::format("dst_height * dst_width * num_channels * {}", bytes)));
  std::vector<ClientFunction> all = {number("filter_height", window.height, !lines),
                                     number("filter_width", window.width, !lines)};
  if (!lines) {
    all.push_back(size);
    all.push_back(run_plane(depthwise, code));
    return all;
  }
  all.push_back(number("kr", 1, false));
  all.push_back(number("m_step", depthwise.rows, true));
  all.push_back(getter("dst_offset", {"size_t dst_row_idx", "size_t dst_stride_row"},
                       client_check(fmt::format("dst_row_idx % {} == 0", depthwise.rows)) +
                           client_return("dst_row_idx * dst_stride_row")));
  all.push_back(size);
  all.push_back(getter("src_offset", {"size_t in_row_idx", "size_t in_stride_row"},
                       client_return("in_row_idx * in_stride_row")));
  all.back().in_struct = false;
  all.push_back(run_lines(depthwise, code));
  return all;
}

std::vector<ClientFunction> tap_packer_functions(const ClientPacker& packer, const Layout& layout,
                                                 const std::vector<ClientCode>& codes) {
  const int64_t bytes = bits(layout.element) / 8;
  const std::string panel = length_text(packer.panel);
  const std::string taps = "  const size_t k = filter_height * filter_width;\n";
  ClientFunction run =
      runner({"size_t filter_height", "size_t filter_width", "size_t height", "size_t width",
              "size_t num_channels", "const void* rhs", "const void* bias", "void* rhs_packed"},
             client_checks({"rhs != NULL", "rhs_packed != NULL", "bias != NULL"}));
  if (bytes == 2) {  // those of f32 do not look at it
    run.body += client_checks({"height == filter_height", "width == filter_width"});
  }
  run.body += unused({"height", "width"}) + "  if (num_channels == 0) return;\n" + taps +
              pack_args("num_channels", "rhs", "rhs") +
              fmt::format(
                  "  args.source_stride = num_channels * {};\n"
                  "  args.packed_stride = {} * row_bytes(k);\n"
                  "  args.bias = bias;\n"
                  "  args.vector_bytes = kai_get_sme_vector_length_u8();\n"
                  "  {}(&args);\n",
                  bytes, panel, codes.front().symbol);
  return {
      {"rhs_get_dst_size",
       "size_t",
       {"size_t filter_height", "size_t filter_width", "size_t num_channels"},
       taps + client_return(fmt::format("kai_roundup(num_channels, {}) * row_bytes(k)", panel))},
      run};
}

}  // namespace tw
