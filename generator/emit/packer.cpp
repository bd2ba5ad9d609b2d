#include "emit/packer.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "emit/c_file.h"
#include "emit/c_printer.h"
#include "emit/file_template.h"
#include "emit/packer_fields.h"
#include "emit/packer_values.h"
#include "lower/pack.h"
#include "model/sources.h"

namespace tw {
namespace {

using Request = PackerRequest;
using Values = PackerValues;

const Source& source_of(const Request& request) {
  return *find_source(request.source, request.layout);
}

/// Rows of weights are columns of the output.
bool rows_are_columns(const Request& request) {
  return !rows_are_k(source_of(request));
}

/// What a plain C inner loop handles at a time, where the ISA offers no vectorized one.
constexpr int64_t plain_step_bytes = 16;
constexpr int64_t plain_step_k = 8;

/// Rows of n nibbles: their last byte is repeated, be its second nibble a column or not.
std::string repeat_text() {
  return "    const size_t last = (columns - 1) / 2;\n"
         "    memset(in + i * RUN_BYTES + last, from[row / 2 + last], RUN_BYTES - last);\n";
}

// ---- rhs ----

std::string nibble_bits(bool low, bool high, int bits_low, int bits_high) {
  return fmt::format("0x{:02x}", (low ? bits_low : 0) | (high ? bits_high : 0));
}

/// The bits that a layout's offsets flip in a byte of two's complement.
void set_flip(const Layout& layout, Values& values) {
  const DataOrder& order = layout.order;
  values["FLIP"] = order.pair == NibblePair::none
                       ? nibble_bits(order.low_unsigned, false, 0x80, 0)
                       : nibble_bits(order.low_unsigned, order.high_unsigned, 0x08, 0x80);
}

/// Which codes the i-th byte of a packed group holds, as C.
void set_order_values(const Layout& layout, Values& values) {
  const DataOrder& order = layout.order;
  const bool depth = order.pair == NibblePair::depth;
  if (order.pair == NibblePair::none) {
    values["GROUP_K"] = number(order.kr);
    values["GROUP_BYTES"] = number(layout.panel.fixed * order.kr);
    return;
  }
  values["GROUP_K"] = number(depth ? 2 * order.kr : order.kr);
  values["GROUP_BYTES"] = number(layout.panel.fixed * order.kr / (depth ? 1 : 2));
  const std::string k = fmt::format("i % {}", order.kr);
  values["LOW_K"] = k;
  values["HIGH_K"] = depth ? fmt::format("{} + {}", order.distance, k) : k;
  const int64_t near = order.distance / order.kr;  // groups whose nibbles are neighbours
  values["FIRST_K"] = depth ? fmt::format("group / {} * {} + group % {} * {}", near,
                                          2 * order.distance, near, order.kr)
                            : fmt::format("group * {}", order.kr);
  const int half = 16 / order.kr;  // columns of a 16-byte vector's high nibbles
  const std::string high = depth ? fmt::format("i / {}", order.kr)
                                 : fmt::format("i / 16 * {} + i % 16 / {}", 2 * half, order.kr);
  values["HIGH_COLUMN"] = high;
  values["LOW_COLUMN"] = depth ? high : fmt::format("{} + {}", high, half);
  values["LOW_SIGN"] = order.low_unsigned ? "0" : "8";
  values["HIGH_SIGN"] = order.high_unsigned ? "0" : "8";
}

/// Which byte of the source holds code `k` of column `column`, and in which half.
void set_source_values(bool nxk, Values& values) {
  values["SOURCE_BYTE"] = nxk ? "column * stride + k / 2" : "k * stride + column / 2";
  values["SOURCE_ODD"] = nxk ? "k % 2" : "column % 2";
}

/// Source bytes of whole panels of columns.
int64_t plain_run_bytes(const Layout& layout) {
  const int64_t codes = byte_codes(layout);
  return layout.panel.fixed % codes == 0 ? layout.panel.fixed / codes : layout.panel.fixed;
}

std::string plain_rhs_loop(const Request& request, Values values) {
  const bool nxk = rows_are_columns(request);
  set_order_values(request.layout, values);
  const int64_t codes = byte_codes(request.layout);
  values["CALL_PANELS"] =
      nxk ? "1" : number(codes * plain_run_bytes(request.layout) / request.layout.panel.fixed);
  values["STEP_K"] = number(nxk ? codes * plain_step_bytes : plain_step_k);
  if (codes == 1) {
    values["SOURCE_BYTE"] = nxk ? "column * stride + k" : "k * stride + column";
    return fill_template(request.files / "packer_rhs_plain_bytes.c", values);
  }
  set_source_values(nxk, values);
  return fill_template(request.files / "packer_rhs_plain.c", values);
}

/// The inner loops of a packer, how they are called, and what surrounds streaming stores.
struct Loops {
  std::string text, calls, stream_calls;
};

std::string call_text(const std::string& name, int indent) {
  return fmt::format("{:{}}{}(inner);\n", "", indent, name);
}

Program rhs_program(const Request& request, const PackOptions& options, int64_t call) {
  const auto& [layout, isa, format, style, source, files] = request;
  if (layout.block != 0) {
    return lower_pack_blocks(layout, isa, source_blocks(layout, source_of(request)), options);
  }
  return rows_are_columns(request) ? lower_pack_nxk(layout, isa, options)
                                   : lower_pack_kxn(layout, isa, options, call);
}

std::string print_rhs_loop(const Request& request, const PackOptions& options, int64_t call) {
  return print_c_function(rhs_program(request, options, call), options.name, true) + "\n";
}

Loops rhs_loops(const Request& request, int64_t calls, bool streams) {
  Loops loops;
  const int indent = streams ? 4 : 2;
  for (int64_t call = 0; call < calls; ++call) {
    const std::string name = calls == 1 ? "pack_steps" : fmt::format("pack_steps_{}", call);
    loops.text += print_rhs_loop(request, {name, false}, call);
    loops.calls += call_text(name, indent);
    if (!streams) continue;
    loops.text += print_rhs_loop(request, {name + "_stream", true}, call);
    loops.stream_calls += call_text(name + "_stream", indent);
  }
  return loops;
}

void set_loop_values(const Isa& isa, const Loops& loops, Values& values) {
  values["INNER_LOOPS"] = loops.text;
  values["STREAM"] = "0";
  values["FINISH"] = "";
  values["RUN"] = "  (void)stream;\n" + loops.calls;
  if (loops.stream_calls.empty()) return;
  values["STREAM"] = "(uintptr_t)inner->dst % 64 == 0 && args->packed_stride % 64 == 0";
  values["RUN"] = "  if (stream) {\n" + loops.stream_calls + "  } else {\n" + loops.calls + "  }\n";
  values["FINISH"] =
      fmt::format("  // Streamed stores are seen before whatever the caller does next.\n  {};\n",
                  isa.row_for(OpCode::store_fence)->c);
}

/// Panels as wide as vectors: one skeleton for both sources, plain C.
void fill_scalable_rhs(const Request& request, Values& values) {
  const Layout& layout = request.layout;
  values["WRITE_FLOATS"] = fill_template(request.files / "packer_write_floats.c", values);
  set_source_values(rows_are_columns(request), values);
  values["PANEL_VL"] = number(panel_units(layout));
  values["KR"] = number(layout.order.kr);
  values["K_MULTIPLE"] = number(layout.k_multiple);
  values["FLIP"] = nibble_bits(layout.order.low_unsigned, layout.order.high_unsigned, 0x08, 0x80);
  values["PACK_VECTOR"] = fill_template(
      request.files / (layout.order.pair == NibblePair::next ? "packer_rhs_scalable_next.c"
                                                             : "packer_rhs_scalable_column.c"),
      values);
  values["FIELDS"] = scalable_fields_text(layout);
}

bool fill_rhs(const Request& request, Values& values) {
  const Layout& layout = request.layout;
  const bool nxk = rows_are_columns(request);
  const auto step = nxk ? nxk_step(layout, request.isa) : kxn_step(layout, request.isa);
  const DataOrder& order = layout.order;
  const bool apart = order.pair == NibblePair::depth && order.distance != order.kr;
  const int sums = field_index(layout, FieldKind::sums);
  if (apart || layout.fields[static_cast<size_t>(sums)].factor != 1) {
    expect_vectorized(request, step.has_value());
  }
  const int64_t plain_bytes = nxk ? plain_step_bytes : plain_run_bytes(layout);
  values["STEP_BYTES"] = number(step ? step->source_bytes : plain_bytes);
  values["STEP_K"] = number(step && !nxk ? step->rows : plain_step_k);
  values["CALLS"] = number(step ? step->calls : 1);
  const bool bytes = order.pair == NibblePair::none;
  values["CODES"] = number(byte_codes(layout));
  set_flip(layout, values);
  values["SOURCE"] = fill_template(
      request.files / (bytes ? "packer_rhs_bytes.c" : "packer_rhs_nibbles.c"), values);
  values["FIELDS"] = rhs_fields_text(layout);
  const Loops loops = step ? rhs_loops(request, step->calls, can_stream(request.isa))
                           : Loops{plain_rhs_loop(request, values), call_text("pack_steps", 2), ""};
  set_loop_values(request.isa, loops, values);
  values["REPEAT"] = layout.edge == Edge::last && !nxk ? repeat_text() : "";
  values["COMMON"] = fill_template(request.files / "packer_rhs_common.c", values);
  return step.has_value();
}

// ---- rhs with blocks ----

/// Where a source keeps codes and scales, as C.
void set_block_source_values(const Request& request, Values& values) {
  const Source& source = source_of(request);
  const SourceBlocks blocks = source_blocks(request.layout, source);
  const int64_t scale_bytes = bits(field_of(request.layout, FieldKind::scales).type) / 8;
  const bool inside = block_of(source) != 0;  // scales stand with the codes
  const std::string given =
      bits(request.layout.element) == 8 ? "0" : "args->flags & TW_PACK_UNSIGNED_NIBBLES ? 0x88 : 0";
  values["SCALE_BYTES"] = number(scale_bytes);
  values["SCALE_PITCH"] = number(inside ? blocks.bytes : scale_bytes);
  values["SCALES"] = inside ? "source" : "(const uint8_t *)args->scales + row * args->scale_stride";
  values["SCALES_STRIDE"] = inside ? "args->source_stride" : "args->scale_stride";
  values["SOURCE_BLOCK"] = number(blocks.bytes);
  values["SOURCE_CODES"] = number(blocks.codes);
  values["SOURCE_BYTE"] = blocks.apart ? "k % 16" : "k / 2";
  values["SOURCE_SHIFT"] = blocks.apart ? "(k / 16 * 4)" : "(k % 2 * 4)";
  const bool is_offset = field_axes(source.axes, FieldKind::data).offset != 0;
  values["GIVEN"] = values["NO_CODES"] = is_offset ? "0x88" : given;
}

std::string scale_text(ElementType type) {
  const std::string at = "scales + c * SCALE_BYTES";
  if (type == ElementType::f32) return fmt::format("tw_f32_of_bits(tw_load_i32({}))", at);
  return fmt::format("tw_f32_of_{}(tw_load_u16({}))", name(type), at);
}

/// Where fields are, in bytes; of panels as wide as vectors for each column.
void set_block_values(const Layout& layout, Values& values) {
  const auto bytes = [&](Length all) {
    return layout.panel.is_fixed() ? all.fixed : ratio(all, layout.panel);
  };
  const auto offset = [&](FieldKind kind) {
    const Length at = field_offset(layout, static_cast<size_t>(field_index(layout, kind)), 0);
    return number(at == Length{} ? 0 : bytes(at));
  };
  values["BLOCK"] = number(layout.block);
  values["BLOCK_BYTES"] = number(bytes(block_bytes(layout)));
  values["SCALES_OFFSET"] = offset(FieldKind::scales);
  values["SUMS_OFFSET"] = offset(FieldKind::sums);
  values["BIAS_OFFSET"] = offset(FieldKind::bias);
}

/// Panels as wide as vectors: plain C.
void fill_scalable_rhs_blocks(const Request& request, Values& values) {
  const Layout& layout = request.layout;
  set_block_values(layout, values);
  set_block_source_values(request, values);
  values["WRITE_FLOATS"] = fill_template(request.files / "packer_write_floats.c", values);
  values["PANEL_VL"] = number(panel_units(layout));
  values["KR"] = number(layout.order.kr);
  values["SCALE"] = scale_text(field_of(layout, FieldKind::scales).type);
}

bool fill_rhs_blocks(const Request& request, Values& values) {
  const Layout& layout = request.layout;
  const auto index = static_cast<size_t>(field_index(layout, FieldKind::data));
  const int64_t data = field_offset(layout, index, 0).fixed;
  constexpr int64_t run_k = 256;  // values of k whose scales are gathered at a time
  set_block_values(layout, values);
  values["RUN_BLOCKS"] = number(run_k / layout.block);
  set_flip(layout, values);
  values["WRITE_FLOATS"] = write_floats_text(layout);
  set_block_source_values(request, values);
  if (!can_pack_blocks(layout, request.isa)) {
    if (request.isa.vector_bytes.fixed != 4) expect_vectorized(request, false);
    set_order_values(layout, values);
    values["SCALE"] = scale_text(field_of(layout, FieldKind::scales).type);
    const std::string codes = layout.order.pair == NibblePair::none ? "bytes" : "nibbles";
    values["PACK_CODES"] =
        fill_template(request.files / fmt::format("packer_rhs_blocks_{}.c", codes), values);
    const std::string text = fill_template(request.files / "packer_rhs_blocks_plain.c", values);
    set_loop_values(request.isa, {text, call_text("pack_steps", 2), ""}, values);
    return false;
  }
  const int64_t aligned = request.isa.vector_bytes.fixed;
  const bool streams =
      can_stream(request.isa) && block_bytes(layout).fixed % aligned == 0 && data % aligned == 0;
  set_loop_values(request.isa, rhs_loops(request, 1, streams), values);
  return true;
}

// ---- both ----

/// Of an lhs, too.
bool floats_are_rows(const Request& request) {
  return request.layout.side == Side::lhs || rows_are_columns(request);
}

/// Floats need no decoding, and nothing beside them but the bias. Plain C does panels of any size.
bool fill_floats(const Request& request, Values& values) {
  const Layout& layout = request.layout;
  const Length panel = layout.panel;
  values["BYTES"] = number(bits(layout.element) / 8);
  values["PANEL"] = panel.is_fixed()
                        ? number(panel.fixed)
                        : fmt::format("args->vector_bytes / 16 * {}", panel_units(layout));
  values["WRITE_FLOATS"] = values["BIAS"] = "";
  if (field_index(layout, FieldKind::bias) >= 0) {
    values["WRITE_FLOATS"] = fill_template(request.files / "packer_write_floats.c", values);
    values["BIAS"] =
        "    write_floats(to + args->k * panel * BYTES, args->bias, row, rows, panel);\n";
  }
  values["INNER_LOOPS"] = values["WHOLE_STEPS"] = values["FINISH"] = "";
  values["PACKED_K"] = "0";
  const bool rows = request.layout.side == Side::rhs && rows_are_columns(request);
  const auto step = rows && request.isa.can_print_c ? nxk_step(layout, request.isa) : std::nullopt;
  if (!step) return false;
  set_loop_values(request.isa, rhs_loops(request, 1, can_stream(request.isa)), values);
  values["STEP_K"] = number(step->source_bytes * 8 / bits(layout.element));
  values["WHOLE_STEPS"] = fill_template(request.files / "packer_floats_steps.c", values);
  values["PACKED_K"] = "pack_whole_steps(args, row, rows, panel, end - row <= panel, to)";
  return true;
}

/// The file in templates/file that walks panels and edges.
std::string skeleton(const Request& request, const PackerSource& packer) {
  if (is_float(request.format)) {
    return fmt::format("packer_floats_{}.c", floats_are_rows(request) ? "rows" : "columns");
  }
  const bool blocks = request.layout.block != 0;
  if (request.layout.side == Side::lhs) return blocks ? "packer_lhs_blocks.c" : "packer_lhs_rows.c";
  if (!request.layout.panel.is_fixed()) {
    return fmt::format("packer_rhs_scalable{}.c", blocks ? "_blocks" : "");
  }
  return blocks ? "packer_rhs_blocks.c" : fmt::format("packer_rhs_{}.c", packer.source);
}

PackerSource make_packer(const Request& request, const std::string& name) {
  check_packable(request.layout);
  const bool lhs = request.layout.side == Side::lhs;
  PackerSource packer;
  packer.name = name;
  packer.symbol = "tw_" + name;
  packer.operand = lhs ? "lhs" : "rhs";
  packer.source = request.source;
  packer.isa = &request.isa;
  Values values{{"SYMBOL", packer.symbol}};
  const bool scalable = !request.layout.panel.is_fixed();
  if (is_float(request.format)) {
    packer.vectorized = fill_floats(request, values);
  } else if (lhs) {
    packer.vectorized = fill_lhs(request, values);
  } else if (scalable) {
    request.layout.block != 0 ? fill_scalable_rhs_blocks(request, values)
                              : fill_scalable_rhs(request, values);
  } else {
    set_common_values(request.layout, values);
    set_edge_values(request.layout, values);
    packer.vectorized =
        request.layout.block != 0 ? fill_rhs_blocks(request, values) : fill_rhs(request, values);
  }
  const CFileRules rules = read_c_file_rules(request.files.parent_path());
  const std::filesystem::path file = request.files / skeleton(request, packer);
  packer.text =
      c_file(rules, request.isa, fill_template(file, values), packer.symbol, "tw_pack_args");
  return packer;
}

/// What tells packers of the same panels apart: blocks (on the lhs of any length, as long as its
/// format can do without), codes of 16 bits, whose layout it is.
std::string packer_suffix(const Request& request) {
  const Layout& layout = request.layout;
  const bool lhs = layout.side == Side::lhs;
  std::string text = lhs ? "" : block_suffix(layout, request.format);
  if (lhs && layout.block != 0 && request.format.block == 0) text += "_blocks";
  if (lhs && layout.element == ElementType::i16) text += "_i16";
  if (request.style != LayoutStyle::own) text += fmt::format("_{}", name(request.style));
  return text;
}

std::string packer_name(const Request& request) {
  const Layout& layout = request.layout;
  return fmt::format("{}_pack_{}_{}p{}x{}_{}{}", layout.side == Side::lhs ? "lhs" : "rhs",
                     request.source, request.format.name, to_string(layout.panel), layout.order.kr,
                     request.isa.name, packer_suffix(request));
}

/// An lhs layout with what its packer takes as arguments left open: the length of blocks, and what
/// becomes of sums and how often values stand there. Others as they are.
Layout without_arguments(Layout layout, bool with_sums) {
  if (layout.side == Side::rhs) return layout;
  if (layout.block != 0) layout.block = block_step;
  std::vector<Field> fields;
  for (Field field : layout.fields) {
    if (field.kind == FieldKind::sums && !with_sums) continue;
    field.factor = field.repeat = 1;
    field.base = 0;
    fields.push_back(field);
  }
  layout.fields = fields;
  return layout;
}

/// Whether one packer serves both: sums may be missing from either.
bool share_packer(const Layout& a, const Layout& b) {
  const auto sums = [](const Layout& layout) { return field_index(layout, FieldKind::sums) >= 0; };
  const bool both = sums(a) && sums(b);
  return without_arguments(a, both) == without_arguments(b, both);
}

/// Whether every machine that has ISA `b` runs the packers of `a`, with vectors as long.
bool is_as_good(const Isa& a, const Isa& b) {
  const auto has = [&](const std::string& feature) {
    return std::find(b.features.begin(), b.features.end(), feature) != b.features.end();
  };
  return a.architecture == b.architecture && a.vector_bytes == b.vector_bytes &&
         std::all_of(a.features.begin(), a.features.end(), has);
}

/// A packer to be, and the request that it is made from: of its layouts the one with most copies of
/// sums, for which its code is fastest.
struct PackerGroup {
  Request request;
  std::vector<Layout> layouts;
  std::vector<std::string> families;
};

template <typename T>
void add_once(std::vector<T>& all, const T& one) {
  if (std::find(all.begin(), all.end(), one) == all.end()) all.push_back(one);
}

void add_request(std::vector<PackerGroup>& groups, const Request& request,
                 const std::string& family) {
  for (PackerGroup& group : groups) {
    const Request& its = group.request;
    if (its.source != request.source || &its.format != &request.format) continue;
    const bool lhs = request.layout.side == Side::lhs;
    if (lhs ? !is_as_good(its.isa, request.isa) : &its.isa != &request.isa) continue;
    if (!share_packer(its.layout, request.layout)) continue;
    add_once(group.layouts, request.layout);
    add_once(group.families, family);
    if (repeat_of(request.layout, FieldKind::sums) > repeat_of(its.layout, FieldKind::sums)) {
      group.request.layout = request.layout;
    }
    return;
  }
  groups.push_back({request, {request.layout}, {family}});
}

}  // namespace

std::vector<PackerSource> make_packers(const std::vector<Variant>& variants,
                                       const std::string& templates) {
  std::vector<PackerGroup> lhs;
  std::vector<PackerGroup> rhs;
  const std::filesystem::path files = std::filesystem::path(templates) / "file";
  for (const Variant& v : variants) {
    for (const std::string& from : v.family.lhs_from) {
      if (is_unpacked(v.lhs)) continue;
      add_request(lhs, {v.lhs, *v.isa, *v.family.lhs, v.style, from, files}, v.family.name);
    }
    for (const std::string& from : v.family.rhs_from) {
      // A source may hold weights of some of the spec's layouts only.
      if (find_source(from, v.rhs) == nullptr) continue;
      add_request(rhs, {v.rhs, *v.isa, *v.family.rhs, v.style, from, files}, v.family.name);
    }
  }
  std::vector<PackerSource> packers;
  for (const std::vector<PackerGroup>* side : {&lhs, &rhs}) {
    for (const PackerGroup& group : *side) {
      std::string name = packer_name(group.request);
      const auto taken = [&](const PackerSource& other) { return other.name == name; };
      // Same panels with other fields: the id tells them apart.
      if (std::any_of(packers.begin(), packers.end(), taken)) {
        name += fmt::format("_{:08x}", id(group.request.layout) >> 32);
      }
      packers.push_back(make_packer(group.request, name));
      packers.back().layouts = group.layouts;
      packers.back().families = group.families;
    }
  }
  return packers;
}

}  // namespace tw
