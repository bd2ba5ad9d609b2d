// Packers of activations that are quantized: inner loops and skeletons.
#include <fmt/format.h>

#include <algorithm>

#include "emit/c_printer.h"
#include "emit/file_template.h"
#include "emit/packer_fields.h"
#include "emit/packer_values.h"
#include "lower/pack.h"

namespace tw {
namespace {

/// What a plain C inner loop handles at a time, where the ISA offers no vectorized one.
constexpr int64_t plain_floats = 4;

/// How a group of KR codes is kept: as bytes, or as 16 bits with the even codes first.
void set_group_values(const Layout& layout, PackerValues& values) {
  const bool wide = layout.element == ElementType::i16;
  values["CODE_BYTES"] = number(bits(layout.element) / 8);
  values["PUT_ALL"] = wide ? ""
                           : "  if (PANEL == 1) {\n"
                             "    memcpy(to, codes, groups * KR);\n"
                             "    return;\n"
                             "  }\n";
  values["PUT_GROUP"] =
      wide ? "// As 16 bits: the even codes, then the odd ones.\n"
             "static void put_group(uint8_t *to, const int8_t *codes) {\n"
             "  int16_t wide[KR];\n"
             "  for (int i = 0; i < KR; ++i) wide[i % 2 * (KR / 2) + i / 2] = codes[i];\n"
             "  memcpy(to, wide, sizeof wide);\n"
             "}\n\n"
           : "static void put_group(uint8_t *to, const int8_t *codes) { memcpy(to, codes, KR); "
             "}\n\n";
}

/// Where the skeleton has a range of values quantized: rows, or blocks.
void set_lhs_block_values(const PackerRequest& request, PackerValues& values) {
  const Layout& layout = request.layout;
  const bool by_rows = request.format.scales == Granularity::row;
  values["BLOCK_BYTES"] = number(block_bytes(layout).fixed);
  values["ROW_FIELDS"] = number(panel_bytes(layout, 0).fixed);
  values["FOR_ROWS"] = values["FOR_BLOCKS"] = values["WRITE_ROW_FIELDS"] = "";
  if (by_rows) {
    values["FOR_ROWS"] =
        "  for (size_t r = 0; r < rows; ++r) {\n"
        "    how[r] = quantization_of(inner, source + r * args->source_stride, args->k);\n"
        "  }\n";
  } else {
    values["FOR_BLOCKS"] = "      how[r] = quantization_of(inner, floats, BLOCK);\n";
  }
  if (!has_row_fields(layout)) return;
  values["WRITE_ROW_FIELDS"] =
      "  for (size_t r = 0; r < rows; ++r) {\n"
      "    write_row_fields(panel + blocks * BLOCK_BYTES, r, &how[r]);\n"
      "  }\n";
}

/// Inner loops, and the quantization that every skeleton does with them.
bool fill_lhs_loops(const PackerRequest& request, PackerValues& values) {
  const Layout& layout = request.layout;
  const int64_t chunk =
      layout.block != 0 ? layout.block : std::max<int64_t>(256, layout.k_multiple);
  const int64_t floats =
      request.isa.can_print_c ? lhs_step(request.isa, layout.rounding, chunk) : 0;
  const bool vectorized = floats != 0;
  if (layout.rounding != Rounding::even) expect_vectorized(request, vectorized);
  values["STEP"] = number(vectorized ? floats : plain_floats);
  values["LANES"] = number(vectorized ? request.isa.lanes32() : 1);
  values["CHUNK"] = number(chunk);
  if (vectorized) {
    values["INNER_LOOPS"] =
        print_c_function(lower_row_range(request.isa, "row_range", floats), "row_range", true) +
        "\n" +
        print_c_function(lower_quantize_row(request.isa, "quantize_row", layout.rounding, floats),
                         "quantize_row", true);
  } else {
    values["INNER_LOOPS"] = fill_template(request.files / "packer_lhs_plain.c", values);
  }
  const bool by_blocks = request.format.scales == Granularity::block;
  values["CHOOSE"] = fill_template(
      request.files / fmt::format("packer_lhs_quantize_{}.c", by_blocks ? "block" : "row"), values);
  values["QUANTIZE"] = fill_template(request.files / "packer_lhs_quantize.c", values);
  return vectorized;
}

}  // namespace

bool fill_lhs(const PackerRequest& request, PackerValues& values) {
  const Layout& layout = request.layout;
  const bool vectorized = fill_lhs_loops(request, values);
  set_group_values(layout, values);
  values["COMMON"] = fill_template(request.files / "packer_lhs_common.c", values);
  if (layout.block == 0) {
    values["FIELDS"] = lhs_fields_text(layout);
  } else {
    values["FIELDS"] = lhs_block_fields_text(layout);
    set_lhs_block_values(request, values);
  }
  return vectorized;
}

/// Panels as wide as vectors.
bool fill_scalable_lhs(const PackerRequest& request, PackerValues& values) {
  const Layout& layout = request.layout;
  set_edge_values(layout, values);
  values["PANEL_VL"] = number(panel_units(layout));
  values["KR"] = number(layout.order.kr);
  values["K_MULTIPLE"] = number(layout.k_multiple);
  const bool vectorized = fill_lhs_loops(request, values);
  if (layout.block != 0) {
    values["FIELDS"] = lhs_block_fields_text(layout);
    values["BLOCK_BYTES"] = number(ratio(block_bytes(layout), layout.panel));
    return vectorized;
  }
  values["FIELDS"] = scalable_lhs_fields_text(layout);
  values["ROW_BYTES"] = number(ratio(panel_bytes(layout, 0), layout.panel));
  return vectorized;
}

}  // namespace tw
