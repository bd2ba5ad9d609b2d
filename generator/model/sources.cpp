#include "model/sources.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

namespace tw {
namespace {

const FieldAxes& data_of(const Source& source) {
  return field_axes(source.axes, FieldKind::data);
}

/// Whether it says what its values are: floats, or codes beside their scales.
bool has_values(const Source& source) {
  if (find_field(source.axes, FieldKind::scale_steps) != nullptr) return false;
  if (top_bits(source) != 0 || source.table != nullptr || data_of(source).negated) return false;
  return is_float(data_of(source).type) || block_of(source) != 0;
}

/// What the codes of a layout, or its floats, are.
struct Kept {
  ElementType type;
  int top_bits;
  int64_t block;  ///< 0: there are none
  bool minimums, steps;
  const CodeTable* table;
};

bool has(const Source& source, FieldKind kind) {
  return find_field(source.axes, kind) != nullptr;
}

/// Whether bytes, in super-blocks, are a source's codes and their tops.
bool are_joined(const Source& source, const Kept& kept) {
  return kept.type == ElementType::i8 && kept.top_bits == 0 && kept.steps &&
         has(source, FieldKind::scale_steps) && top_bits(source) != 0;
}

/// Formats in blocks have layouts of longer ones, too, if a spec says so.
bool may_be_block(int64_t own, const Kept& kept) {
  return own == kept.block || (!kept.steps && kept.block != 0 && own % long_block_step == 0);
}

/// Whether a source's are the same. `any_length`: in layouts of some block length.
bool has_codes(const Source& source, const Kept& kept, bool any_length = false) {
  if (has(source, FieldKind::minimums) != kept.minimums || source.table != kept.table) return false;
  const bool same = data_of(source).type == kept.type && top_bits(source) == kept.top_bits;
  if (!same && !are_joined(source, kept)) return false;
  // Scales of blocks that are elsewhere are rows of k / block values beside rows of k values.
  const int64_t own = block_of(source);
  if (own == 0) return kept.block == 0 || !rows_are_k(source);
  if (has(source, FieldKind::scale_steps) != kept.steps) return false;
  return any_length ? may_be_block(own, kept) : own == kept.block;
}

Kept kept_by(const Format& format) {
  return {format.element,      format.top_bits,   std::max(format.super_block, format.block),
          format.has_minimums, has_steps(format), format.table};
}

/// Rows of `inner`, one for each step of the dimension.
Part rows(Dim dim, const Part::Member& inner) {
  return {Axis{dim, rest, 1, 0, true}, {inner}};
}

Part blocks(int64_t length, const std::vector<Part::Member>& members) {
  return {Axis{Dim::k, rest, length}, members};
}

/// Values one after the other.
FieldAxes sequence(FieldKind kind, ElementType type, const std::vector<Axis>& slowest_first,
                   int offset = 0) {
  FieldAxes data{kind, type, 0, slowest_first, offset, {}};
  Length stride = bits(type);
  for (auto axis = data.axes.rbegin(); axis != data.axes.rend(); ++axis) {
    axis->stride = stride;
    stride = stride * axis->extent.fixed;
  }
  return data;
}
FieldAxes codes(ElementType type, const std::vector<Axis>& slowest_first, int offset = 0) {
  return sequence(FieldKind::data, type, slowest_first, offset);
}

/// Six bits for each of eight blocks of 32, four of them here and two there, so many bits from
/// where 96 bits of scales and minimums begin; those of the last four blocks lie elsewhere.
FieldAxes six_bits(FieldKind kind, int64_t member, int64_t first, int64_t last_four) {
  const bool is_top = kind == FieldKind::scale_tops || kind == FieldKind::minimum_tops;
  // `member`: where its bits would be as a member of a Part, one after the other.
  return {kind,
          is_top ? ElementType::i2 : ElementType::i4,
          first - member,
          {{Dim::k, 2, 128, last_four}, {Dim::k, 4, 32, 8}},
          0,
          {}};
}

}  // namespace

const std::vector<Source>& sources() {
  static const FieldAxes f16_scale{FieldKind::scales, ElementType::f16, 0, {}, 0, {}};
  static const FieldAxes f16_minimum{FieldKind::minimums, ElementType::f16, 0, {}, 0, {}};
  static const std::vector<Source> table = [] {
    std::vector<Source> list;
    const ElementType types[] = {ElementType::i2,   ElementType::i4,   ElementType::i8,
                                 ElementType::e4m3, ElementType::e5m2, ElementType::f16,
                                 ElementType::bf16, ElementType::f32};
    for (const ElementType type : types) {
      list.push_back({"nxk", rows(Dim::n, codes(type, {{Dim::k, rest}}))});
    }
    for (const ElementType type : types) {
      list.push_back({"kxn", rows(Dim::k, codes(type, {{Dim::n, rest}}))});
    }
    // Blocks of ggml. Values 16 apart share a byte.
    const FieldAxes nibbles = codes(ElementType::i4, {{Dim::k, 16}, {Dim::k, 2, 16}}, 8);
    const FieldAxes bytes = codes(ElementType::i8, {{Dim::k, 32}});
    list.push_back({"q4_0", rows(Dim::n, blocks(32, {f16_scale, nibbles}))});
    list.push_back({"q8_0", rows(Dim::n, blocks(32, {f16_scale, bytes}))});
    list.push_back({"nxk_bf16", rows(Dim::n, codes(ElementType::bf16, {{Dim::k, rest}}))});
    list.push_back({"q4_1", rows(Dim::n, blocks(32, {f16_scale, f16_minimum, nibbles}))});
    // ONNX Runtime's MatMulNBits: code 0 is the middle one of unsigned codes.
    for (const ElementType type : {ElementType::i2, ElementType::i4, ElementType::i8}) {
      const int middle = 1 << (bits(type) - 1);
      list.push_back({"nbits", rows(Dim::n, codes(type, {{Dim::k, rest}}, middle)), true});
    }
    // Super-blocks: of values 32 apart two share a byte, and tops of eight.
    const auto f16_step = [](FieldKind kind) {
      return FieldAxes{kind, ElementType::f16, 0, {}, 0, {}};
    };
    const FieldAxes far_nibbles =
        codes(ElementType::i4, {{Dim::k, 4, 64}, {Dim::k, 32}, {Dim::k, 2, 32}}, 8);
    const std::vector<Part::Member> steps = {
        f16_step(FieldKind::scale_steps),          f16_step(FieldKind::minimum_steps),
        six_bits(FieldKind::scales, 0, 0, 64),     six_bits(FieldKind::scale_tops, 32, 4, 2),
        six_bits(FieldKind::minimums, 48, 32, 36), six_bits(FieldKind::minimum_tops, 80, 36, 2)};
    const auto behind_steps = [&](std::vector<Part::Member> more) {
      more.insert(more.begin(), steps.begin(), steps.end());
      return rows(Dim::n, blocks(256, more));
    };
    list.push_back({"q4_k", behind_steps({far_nibbles})});
    // Codes of five bits: tops of 32 values follow each other, or are as far apart as the nibbles.
    const auto tops = [](ElementType type, const std::vector<Axis>& slowest_first) {
      return sequence(FieldKind::tops, type, slowest_first);
    };
    const FieldAxes bit_by_bit = tops(ElementType::i1, {{Dim::k, 32}});
    list.push_back({"q5_0", rows(Dim::n, blocks(32, {f16_scale, bit_by_bit, nibbles}))});
    list.push_back(
        {"q5_1", rows(Dim::n, blocks(32, {f16_scale, f16_minimum, bit_by_bit, nibbles}))});
    list.push_back({"q5_k", behind_steps({tops(ElementType::i1, {{Dim::k, 32}, {Dim::k, 8, 32}}),
                                          far_nibbles})});
    // Of six bits: of values 64 apart two share a byte, tops of four that are 32 apart.
    list.push_back(
        {"q6_k",
         rows(Dim::n,
              blocks(256,
                     {codes(ElementType::i4,
                            {{Dim::k, 2, 128}, {Dim::k, 2, 32}, {Dim::k, 32}, {Dim::k, 2, 64}}, 8),
                      tops(ElementType::i2, {{Dim::k, 2, 128}, {Dim::k, 32}, {Dim::k, 4, 32}}),
                      sequence(FieldKind::scales, ElementType::i8, {{Dim::k, 16, 16}}),
                      f16_step(FieldKind::scale_steps)}))});
    // Codes that stand for values of a table.
    const CodeTable* iq4 = find_format("qnl4c32")->table;
    const CodeTable* e2m1 = find_format("qmx4c32")->table;
    list.push_back({"iq4_nl", rows(Dim::n, blocks(32, {f16_scale, nibbles})), false, iq4});
    const FieldAxes e8m0_scale{FieldKind::scales, ElementType::e8m0, 0, {}, 0, {}};
    list.push_back({"mxfp4", rows(Dim::n, blocks(32, {e8m0_scale, nibbles})), false, e2m1});
    const FieldAxes near_nibbles =
        codes(ElementType::i4, {{Dim::k, 4, 16}, {Dim::k, 8}, {Dim::k, 2, 8}}, 8);
    const CodeTable* nv4 = find_format("qnv4k16")->table;
    const FieldAxes e5m3_scales = sequence(FieldKind::scales, ElementType::e5m3, {{Dim::k, 4, 16}});
    list.push_back({"nvfp4", rows(Dim::n, blocks(64, {e5m3_scales, near_nibbles})), false, nv4});
    // Six bits for each of eight blocks, less 32: two here, four there.
    const FieldAxes scale_tops =
        sequence(FieldKind::scale_tops, ElementType::i2, {{Dim::k, 8, 32}});
    const FieldAxes scales = sequence(FieldKind::scales, ElementType::i4, {{Dim::k, 8, 32}}, 32);
    const FieldAxes nibbles_of_blocks =
        codes(ElementType::i4, {{Dim::k, 8, 32}, {Dim::k, 16}, {Dim::k, 2, 16}}, 8);
    const Part iq4_xs_rows = rows(Dim::n, blocks(256, {f16_step(FieldKind::scale_steps), scale_tops,
                                                       scales, nibbles_of_blocks}));
    list.push_back({"iq4_xs", iq4_xs_rows, false, iq4});
    // Of two and three bits: of values 32 apart four share a byte.
    const FieldAxes quarters =
        codes(ElementType::i2, {{Dim::k, 2, 128}, {Dim::k, 32}, {Dim::k, 4, 32}}, 2);
    const FieldAxes low_scales{FieldKind::scales, ElementType::i4, 0, {{Dim::k, 16, 16, 8}}, 0, {}};
    // In the upper halves of the same bytes, where as a member they would be behind them.
    const FieldAxes high_minimums{
        FieldKind::minimums, ElementType::i4, 4 - 64, {{Dim::k, 16, 16, 8}}, 0, {}};
    list.push_back({"q2_k", rows(Dim::n, blocks(256, {low_scales, high_minimums, quarters,
                                                      f16_step(FieldKind::scale_steps),
                                                      f16_step(FieldKind::minimum_steps)}))});
    // Scales less 32: eight bytes of nibbles, four with their upper bits.
    const FieldAxes scale_nibbles{
        FieldKind::scales, ElementType::i4, 0, {{Dim::k, 2, 128, 4}, {Dim::k, 8, 16, 8}}, 32, {}};
    const FieldAxes scale_quarters =
        sequence(FieldKind::scale_tops, ElementType::i2, {{Dim::k, 4, 16}, {Dim::k, 4, 64}});
    const Part q3_k_rows = rows(
        Dim::n, blocks(256, {tops(ElementType::i1, {{Dim::k, 32}, {Dim::k, 8, 32}}), quarters,
                             scale_nibbles, scale_quarters, f16_step(FieldKind::scale_steps)}));
    list.push_back({"q3_k", q3_k_rows});
    // Values are d * (code - 1): (1 - code) is one of the codes around zero, with scale -d.
    FieldAxes far_ternary =
        codes(ElementType::i2, {{Dim::k, 2, 128}, {Dim::k, 32}, {Dim::k, 4, 32}}, 1);
    FieldAxes minus_d = f16_scale;
    far_ternary.negated = minus_d.negated = true;
    list.push_back({"tq2_0", rows(Dim::n, blocks(256, {far_ternary, minus_d}))});
    FieldAxes ternary = codes(ElementType::i2, {{Dim::k, 64}}, 1);
    ternary.negated = true;
    list.push_back({"q2_0", rows(Dim::n, blocks(64, {minus_d, ternary}))});
    list.push_back(
        {"q1_0", rows(Dim::n, blocks(128, {f16_scale, codes(ElementType::i1, {{Dim::k, 128}}, 1)})),
         false, find_format("qsi1c128")->table});
    // What rows of a grid hold, instead of their numbers, and signs, as codes.
    list.push_back({"iq3_s_flat", iq4_xs_rows, false, find_format("qi3s4k32")->table});
    list.push_back({"iq3_xxs_flat", iq4_xs_rows, false, find_format("qi3x4k32")->table});
    list.push_back({"iq2_flat", q3_k_rows, false, find_format("qi2x3k16")->table});
    list.push_back({"iq1_flat", q3_k_rows, false, find_format("qi1x3k16")->table});
    return list;
  }();
  return table;
}

std::vector<std::string> source_names(const Format& format) {
  std::vector<std::string> names;
  for (const Source& source : sources()) {
    if (source.zero_codes && !(format.has_zero_point && format.block != 0)) continue;
    const bool converts = is_float(format) && has_values(source);
    if (!converts && !has_codes(source, kept_by(format), true)) continue;
    const std::string name(source.name);
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  return names;
}

const Format& format_of(const Source& source) {
  for (const Format& format : formats()) {
    if (format.scales == Granularity::block && !format.quantized_on_the_fly &&
        format.bytes_of.empty() && has_codes(source, kept_by(format), true)) {
      return format;
    }
  }
  throw std::logic_error(fmt::format("no format keeps blocks of {}", source.name));
}

const Source* find_source(std::string_view name, const Layout& layout) {
  const Source* found = nullptr;
  const bool offsets = field_index(layout, FieldKind::offsets) >= 0;
  for (const Source& source : sources()) {
    if (source.name != name || (source.zero_codes && offsets)) continue;
    const bool minimums = field_index(layout, FieldKind::minimums) >= 0;
    const Kept kept{layout.element, top_bits(layout),  whole_block(layout),
                    minimums,       has_steps(layout), layout.table};
    if (has_codes(source, kept)) {
      const bool fits = block_of(source) == 0 ||
                        kept_scales(source) == field_of(layout, float_scale(layout)).type;
      return fits ? &source : nullptr;
    }
    if (is_float(layout.element) && has_values(source)) found = &source;
  }
  return found;
}

const Source& rows_of(ElementType type) {
  return *std::find_if(sources().begin(), sources().end(), [&](const Source& source) {
    return !rows_are_k(source) && block_of(source) == 0 && data_of(source).type == type;
  });
}

int top_bits(const Source& source) {
  const FieldAxes* tops = find_field(source.axes, FieldKind::tops);
  return tops == nullptr ? 0 : bits(tops->type);
}

bool converts(const Source& source, const Layout& layout) {
  return is_float(layout.element) && data_of(source).type != layout.element;
}

bool joins_codes(const Source& source, const Layout& layout) {
  return top_bits(source) != 0 && top_bits(layout) == 0;
}

int64_t sign_of_scales(const Source& source) {
  const FieldAxes* scales = find_field(source.axes, FieldKind::scales);
  return scales != nullptr && scales->negated ? int64_t{1} << (bits(scales->type) - 1) : 0;
}

int64_t source_bit(const Source& source, FieldKind kind, int64_t k) {
  return place(source.axes, kind, {0, k, 0}, {k, {}, 0});
}

bool rows_are_k(const Source& source) {
  return source.axes.over->dim == Dim::k;
}

int64_t block_of(const Source& source) {
  const auto* block = std::get_if<Part>(&source.axes.members.front());
  return block != nullptr ? block->over->step.fixed : 0;
}

ElementType kept_scales(const Source& source) {
  const FieldAxes* steps = find_field(source.axes, FieldKind::scale_steps);
  const ElementType type =
      (steps != nullptr ? *steps : field_axes(source.axes, FieldKind::scales)).type;
  return type == ElementType::e5m3 ? ElementType::f16 : type;
}

int64_t block_bytes(const Source& source) {
  const auto* block = std::get_if<Part>(&source.axes.members.front());
  return block != nullptr ? size(*block, 0).fixed / 8 : 0;
}

}  // namespace tw
