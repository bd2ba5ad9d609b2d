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
#include "spec/isa_reader.h"

namespace tw {
namespace {

using Request = PackerRequest;
using Values = PackerValues;

/// Activations are rows of k values, too.
const Source& source_of(const Request& request) {
  const bool lhs = request.layout.side == Side::lhs;
  return *find_source(lhs ? "nxk" : request.source, request.layout);
}

// ---- rhs with blocks ----

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

/// The inner loops of a packer, how they are called, and what surrounds streaming stores.
struct Loops {
  std::string text, calls, stream_calls;
};

std::string call_text(const std::string& name, int indent) {
  return fmt::format("{:{}}{}(inner);\n", "", indent, name);
}

Loops rhs_loops(const Request& request, bool streams) {
  const auto print = [&](const PackOptions& options) {
    const Program program = lower_pack_blocks(
        request.layout, request.isa, source_blocks(request.layout, source_of(request)), options);
    return print_c_function(program, options.name, true) + "\n";
  };
  Loops loops;
  const int indent = streams ? 4 : 2;
  loops.text = print({"pack_steps", false});
  loops.calls = call_text("pack_steps", indent);
  if (streams) {
    loops.text += print({"pack_steps_stream", true});
    loops.stream_calls = call_text("pack_steps_stream", indent);
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
  const bool is_offset = field_axes(source.axes, FieldKind::data).offset != 0;
  values["GIVEN"] = values["NO_CODES"] = is_offset ? "0x88" : given;
}

/// Where fields are, in bytes.
void set_block_values(const Layout& layout, Values& values) {
  const auto offset = [&](FieldKind kind) {
    return number(field_offset(layout, static_cast<size_t>(field_index(layout, kind)), 0).fixed);
  };
  values["PANEL"] = number(layout.panel.fixed);
  values["DATA_OFFSET"] = offset(FieldKind::data);
  values["BLOCK"] = number(layout.block);
  values["BLOCK_BYTES"] = number(block_bytes(layout).fixed);
  values["SCALES_OFFSET"] = offset(FieldKind::scales);
  values["SUMS_OFFSET"] = offset(FieldKind::sums);
  values["BIAS_OFFSET"] = offset(FieldKind::bias);
}

void fill_rhs_blocks(const Request& request, Values& values) {
  const Layout& layout = request.layout;
  const auto index = static_cast<size_t>(field_index(layout, FieldKind::data));
  const int64_t data = field_offset(layout, index, 0).fixed;
  constexpr int64_t run_k = 256;  // values of k whose scales are gathered at a time
  set_block_values(layout, values);
  values["RUN_BLOCKS"] = number(run_k / layout.block);
  set_flip(layout, values);
  values["WRITE_FLOATS"] = fill_template(request.files / "packer_write_floats.c", values);
  set_block_source_values(request, values);
  const int64_t aligned = request.isa.vector_bytes.fixed;
  const bool streams =
      can_stream(request.isa) && block_bytes(layout).fixed % aligned == 0 && data % aligned == 0;
  set_loop_values(request.isa, rhs_loops(request, streams), values);
}

// ---- both ----

/// Floats of either side and weights, of which no more is to be told.
std::string whole_packer(const Request& request, const std::string& symbol, const Isa& isa) {
  const Program program = lower_packer(symbol, request.layout, source_of(request), isa);
  return print_c_function(program, symbol, false, "tw_pack_args");
}

PackerSource make_packer(const Request& request, const std::string& name, const Isa& portable) {
  check_packable(request.layout);
  const Layout& layout = request.layout;
  const bool lhs = layout.side == Side::lhs;
  const bool blocks = layout.block != 0;
  PackerSource packer;
  packer.name = name;
  packer.symbol = "tw_" + name;
  packer.operand = lhs ? "lhs" : "rhs";
  packer.source = request.source;
  packer.isa = &request.isa;
  Values values{{"SYMBOL", packer.symbol}};
  std::string functions;
  if (lhs && !is_float(request.format)) {
    packer.vectorized = fill_lhs(request, values);
    functions = fill_template(
        request.files / (blocks ? "packer_lhs_blocks.c" : "packer_lhs_rows.c"), values);
  } else {
    packer.vectorized = can_pack(layout, source_of(request), request.isa);
    if (layout.edge == Edge::last) expect_vectorized(request, packer.vectorized);
    if (blocks && packer.vectorized) {
      fill_rhs_blocks(request, values);
      functions = fill_template(request.files / "packer_rhs_blocks.c", values);
    } else {
      functions = whole_packer(request, packer.symbol, packer.vectorized ? request.isa : portable);
    }
  }
  const CFileRules rules = read_c_file_rules(request.files.parent_path());
  packer.text = c_file(rules, request.isa, functions, packer.symbol, "tw_pack_args");
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
  IsaLibrary library(templates);
  const Isa& portable = library.get("scalar");
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
      packers.push_back(make_packer(group.request, name, portable));
      packers.back().layouts = group.layouts;
      packers.back().families = group.families;
    }
  }
  return packers;
}

}  // namespace tw
