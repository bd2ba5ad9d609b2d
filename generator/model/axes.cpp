#include "model/axes.h"

#include <fmt/format.h>

#include <algorithm>

#include "model/reject.h"

namespace tw {
namespace {

/// Linear in the vector length: one of them is a number.
Length product(Length a, Length b) {
  if (!a.is_fixed()) std::swap(a, b);
  if (!a.is_fixed()) {
    reject("{} times {} is not a multiple of a vector length", to_string(a), to_string(b));
  }
  return b * a.fixed;
}

int64_t coordinate(const Coordinates& at, Dim dim) {
  return dim == Dim::n ? at.n : dim == Dim::k ? at.k : at.copy;
}

int64_t digit(const Axis& axis, const Coordinates& at, VectorLength vl) {
  const int64_t steps = coordinate(at, axis.dim) / axis.step.at(vl);
  return axis.extent == rest ? steps : steps % axis.extent.at(vl);
}

/// Steps of an axis. The columns of a source have no end that it knows.
Length extent(const Axis& axis, int64_t k) {
  if (axis.extent != rest) return axis.extent;
  if (axis.dim != Dim::k) reject("an operand has any number of columns");
  return (k + axis.step.fixed - 1) / axis.step.fixed;
}

/// Bits of a member with all its repetitions.
Length whole(const Part::Member& member, int64_t k) {
  if (const auto* field = std::get_if<FieldAxes>(&member)) return size(*field, k);
  const Part& part = std::get<Part>(member);
  return part.over ? product(size(part, k), extent(*part.over, k)) : size(part, k);
}

}  // namespace

const FieldAxes* find_field(const Part& part, FieldKind kind) {
  for (const Part::Member& member : part.members) {
    const auto* field = std::get_if<FieldAxes>(&member);
    if (field != nullptr && field->kind != kind) continue;
    const FieldAxes* found = field != nullptr ? field : find_field(std::get<Part>(member), kind);
    if (found != nullptr) return found;
  }
  return nullptr;
}

const FieldAxes& field_axes(const Part& part, FieldKind kind) {
  const FieldAxes* found = find_field(part, kind);
  if (found == nullptr) {
    reject("'{}' has no {}", to_string(part), name(kind));
  }
  return *found;
}

Length size(const FieldAxes& field, int64_t k) {
  Length bits_of_all = bits(field.type);
  for (const Axis& axis : field.axes) bits_of_all = product(bits_of_all, extent(axis, k));
  return bits_of_all;
}

Length size(const Part& part, int64_t k) {
  Length sum = 0;
  for (const Part::Member& member : part.members) sum += whole(member, k);
  return sum;
}

int64_t offset(const FieldAxes& field, const Coordinates& at, VectorLength vl) {
  int64_t sum = field.offset;
  for (const Axis& axis : field.offset_axes) sum += digit(axis, at, vl) * axis.stride.at(vl);
  return sum;
}

FieldAxes flat(const Part& part, FieldKind kind, int64_t k) {
  Length before = 0;
  for (const Part::Member& member : part.members) {
    const auto* field = std::get_if<FieldAxes>(&member);
    const auto* inner = std::get_if<Part>(&member);
    if (field != nullptr ? field->kind != kind : find_field(*inner, kind) == nullptr) {
      before += whole(member, k);
      continue;
    }
    FieldAxes found = field != nullptr ? *field : flat(*inner, kind, k);
    found.base += before;
    if (field == nullptr) {
      Axis around = *inner->over;
      around.stride = size(*inner, k);
      found.axes.insert(found.axes.begin(), around);
    }
    return found;
  }
  reject("'{}' has no {}", to_string(part), name(kind));
}

Length start(const Part& part, FieldKind kind, int64_t k) {
  return flat(part, kind, k).base - field_axes(part, kind).base;
}

FieldPlaces::FieldPlaces(const Part& part, FieldKind kind, const Sizes& sizes) : vl_(sizes.vl) {
  FieldAxes field = flat(part, kind, sizes.k);
  base_ = field.base.at(vl_);
  axes_ = std::move(field.axes);
  if (!part.over) return;
  axes_.push_back(*part.over);
  axes_.back().stride =
      part.over->argument ? Length{sizes.stride} : Length{size(part, sizes.k).at(vl_)};
}

int64_t FieldPlaces::at(const Coordinates& value) const {
  int64_t address = base_;
  for (const Axis& axis : axes_) address += digit(axis, value, vl_) * axis.stride.at(vl_);
  return address;
}

int64_t place(const Part& part, FieldKind kind, const Coordinates& at, const Sizes& sizes) {
  return FieldPlaces(part, kind, sizes).at(at);
}

// ---- of a layout ----

namespace {

/// Strides of axes without gaps. Those that count backwards come with a negative stride.
FieldAxes dense(FieldKind kind, ElementType type, const std::vector<Axis>& slowest_first) {
  FieldAxes field{kind, type, 0, {}, 0, {}};
  Length stride = bits(type);
  for (auto axis = slowest_first.rbegin(); axis != slowest_first.rend(); ++axis) {
    if (axis->extent == Length{1}) continue;
    field.axes.insert(field.axes.begin(), *axis);
    const bool backwards = axis->stride.fixed < 0;
    field.axes.front().stride = backwards ? stride * -1 : stride;
    if (axis->extent == rest) break;  // the slowest
    if (backwards) field.base += product(stride, axis->extent - Length{1});
    stride = product(stride, axis->extent);
  }
  return field;
}

/// Columns of a vector's highest codes, where the others are other columns.
Length digit_columns(const Layout& layout) {
  const int64_t columns = 16 / layout.order.kr;
  if (layout.panel.vl != 0) return {0, columns};
  return layout.panel.svl != 0 ? Length{0, 0, columns} : Length{columns};
}

/// The digit that tells the codes of a byte apart, the low one first. Its bits are the lowest.
std::optional<Axis> byte_digit(const Layout& layout) {
  const DataOrder& order = layout.order;
  const int64_t codes = byte_codes(layout);
  if (order.pair == NibblePair::depth) return Axis{Dim::k, codes, order.distance};
  if (order.pair == NibblePair::column) return Axis{Dim::n, codes, digit_columns(layout), -1};
  if (order.pair == NibblePair::next) return Axis{Dim::k, codes, 1};
  return std::nullopt;
}

void set_offsets(const Layout& layout, FieldAxes& data) {
  const DataOrder& order = layout.order;
  const int half = 1 << (bits(layout.element) - 1);
  const int low = order.low_unsigned ? half : 0;
  const int high = order.high_unsigned ? half : 0;
  if (order.pair == NibblePair::none) {
    data.offset = low + order.raised;
    return;
  }
  Axis digit = *byte_digit(layout);
  const bool high_first = digit.stride.fixed < 0;
  data.offset = high_first ? high : low;
  digit.stride = high_first ? low - high : high - low;
  if (low != high) data.offset_axes = {digit};
}

/// The only place that knows the order of codes.
FieldAxes data_axes(const Layout& layout) {
  const DataOrder& order = layout.order;
  const int64_t kr = order.kr;
  const int64_t codes = byte_codes(layout);
  const int64_t group = order.pair == NibblePair::depth ? codes * order.distance : kr;
  const Axis groups{Dim::k, layout.block != 0 ? Length{layout.block / group} : rest, group};
  std::vector<Axis> list = {groups};
  if (order.pair == NibblePair::depth) list.push_back({Dim::k, order.distance / kr, kr});
  if (order.pair == NibblePair::column) {
    const Length columns = digit_columns(layout);
    list.push_back({Dim::n, ratio(layout.panel, columns * codes), columns * codes});
    list.push_back({Dim::n, columns});
  } else {
    list.push_back({Dim::n, layout.panel});
  }
  if (order.even_first) {
    list.push_back({Dim::k, 2});
    list.push_back({Dim::k, kr / 2, 2});
  } else if (order.pair == NibblePair::next) {
    list.push_back({Dim::k, kr / codes, codes});
  } else {
    list.push_back({Dim::k, kr});
  }
  if (const auto digit = byte_digit(layout)) list.push_back(*digit);
  FieldAxes data = dense(FieldKind::data, layout.element, list);
  set_offsets(layout, data);
  return data;
}

/// Bits above those of data_axes(), bytes as there: a vector of them goes with several of codes.
FieldAxes top_axes(const Layout& layout, ElementType type) {
  const auto [groups, vectors] = top_order(layout);
  const int64_t kr = layout.order.kr;
  const Length columns = layout.panel.divided(vectors);
  return dense(FieldKind::tops, type,
               {{Dim::k, layout.block / (kr * groups), kr * groups},
                {Dim::n, columns},
                {Dim::k, kr},
                {Dim::n, vectors, columns},
                {Dim::k, groups, kr}});
}

}  // namespace

Part axes(const Layout& layout) {
  Part panel{Axis{Dim::n, rest, layout.panel}, {}};
  Part super_block{Axis{Dim::k, rest, layout.super_block}, {}};
  const bool is_super = layout.super_block != 0;
  const Length in_super = is_super ? Length{layout.super_block / layout.block} : rest;
  Part blocks{Axis{Dim::k, in_super, layout.block}, {}};
  const auto end_blocks = [&] {
    if (blocks.members.empty()) return;
    if (is_super) super_block.members.emplace_back(blocks);
    panel.members.emplace_back(is_super ? super_block : blocks);
    blocks.members.clear();
  };
  for (const Field& field : layout.fields) {
    const bool is_data = field.kind == FieldKind::data;
    const bool in_block = layout.block != 0 && (is_data || field.per_block);
    if (!in_block || field.apart) end_blocks();
    std::vector<Part::Member>& members = in_block              ? blocks.members
                                         : is_step(field.kind) ? super_block.members
                                                               : panel.members;
    members.emplace_back(
        is_data ? data_axes(layout)
        : field.kind == FieldKind::tops
            ? top_axes(layout, field.type)
            : dense(field.kind, field.type, {{Dim::n, layout.panel}, {Dim::copy, field.repeat}}));
  }
  end_blocks();
  return panel;
}

// ---- text ----

namespace {

std::string digit_text(const Axis& axis) {
  const char* const dims[] = {"n", "k", "copy"};
  return dims[static_cast<size_t>(axis.dim)] +
         (axis.extent == rest ? "*" : to_string(axis.extent)) + "@" + to_string(axis.step);
}

std::string text(const FieldAxes& field) {
  std::string out = fmt::format("{} {} [", name(field.kind), name(field.type));
  for (const Axis& axis : field.axes) {
    if (&axis != &field.axes.front()) out += ' ';
    out += (axis.stride.at({1, 1}) < 0 ? "-" : "") + digit_text(axis);
  }
  out += ']';
  if (field.negated) out += " negated";
  if (field.offset != 0) out += fmt::format(" {:+}", field.offset);
  for (const Axis& axis : field.offset_axes) {
    out += fmt::format(" {:+}*{}", axis.stride.fixed, digit_text(axis));
  }
  return out;
}

}  // namespace

std::string to_string(const Part& part) {
  std::string members;
  for (const Part::Member& member : part.members) {
    if (!members.empty()) members += " | ";
    const auto* field = std::get_if<FieldAxes>(&member);
    members += field != nullptr ? text(*field) : to_string(std::get<Part>(member));
  }
  if (!part.over) return members;
  return fmt::format("{}{} {{ {} }}", digit_text(*part.over), part.over->argument ? ":stride" : "",
                     members);
}

}  // namespace tw
