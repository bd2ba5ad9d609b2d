// Packers of activations that are quantized: inner loops and skeletons.
#include <fmt/format.h>

#include <algorithm>
#include <type_traits>

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
  values["FOR_ROW"] = values["FOR_BLOCKS"] = values["WRITE_ROW_FIELDS"] = "";
  if (by_rows) {
    values["FOR_ROW"] =
        "  how[0] = quantization_of(inner, floats, blocks * BLOCK);\n"
        "  for (size_t i = 1; i < AT_ONCE; ++i) how[i] = how[0];\n";
  } else {
    values["FOR_BLOCKS"] = "    choose_quantizations(inner, floats, count, how);\n";
  }
  if (!has_row_fields(layout)) return;
  values["WRITE_ROW_FIELDS"] = "  write_row_fields(panel + blocks * BLOCK_BYTES, r, how);\n";
}

/// Pieces of the text that quantizes.
struct Pieces {
  const PackerRequest& request;
  const PackerValues& values;
  int64_t step;  ///< of a vectorized inner loop, or 0

  [[nodiscard]] std::string file(const std::string& name) const {
    return fill_template(request.files / fmt::format("packer_lhs_{}.c", name), values) + "\n";
  }
  /// An inner loop: the Program, or the same in plain C.
  template <typename... Arguments>
  [[nodiscard]] std::string loop(const std::string& name,
                                 Program (*lower)(const Isa&, const std::string&, Arguments...),
                                 std::type_identity_t<Arguments>... arguments) const {
    if (step == 0) return file("plain_" + name);
    return print_c_function(lower(request.isa, name, arguments...), name, true) + "\n";
  }
};

std::string rows_text(const Pieces& pieces, Rounding rounding) {
  return pieces.loop("row_range", lower_row_range, pieces.step) +
         pieces.loop("quantize_row", lower_quantize_row, rounding, pieces.step) +
         pieces.file("quantization") + pieces.file("range") + pieces.file("quantize_row") +
         pieces.file("chunk");
}

std::string blocks_text(const Pieces& pieces, const Layout& layout, bool by_rows) {
  std::string text = pieces.file("quantization") + pieces.file("block_sizes");
  if (by_rows) {
    text += pieces.loop("row_range", lower_row_range, pieces.step) + pieces.file("range") +
            pieces.file("quantize_row");
  } else {
    text += pieces.loop("block_ranges", lower_block_ranges, layout.block) +
            pieces.file("quantize_block");
  }
  return text +
         pieces.loop("quantize_blocks", lower_quantize_blocks, layout.rounding, layout.block) +
         pieces.file("chunk_blocks");
}

/// What every skeleton quantizes with. True when its inner loops are vectorized.
bool fill_lhs_loops(const PackerRequest& request, PackerValues& values) {
  const auto& [layout, isa, format, style, source, files] = request;
  const bool blocks = layout.block != 0;
  const int64_t chunk = blocks ? layout.block : std::max<int64_t>(256, layout.k_multiple);
  const bool vectorized =
      isa.can_print_c && (blocks ? can_quantize_blocks(isa, layout.rounding, chunk)
                                 : lhs_step(isa, layout.rounding, chunk) != 0);
  if (layout.rounding != Rounding::even) expect_vectorized(request, vectorized);
  const int64_t step = vectorized ? lhs_step(isa, layout.rounding, chunk) : 0;
  values["STEP"] = number(vectorized ? step : plain_floats);
  values["LANES"] = number(vectorized ? isa.lanes32() : 1);
  values["CHUNK"] = number(chunk);
  const Pieces pieces{request, values, step};
  values["QUANTIZE"] = blocks ? blocks_text(pieces, layout, format.scales == Granularity::row)
                              : rows_text(pieces, layout.rounding);
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
