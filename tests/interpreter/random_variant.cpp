#include "interpreter/random_variant.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <sstream>
#include <stdexcept>
#include <string>

#include "reference/half_reference.h"

namespace tw::test {
namespace {

/// f32 half of the time, else whatever else the ISA can make; a third of all adds to what is there.
void choose_output(Family& family, const Isa& isa, Random& random) {
  if (is_static(*family.lhs)) {
    family.dst = ElementType::i8;
    return;
  }
  family.dst = random.of({ElementType::f32, ElementType::f32, ElementType::f16, ElementType::bf16});
  family.accumulate = random.between(0, 2) == 0;
  try {
    check_output(*family.lhs, family.dst, family.accumulate, isa);
  } catch (const std::invalid_argument&) {
    family.dst = ElementType::f32;
  }
}

/// Of the lhs; weights may be codes.
bool floats(const Ground& ground) {
  return is_float(*find_format(ground.lhs));
}

/// Rows of the lhs as their user keeps them.
bool unpacked(const Ground& ground) {
  if (is_static(*find_format(ground.lhs))) {
    return ground.technique == Technique::dot && ground.style == LayoutStyle::kleidiai;
  }
  return floats(ground) && !is_packed(*find_format(ground.lhs), ground.sums) &&
         ground.technique != Technique::outer;
}

/// Tiles of what blocks add up to beside those of their sums.
bool scales_sums(const Ground& ground) {
  return ground.blocks() && ground.technique == Technique::outer && !floats(ground);
}

std::optional<LayoutPair> layouts(const Ground& ground, const Panels& panels) {
  try {
    return choose_layouts(*find_format(ground.lhs), *find_format(ground.rhs), ground.technique,
                          *ground.isa, panels);
  } catch (const std::invalid_argument&) {
    return std::nullopt;
  }
}

/// One or more whole panels, or a part of one that divides it. Mostly small, to fit the registers.
Length span_of(Length panel, Length unit, Random& random) {
  const int64_t units = ratio(panel, unit);
  const int64_t parts = random.between(1, units);
  if (random.between(0, 2) == 0 && units % parts == 0) return panel.divided(parts);
  return panel * random.of<int64_t>({1, 1, 1, 1, 2, 2, 3});
}

float random_real(Random& random, float from, float to) {
  return from + (to - from) * static_cast<float>(random.between(0, 4095)) / 4096.0F;
}

/// What f16 and bf16 hold exactly.
float random_scale(Random& random) {
  return std::ldexp(static_cast<float>(random.between(64, 127)), -13);
}

int64_t near(int64_t tile, Random& random) {
  return std::max<int64_t>(0, random.of<int64_t>({0, 1, tile - 1, tile, tile + 1, 2 * tile,
                                                  2 * tile + 1, random.between(1, 3 * tile)}));
}

/// As codes: one zero point, a bias in whole numbers, and outputs that are mostly within the
/// limits.
void make_static(Codes& codes, Random& random) {
  const auto any = [&] {
    return static_cast<int32_t>(random.of<int64_t>({-128, 0, 127, random.between(-128, 127)}));
  };
  codes.zero_points.assign(codes.m, any());
  codes.dst_zero_point = any();
  for (float& bias : codes.bias) bias = static_cast<float>(random.between(-30000, 30000));
  codes.min = random.between(0, 1) == 1 ? -40 : -INFINITY;
  codes.max = random.between(0, 1) == 1 ? 25 : INFINITY;
}

/// Zero points of columns and a bias, in its floats' bits, in whole numbers.
void make_sums(Codes& codes, Random& random) {
  for (float& zero : codes.rhs_zeros) zero = std::round(zero);
  for (float& bias : codes.bias) {
    bias = std::bit_cast<float>(static_cast<int32_t>(random.between(-30000, 30000)));
  }
}

/// Scales and minimums as products of 6 bits, without minimums of signed bytes, and of steps.
void make_super_blocks(Codes& codes, const Layout& layout, Random& random) {
  Numbers& numbers = codes.numbers;
  const auto together = static_cast<size_t>(layout.super_block / layout.block);
  const CodeValues* table = values_of(layout);
  const float unit = table != nullptr ? table->unit : 1;
  for (size_t i = 0; i < codes.rhs_scales.size(); ++i) {
    if (i % together == 0) {
      numbers.scale_steps.push_back(random_scale(random));
      numbers.minimum_steps.push_back(random_scale(random));
    }
    const bool minimums = !codes.rhs_minimums.empty();
    const bool few = minimums || layout.table != nullptr;
    numbers.scales.push_back(
        static_cast<int>(few ? random.between(0, 63) : random.between(-128, 127)));
    numbers.minimums.push_back(static_cast<int>(random.between(0, 63)));
    codes.rhs_scales[i] = unit * static_cast<float>(numbers.scales[i]) * numbers.scale_steps.back();
    if (!minimums) continue;
    codes.rhs_minimums[i] =
        -(static_cast<float>(numbers.minimums[i]) * numbers.minimum_steps.back());
  }
}

}  // namespace

const CodeValues* values_of(const Layout& layout) {
  return layout.table == nullptr ? nullptr : code_values(std::string(layout.table->name));
}

bool possible(const Ground& ground) {
  const Format& lhs = *find_format(ground.lhs);
  try {
    if (is_static(lhs)) check_output(lhs, ElementType::i8, false, *ground.isa);
  } catch (const std::invalid_argument&) {
    return false;
  }
  Panels panels;
  panels.style = ground.style;
  panels.sums = ground.sums;
  return layouts(ground, panels).has_value();
}

std::optional<Variant> random_variant(const Ground& ground, Random& random) {
  Panels panels;
  panels.style = ground.style;
  panels.scales = ground.scales;
  if (find_format(ground.rhs)->scale_type == ElementType::e8m0) panels.scales.reset();
  panels.sums = ground.sums;
  const Format& weights = *find_format(ground.rhs);
  const bool steps = weights.super_block != 0;
  if (ground.blocks() && !steps && weights.top_bits == 0 && weights.table == nullptr)
    panels.block = random.of({ground.style == LayoutStyle::own ? 16 : 32, 32, 64, 128, 192, 256});
  panels.kr = floats(ground) ? 0 : random.of({0, 0, 4, 8});
  const std::optional<LayoutPair> smallest = layouts(ground, panels);
  if (!smallest) return std::nullopt;
  const Length lhs_unit = smallest->lhs.panel;
  const Length rhs_unit = smallest->rhs.panel;
  panels.lhs = unpacked(ground) ? lhs_unit : lhs_unit * random.of<int64_t>({1, 1, 2, 3, 4});
  panels.rhs = rhs_unit * random.of<int64_t>({1, 1, 1, 2, 3});
  // Half of the tiles are for what the blocks add up to.
  if (scales_sums(ground)) {
    panels.lhs = lhs_unit;
    panels.rhs = rhs_unit * random.of<int64_t>({1, 1, 2});
  }
  const std::optional<LayoutPair> chosen = layouts(ground, panels);
  if (!chosen) return std::nullopt;

  Variant variant;
  variant.family.name = "random";
  variant.family.lhs = find_format(ground.lhs);
  variant.family.rhs = find_format(ground.rhs);
  variant.family.sums = ground.sums;
  if (ground.indirect) variant.family.operation = Operation::indirect;
  if (ground.gives_sums) {
    variant.family.dst = ElementType::i32;
  } else {
    choose_output(variant.family, *ground.isa, random);
  }
  variant.style = ground.style;
  variant.lhs = chosen->lhs;
  variant.rhs = chosen->rhs;
  if (ground.rows_of != nullptr) {
    Ground others = ground;
    others.rhs = ground.rows_of;
    const std::optional<LayoutPair> theirs = layouts(others, panels);
    if (!theirs) return std::nullopt;
    variant.lhs = theirs->lhs;
    variant.rows_of = find_format(ground.rows_of);
  }
  variant.technique = ground.technique;
  variant.isa = ground.isa;
  variant.tile.m = unpacked(ground) ? Length(random.of<int64_t>({1, 1, 2, 3, 4, 6, 8}))
                                    : span_of(panels.lhs, lhs_unit, random);
  const bool whole = weights.top_bits != 0 && top_order(variant.rhs).vectors > 1;
  variant.tile.n = whole ? panels.rhs : span_of(panels.rhs, rhs_unit, random);
  if (ground.technique == Technique::outer) {
    variant.tile = {panels.lhs, scales_sums(ground) ? rhs_unit : panels.rhs};
    if (!scales_sums(ground) && random.between(0, 3) == 0) variant.tile.m = lhs_unit;
  }
  if (ground.technique == Technique::tile) variant.tile.m = panels.lhs;
  // One row of codes.
  if (unpacked(ground) && !floats(ground)) {
    variant.tile = {1, rhs_unit * random.of<int64_t>({2, 4, 6, 8})};
    panels.rhs = rhs_unit;
    variant.rhs = layouts(ground, panels)->rhs;
  }
  // One row, whose sums are in tiles: two raw vectors each.
  const bool in_tiles = chosen->rhs.order.pair == NibblePair::next || rhs_unit.svl > 4;
  if (ground.technique == Technique::dot && in_tiles) {
    variant.tile = {variant.lhs.panel, rhs_unit * random.of<int64_t>({2, 4, 4, 6, 8, 8})};
    if (takes_table(weights)) variant.tile.n = panels.rhs;
    if (whole) variant.tile.n = panels.rhs * random.of<int64_t>({2, 4});
  }
  variant.knobs.unroll_k =
      ground.blocks() ? std::min(variant.rhs.block, random.of({32, 64})) : random.of({32, 64, 128});
  variant.knobs.unroll_k = std::max(variant.knobs.unroll_k, variant.lhs.k_multiple);
  if (floats(ground) && !ground.blocks()) {
    const auto group = static_cast<int>(first_k(variant.rhs, 1));  // more than 1: codes
    const int most = group == 1 ? 16 : 2;
    variant.knobs.unroll_k = group * std::min(most, random.of({1, 2, 4, 4, 8, 16}));
  }
  const bool one_set = ground.blocks() && !floats(ground);
  variant.knobs.accumulators = one_set ? 1 : random.of({1, 1, 1, 2, 4, 8});
  variant.knobs.prefetch = static_cast<Prefetch>(random.between(0, 2));
  variant.knobs.paired_loads = random.between(0, 1) == 1;
  variant.print_assembly = ground.isa->can_print_assembly;
  return variant;
}

Codes random_codes(const Variant& variant, VectorLength vl, Random& random) {
  Codes codes;
  codes.m = static_cast<size_t>(near(variant.tile.m.at(vl), random));
  codes.n = static_cast<size_t>(near(variant.tile.n.at(vl), random));
  codes.k = static_cast<size_t>(
      random.of<int64_t>({0, 1, 31, 32, 33, 64, 65, 97, 128, random.between(1, 300)}));
  codes.block = static_cast<size_t>(variant.rhs.block);
  codes.row_blocks = variant.family.lhs->scales == Granularity::block;
  codes.offsets = field_index(variant.rhs, FieldKind::offsets) >= 0;
  codes.scales_first = codes.offsets || variant.technique == Technique::outer;
  const int sums = field_index(variant.lhs, FieldKind::sums);
  codes.from_lowest = sums >= 0 && variant.lhs.fields[static_cast<size_t>(sums)].factor == -1;
  // What given tables have no code for is nowhere: k fills whole groups.
  const int group = takes_table(*variant.family.rhs) ? variant.rhs.k_multiple : 0;
  const auto whole =
      static_cast<size_t>(std::max({variant.rhs.block, variant.rhs.super_block, group}));
  if (whole != 0) codes.k = (codes.k + whole - 1) / whole * whole;
  const bool extreme = random.between(0, 7) == 0;
  // As floats: whole numbers, whose sums are exact in any order; those of f16 up to 2048.
  const bool small = variant.family.sums == ElementType::f16;
  const int64_t most = small ? 2 : 128;
  for (size_t i = 0; i < codes.m * codes.k; ++i) {
    codes.lhs.push_back(static_cast<int8_t>(extreme ? -most : random.between(-most, most - 1)));
  }
  const Format& weights = *variant.family.rhs;
  const int64_t count = small ? 4 : int64_t{1} << std::min(code_bits(weights), 8);
  const bool has_middle = weights.top_bits != 0 || weights.has_minimums;
  const int64_t half = has_middle ? middle_code(weights) : count / 2;
  const CodeValues* table = values_of(variant.rhs);
  const bool byte_floats = is_byte_float(weights.element);
  for (size_t i = 0; byte_floats && i < codes.n * codes.k; ++i) {
    codes.rhs.push_back(static_cast<int8_t>(extreme ? -8 : random.between(-8, 8)));
  }
  for (size_t i = 0; !byte_floats && i < codes.n * codes.k; ++i) {
    const int64_t code = extreme ? -half : random.between(-half, count - 1 - half);
    codes.rhs.push_back(table == nullptr ? static_cast<int8_t>(code) : table->values[code + half]);
  }
  for (size_t i = 0; i < codes.m; ++i) {
    const bool has_zero_points = variant.family.lhs->has_zero_point;
    codes.zero_points.push_back(
        static_cast<int32_t>(has_zero_points ? random.between(-128, 127) : 0));
  }
  for (size_t i = 0; i < codes.m * codes.lhs_blocks(); ++i) {
    codes.lhs_scales.push_back(random_scale(random));
    if (is_float(*variant.family.lhs) || is_static(*variant.family.lhs)) continue;
    const std::string type(name(field_of(variant.lhs, FieldKind::scales).type));
    codes.lhs_scales.back() = rounded_to(type, codes.lhs_scales.back());
  }
  for (size_t i = 0; i < codes.n * codes.blocks(); ++i) {
    codes.rhs_scales.push_back(random_scale(random));
    float& scale = codes.rhs_scales.back();
    if (variant.family.rhs->scale_type == ElementType::e8m0) scale = power_of_two(scale);
    if (table != nullptr) scale *= table->unit;
  }
  if (codes.offsets || field_index(variant.rhs, FieldKind::zero_points) >= 0) {
    const FieldKind kind = codes.offsets ? FieldKind::offsets : FieldKind::zero_points;
    const std::string type(name(field_of(variant.rhs, kind).type));
    const auto most = static_cast<float>(half);
    for (size_t i = 0; i < codes.n * codes.blocks(); ++i) {
      codes.rhs_zeros.push_back(rounded_to(type, random_real(random, -most, most)));
    }
  }
  codes.half = static_cast<int>(half);
  for (size_t i = 0; variant.family.rhs->has_minimums && i < codes.n * codes.blocks(); ++i) {
    const std::string type(name(field_of(variant.rhs, FieldKind::minimums).type));
    codes.rhs_minimums.push_back(rounded_to(type, random_real(random, -0.25F, 0.125F)));
  }
  if (has_steps(variant.rhs)) make_super_blocks(codes, variant.rhs, random);
  if (is_float(*variant.family.lhs)) codes.lhs_scales.assign(codes.m, 1);
  if (is_float(*variant.family.lhs) && codes.block != 0) {
    // Of weights that are made with these, too.
    for (float& zero : codes.rhs_zeros) zero = std::round(zero);
    for (float& scale : codes.rhs_scales) scale = scale < 0x1.8p-7F ? 0x1p-7F : 0x1p-6F;
  }
  if (is_float(*variant.family.rhs)) codes.rhs_scales.assign(codes.n, 1);
  const bool has_bias = field_index(variant.rhs, FieldKind::bias) >= 0;
  for (size_t i = 0; i < codes.n; ++i) {
    codes.bias.push_back(has_bias ? random_real(random, -3, 3) : 0);
  }
  const std::string type(name(variant.family.dst));
  for (size_t i = 0; variant.family.accumulate && i < codes.m * codes.n; ++i) {
    codes.old.push_back(rounded_to(type, random_real(random, -3, 3)));
  }
  if (random.between(0, 1) == 1) codes.min = -1.25F;
  if (random.between(0, 1) == 1) codes.max = 0.75F;
  if (is_static(*variant.family.lhs)) make_static(codes, random);
  if (variant.family.dst == ElementType::i32) make_sums(codes, random);
  return codes;
}

std::string describe(const Variant& variant) {
  std::ostringstream text;
  text << variant.name() << ", unroll_k " << variant.knobs.unroll_k << ", accumulators "
       << variant.knobs.accumulators << (variant.knobs.paired_loads ? ", paired loads" : "")
       << (variant.knobs.prefetch == Prefetch::none ? "" : ", prefetch");
  return text.str();
}

}  // namespace tw::test
