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
                           : "  if (panel == 1) {\n"
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

/// Rows of a panel: as many as the layout says, or as the caller's vectors hold.
void set_panel_values(const Layout& layout, PackerValues& values) {
  const bool fixed = layout.panel.is_fixed();
  const int64_t rows = fixed ? layout.panel.fixed : panel_units(layout);
  constexpr int64_t most_units = 16;  // no vector is longer than 256 bytes
  values["PANEL"] = fixed ? number(rows) : fmt::format("args->vector_bytes / 16 * {}", rows);
  values["ROWS"] = fixed ? number(rows) : "at.panel";
  values["MOST_ROWS"] = number(fixed ? rows : most_units * rows);
  values["KR"] = number(layout.order.kr);
  values["K_MULTIPLE"] = number(layout.k_multiple);
}

/// Where the skeleton has a range of values quantized: rows, or blocks.
void set_block_values(const PackerRequest& request, PackerValues& values) {
  const Layout& layout = request.layout;
  const bool by_rows = request.format.scales == Granularity::row;
  values["FOR_ROW"] = by_rows ? "  how[0] = quantization_of(inner, floats, args->k);\n"
                                "  for (size_t i = 1; i < AT_ONCE; ++i) how[i] = how[0];\n"
                              : "";
  values["FOR_BLOCKS"] = by_rows ? "" : "    choose_quantizations(inner, floats, count, how);\n";
  values["PLACES"] = lhs_places_text(layout);
  const std::string fields = lhs_block_fields_text(layout);
  values["BLOCK_FIELDS"] = fields;
  values["UNUSED"] = "";
  for (const char* name : {"args", "how", "sum_copies", "scale_copies"}) {
    if (fields.find(name) == std::string::npos)
      values["UNUSED"] += fmt::format("  (void){};\n", name);
  }
  // The first layout's, which are those of most.
  values["USUAL_SUMS"] = number(repeat_of(layout, FieldKind::sums));
  values["USUAL_SCALES"] = number(repeat_of(layout, FieldKind::scales));
  values["WRITE_ROW_FIELDS"] = lhs_row_fields_text(layout);
  values["ROW_FIELD_BYTES"] = number(4 * fixed_lhs_fields(layout));
}

/// Pieces of the text that quantizes.
struct Pieces {
  const PackerRequest& request;
  const PackerValues& values;
  int64_t step;  ///< of a vectorized inner loop, or 0

  [[nodiscard]] std::string file(const std::string& name) const {
    return fill_template(request.files / fmt::format("packer_lhs_{}.c", name), values) + "\n";
  }
  /// An inner loop: the Program, or the same in plain C, which has none of its own for blocks
  /// of 32.
  template <typename... Arguments>
  [[nodiscard]] std::string loop(const std::string& name,
                                 Program (*lower)(const Isa&, const std::string&, Arguments...),
                                 std::type_identity_t<Arguments>... arguments) const {
    if (step == 0) return name.ends_with("_of_32") ? "" : file("plain_" + name);
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
    text += pieces.loop("block_ranges", lower_block_ranges, BlockLength::argument) +
            pieces.loop("block_ranges_of_32", lower_block_ranges, BlockLength::step) +
            pieces.file("quantize_block");
  }
  return text +
         pieces.loop("quantize_blocks", lower_quantize_blocks, layout.rounding,
                     BlockLength::argument) +
         pieces.loop("quantize_blocks_of_32", lower_quantize_blocks, layout.rounding,
                     BlockLength::step) +
         pieces.file("chunk_blocks");
}

/// What every skeleton quantizes with. True when its inner loops are vectorized.
bool fill_lhs_loops(const PackerRequest& request, PackerValues& values) {
  const auto& [layout, isa, format, style, source, files] = request;
  const bool blocks = layout.block != 0;
  const int64_t chunk = std::max<int64_t>(256, layout.k_multiple);
  const bool vectorized = isa.can_print_c && (blocks ? can_quantize_blocks(isa, layout.rounding)
                                                     : lhs_step(isa, layout.rounding, chunk) != 0);
  if (layout.rounding != Rounding::even) expect_vectorized(request, vectorized);
  const int64_t step = vectorized ? lhs_step(isa, layout.rounding, chunk) : 0;
  values["STEP"] = number(vectorized ? step : plain_floats);
  values["LANES"] = number(vectorized ? isa.lanes32() : 1);
  values["CHUNK"] = number(chunk);
  // Blocks of 32 are what most weights have.
  const std::string of_32 = vectorized ? "inner->block == 32 ? {0}_of_32(inner) : " : "";
  for (const auto& [value, name] :
       {std::pair{"RANGES", "block_ranges"}, {"CODES", "quantize_blocks"}}) {
    values[value] = fmt::format(fmt::runtime(of_32 + "{0}(inner)"), name);
  }
  const Pieces pieces{request, values, step};
  values["QUANTIZE"] = blocks ? blocks_text(pieces, layout, format.scales == Granularity::row)
                              : rows_text(pieces, layout.rounding);
  return vectorized;
}

}  // namespace

bool fill_lhs(const PackerRequest& request, PackerValues& values) {
  const Layout& layout = request.layout;
  set_panel_values(layout, values);
  set_edge_values(layout, values);
  const bool vectorized = fill_lhs_loops(request, values);
  set_group_values(layout, values);
  const bool sums = field_index(layout, FieldKind::sums) >= 0;
  const bool copies = layout.block != 0 && (sums || field_of(layout, FieldKind::scales).per_block);
  const auto file = [&](const char* name) { return fill_template(request.files / name, values); };
  values["COPIES"] = copies ? file("packer_lhs_copies.c") : "";
  values["KEPT_SUM"] = sums ? file("packer_lhs_kept_sum.c") : "";
  values["COMMON"] = file("packer_lhs_common.c");
  if (layout.block != 0) {
    set_block_values(request, values);
  } else {
    values["FIELDS"] = lhs_fields_text(layout);
    values["FIXED_FIELDS"] = number(fixed_lhs_fields(layout));
  }
  return vectorized;
}

}  // namespace tw
