#include "model/sources.h"

#include <algorithm>

namespace tw {
namespace {

const FieldAxes* scales_of(const Source& source) {
  for (const Part::Member& member : source.axes.members) {
    const auto* block = std::get_if<Part>(&member);
    if (block != nullptr) return &field_axes(*block, FieldKind::scales);
  }
  return nullptr;
}

/// Rows of `inner`, one for each step of the dimension.
Part rows(Dim dim, const Part::Member& inner) {
  return {Axis{dim, rest, 1, 0, true}, {inner}};
}

Part blocks(int64_t length, const std::vector<Part::Member>& members) {
  return {Axis{Dim::k, rest, length}, members};
}

/// Values one after the other.
FieldAxes codes(ElementType type, const std::vector<Axis>& slowest_first, int offset = 0) {
  FieldAxes data{FieldKind::data, type, 0, slowest_first, offset, {}};
  Length stride = bits(type);
  for (auto axis = data.axes.rbegin(); axis != data.axes.rend(); ++axis) {
    axis->stride = stride;
    stride = stride * axis->extent.fixed;
  }
  return data;
}

}  // namespace

const std::vector<Source>& sources() {
  static const FieldAxes f16_scale{FieldKind::scales, ElementType::f16, 0, {}, 0, {}};
  static const std::vector<Source> table = [] {
    std::vector<Source> list;
    const ElementType types[] = {ElementType::i4, ElementType::i8, ElementType::f16,
                                 ElementType::f32};
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
    return list;
  }();
  return table;
}

std::vector<std::string> source_names(const Format& format) {
  const bool in_blocks = format.scales == Granularity::block;
  std::vector<std::string> names;
  for (const Source& source : sources()) {
    if (field_axes(source.axes, FieldKind::data).type != format.element) continue;
    // Scales of blocks are rows of k / block values beside rows of k values.
    if (in_blocks ? rows_are_k(source) : block_of(source) != 0) continue;
    names.emplace_back(source.name);
  }
  return names;
}

const Source* find_source(std::string_view name, const Layout& layout) {
  for (const Source& source : sources()) {
    if (source.name != name || field_axes(source.axes, FieldKind::data).type != layout.element) {
      continue;
    }
    const int64_t block = block_of(source);
    if (block == 0) return layout.block == 0 || !rows_are_k(source) ? &source : nullptr;
    const bool fits = block == layout.block &&
                      scales_of(source)->type == field_of(layout, FieldKind::scales).type;
    return fits ? &source : nullptr;
  }
  return nullptr;
}

bool rows_are_k(const Source& source) {
  return source.axes.over->dim == Dim::k;
}

int64_t block_of(const Source& source) {
  const auto* block = std::get_if<Part>(&source.axes.members.front());
  return block != nullptr ? block->over->step.fixed : 0;
}

int64_t block_bytes(const Source& source) {
  const auto* block = std::get_if<Part>(&source.axes.members.front());
  return block != nullptr ? size(*block, 0).fixed / 8 : 0;
}

}  // namespace tw
