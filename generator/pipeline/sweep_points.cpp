#include "pipeline/sweep_points.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <stdexcept>

#include "model/operand_contract.h"
#include "spec/kernel_reader.h"

namespace tw {
namespace {

constexpr int64_t kMostRows = 16;
constexpr int64_t kMostPanels = 8;  // of the narrowest, in a tile
constexpr int64_t kMostTilePanels = 4;

bool has_blocks(const SweepAim& aim) {
  return aim.family.rhs->scales == Granularity::block;
}

/// The layouts that the technique likes best at that depth; none when it cannot be. `why_not`: of
/// the first one that is possible there, but for what is asked.
std::optional<LayoutPair> layouts_at(const SweepAim& aim, Technique technique, int kr,
                                     std::string& why_not) {
  Panels panels;
  panels.kr = kr;
  panels.block = aim.block;
  panels.scales = aim.scales;
  panels.sums = aim.family.sums;
  try {
    return choose_layouts(*aim.family.lhs, *aim.family.rhs, technique, *aim.isa, panels);
  } catch (const NoInstruction&) {
    return std::nullopt;
  } catch (const std::invalid_argument& error) {
    if (why_not.empty()) why_not = error.what();
    return std::nullopt;
  }
}

/// Do the accumulators leave a register for anything else?
bool leaves_room(const SweepAim& aim, const Tile& tile, int sets) {
  const RegisterFile* vectors = aim.isa->file_of(Kind::vector);
  const int64_t columns = ratio(tile.n, aim.isa->vector_bytes.divided(bits(aim.family.sums) / 8));
  return vectors == nullptr || !tile.m.is_fixed() || columns < 1 ||
         tile.m.fixed * columns * sets < vectors->count();
}

/// Those of one technique at one depth.
class Points {
 public:
  Points(const SweepAim& aim, Technique technique, const LayoutPair& layouts,
         std::vector<SweepPoint>& points)
      : aim_(aim),
        in_tiles_(technique == Technique::outer || technique == Technique::tile),
        rows_(in_tiles_ ? layouts.lhs.panel : Length(1)),
        lhs_(layouts.lhs.panel),
        rhs_(layouts.rhs.panel),
        points_(points) {
    point_.technique = technique;
    point_.panels.kr = layouts.rhs.order.kr;
    point_.panels.block = aim.block;
    point_.panels.scales = aim.scales;
    point_.knobs.core = aim.core;
  }

  void add() {
    const int64_t most_rows = in_tiles_ ? kMostTilePanels : kMostRows;
    const int64_t most_panels = in_tiles_ ? kMostTilePanels : kMostPanels;
    for (int64_t m = 1; m <= most_rows; ++m) {
      for (int64_t n = 1; n <= most_panels; ++n) {
        point_.tile = {rows_ * m, rhs_ * n};
        for (int64_t width = 1; width <= n; ++width) {
          // An accumulator tile is one panel.
          if (in_tiles_ ? width == n : n % width == 0) add_panels(width);
        }
      }
    }
  }

 private:
  void add_panels(int64_t width) {
    point_.panels.rhs = rhs_ * width;
    point_.panels.lhs = in_tiles_ ? point_.tile.m : lhs_;
    add_knobs();
    // Floats are read as they lie.
    if (in_tiles_ || is_float(*aim_.family.lhs) || ratio(point_.tile.m, lhs_) <= 1) return;
    point_.panels.lhs = point_.tile.m;
    add_knobs();
  }

  void add_knobs() {
    for (const int unroll : unrolls()) {
      for (const int sets : {1, 2, 4}) {
        if (!in_tiles_ && !leaves_room(aim_, point_.tile, sets)) continue;
        point_.knobs.unroll_k = unroll;
        point_.knobs.accumulators = sets;
        points_.push_back(point_);
      }
    }
  }

  [[nodiscard]] std::vector<int> unrolls() const {
    if (has_blocks(aim_)) return {std::min(aim_.block, long_block_step)};
    if (is_float(*aim_.family.rhs)) return {4, 8};
    return {32, 64};
  }

  const SweepAim& aim_;
  bool in_tiles_;
  Length rows_, lhs_, rhs_;
  SweepPoint point_;
  std::vector<SweepPoint>& points_;
};

}  // namespace

std::vector<SweepPoint> sweep_points(const SweepAim& aim) {
  std::vector<SweepPoint> points;
  std::string why_not;
  for (const Technique technique : techniques) {
    std::optional<LayoutPair> first = layouts_at(aim, technique, 0, why_not);
    if (!first) continue;
    Points(aim, technique, *first, points).add();
    for (const int kr : {4, 8}) {
      if (kr == first->rhs.order.kr) continue;
      std::string ignored;
      const std::optional<LayoutPair> other = layouts_at(aim, technique, kr, ignored);
      if (other) Points(aim, technique, *other, points).add();
    }
  }
  if (points.empty()) {
    if (why_not.empty()) why_not = no_technique(*aim.family.lhs, *aim.family.rhs);
    throw std::runtime_error(fmt::format("{} on {}: {}", aim.family.name, aim.isa->name, why_not));
  }
  return points;
}

SweepPoint point_of(const Variant& variant) {
  SweepPoint point{variant.technique, {}, variant.tile, variant.knobs, variant.rows_of};
  point.panels = {variant.lhs.panel, variant.rhs.panel, variant.rhs.order.kr, variant.style,
                  variant.rhs.block};
  // A decoder may have joined groups of k: as they were packed is not told.
  if (variant.family.operation == Operation::decoded) point.panels.kr = 0;
  if (variant.rhs.block != 0) {
    point.panels.scales = field_of(variant.rhs, float_scale(variant.rhs)).type;
  }
  if (!bias_suffix(variant.rhs).empty()) {
    point.panels.bias = field_of(variant.rhs, FieldKind::bias).type;
  }
  return point;
}

std::string spec_head(const Family& family) {
  const bool packs = family.operation != Operation::decoded;
  const std::string lhs_from = packs && family.lhs->quantized_on_the_fly ? ", from: [f32]" : "";
  const std::string rhs_from =
      packs ? fmt::format(", from: [{}]", fmt::join(family.rhs_from, ", ")) : "";
  return fmt::format(
      "family: {}\nlhs: {{format: {}{}}}\nrhs: {{format: {}{}}}\ndst: {}\n{}{}kernels:\n",
      family.name, family.lhs->name, lhs_from, family.rhs->name, rhs_from, output_name(family.dst),
      family.accumulate ? "accumulate: true\n" : "",
      family.sums == ElementType::f16 ? "sums: f16\n" : "");
}

std::string entry_text(const SweepAim& aim, const SweepPoint& point) {
  std::string text =
      fmt::format("  - {{isa: {}, technique: {}, ", aim.isa->name, name(point.technique));
  if (point.panels.style != LayoutStyle::own) {
    text += fmt::format("layout: {}, ", name(point.panels.style));
  }
  if (point.rows_of != nullptr) text += fmt::format("rows_of: {}, ", point.rows_of->name);
  if (has_blocks(aim)) {
    text += fmt::format("blocks: {{length: {}, scales: {}}}, ", point.panels.block,
                        name(*point.panels.scales));
  }
  const std::string bias =
      point.panels.bias ? fmt::format(", bias: {}", output_name(*point.panels.bias)) : "";
  const std::string kr =
      point.panels.kr != 0 ? fmt::format(", kr: {}", point.panels.kr) : "";  // else as usual
  text += fmt::format("panels: {{lhs: {}, rhs: {}{}{}}}, tile: {{m: {}, n: {}}}, knobs: {{",
                      to_string(point.panels.lhs), to_string(point.panels.rhs), kr, bias,
                      to_string(point.tile.m), to_string(point.tile.n));
  text +=
      fmt::format("unroll_k: {}, accumulators: {}", point.knobs.unroll_k, point.knobs.accumulators);
  if (point.knobs.prefetch != Prefetch::none) {
    text += fmt::format(", prefetch: {}", name(point.knobs.prefetch));
  }
  if (point.knobs.paired_loads) text += ", paired_loads: true";
  if (!point.knobs.core.empty()) text += ", core: " + point.knobs.core;
  return text + "}, print: assembly}\n";
}

Variant variant_of(const SweepAim& aim, const SweepPoint& point, IsaLibrary& isas) {
  const YamlNode spec = parse_yaml("kernels:\n" + entry_text(aim, point), "sweep");
  std::vector<Variant> variants;
  read_kernel(spec.at("kernels").items().front(), aim.family, isas, variants);
  return variants.front();
}

}  // namespace tw
