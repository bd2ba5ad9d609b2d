#include "pipeline/matrix.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <set>
#include <stdexcept>
#include <tuple>

#include "lower/lower.h"
#include "model/attention.h"
#include "model/depthwise.h"
#include "model/operand_contract.h"
#include "pipeline/kernel_names.h"

namespace tw {
namespace {

using Variants = std::vector<const Variant*>;

constexpr const char* legend =
    "C: C intrinsics; A: assembly; 1: a tile for one row; P: packers by vector instructions, p: of "
    "some source or of all in plain C. The name of an ISA: its kernels serve, for there are none "
    "of "
    "this ISA. CPUs with SVE2 or SME run those of NEON, too. A number says why an ISA has "
    "none:\n\n";

std::vector<const Isa*> isas_of(const Variants& variants) {
  std::vector<const Isa*> isas;
  for (const Variant* v : variants) {
    if (std::find(isas.begin(), isas.end(), v->isa) == isas.end()) isas.push_back(v->isa);
  }
  const auto rank = [](const Isa* isa) {
    const bool arm = isa->architecture == "aarch64";
    return std::tuple{isa->architecture == "portable" ? 0
                      : arm                           ? 2
                                                      : 1,
                      isa->vector_bytes.is_fixed() ? isa->vector_bytes.fixed : INT64_MAX,
                      isa->features.size(), isa->name};
  };
  std::sort(isas.begin(), isas.end(),
            [&](const Isa* a, const Isa* b) { return rank(a) < rank(b); });
  return isas;
}

/// Of operations that are no products of matrices.
std::string reason_of(const std::function<void()>& layouts) {
  try {
    layouts();
    return "its instructions could do it; no spec asks for that";
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
}

/// Of codes that become wider ones, in the layouts of a technique.
void check_wide_codes(const Family& family, Technique technique, const Isa& isa) {
  Variant v;
  v.family = family;
  v.isa = &isa;
  const LayoutPair layouts = choose_layouts(*family.lhs, *family.rhs, technique, isa, {});
  const Format* wide = wider_codes(family);
  if (wide == nullptr) {
    decoded_layout(family, layouts, technique, isa);
    return;
  }
  v.rhs = layouts.rhs;
  v.decoded = choose_layouts(*family.lhs, *wide, technique, isa, {}).rhs;
  v.tile = {1, v.rhs.panel};
  check_codes(v);
}

/// Why specs have no kernels of this family there: from what choosing layouts says of it.
std::string reason(const Family& family, const Isa& isa) {
  if (family.operation == Operation::depthwise) {
    return reason_of([&] { depthwise_layouts(family, isa, LayoutStyle::own); });
  }
  if (family.operation == Operation::attention) {
    return reason_of([&] { attention_layouts(family, isa); });
  }
  std::string of_technique;
  for (const Technique technique : techniques) {
    try {
      Panels panels;
      panels.sums = family.sums;
      choose_layouts(*family.lhs, *family.rhs, technique, isa, panels);
    } catch (const NoInstruction&) {
      continue;
    } catch (const std::invalid_argument& error) {
      if (of_technique.empty()) of_technique = error.what();
      continue;
    }
    try {
      makes_codes(family) || family.operation == Operation::decoded
          ? check_wide_codes(family, technique, isa)
          : check_output(*family.lhs, family.dst, family.accumulate, isa);
      return fmt::format("technique {} may do it; no spec asks for that", name(technique));
    } catch (const std::invalid_argument& error) {
      of_technique = error.what();
    }
  }
  if (!of_technique.empty()) return of_technique;
  return no_technique(*family.lhs, *family.rhs);
}

/// Which packers the layouts of some kernels have there.
char packers_letter(const Variants& kernels, const Isa& isa,
                    const std::vector<PackerSource>& packers) {
  const auto packs = [&](const PackerSource& packer) {
    return includes(isa, *packer.isa) &&
           std::any_of(kernels.begin(), kernels.end(), [&](const Variant* v) {
             return std::any_of(packer.layouts.begin(), packer.layouts.end(),
                                [&](const Layout& l) { return l == v->lhs || l == v->rhs; });
           });
  };
  const bool fast = std::all_of(packers.begin(), packers.end(), [&](const PackerSource& packer) {
    return packer.vectorized || !packs(packer);
  });
  return fast ? 'P' : 'p';
}

class Matrix {
 public:
  Matrix(const Variants& variants, const std::vector<PackerSource>& packers)
      : variants_(variants), packers_(packers), isas_(isas_of(variants)) {}

  std::string print() {
    std::vector<std::vector<std::string>> table(2, {"family"});
    for (const Isa* isa : isas_) table[0].push_back(isa->name);
    std::set<std::string> families;
    for (const Variant* v : variants_) {
      if (!families.insert(v->family.name).second) continue;
      table.push_back({fmt::format("`{}`", v->family.name)});
      for (const Isa* isa : isas_) table.back().push_back(cell(v->family, *isa));
    }
    std::string text = "# Families by ISAs\n\n";
    text += legend;
    for (size_t i = 0; i < reasons_.size(); ++i) {
      text += fmt::format("{}. {}\n", i + 1, reasons_[i]);
    }
    return text + "\n" + aligned(std::move(table));
  }

 private:
  [[nodiscard]] Variants kernels(const Family& family, const Isa& isa) const {
    Variants found;
    for (const Variant* v : variants_) {
      if (v->family.name == family.name && v->isa == &isa) found.push_back(v);
    }
    return found;
  }

  std::string cell(const Family& family, const Isa& isa) {
    const Variants found = kernels(family, isa);
    if (found.empty()) return missing(family, isa);
    const auto any = [&](auto&& is) { return std::any_of(found.begin(), found.end(), is); };
    std::string text;
    if (any([](const Variant* v) { return prints_intrinsics(*v); })) text += 'C';
    if (any([](const Variant* v) { return prints_assembly(*v); })) text += 'A';
    const bool has_rows = family.operation != Operation::decode;
    if (has_rows && any([](const Variant* v) { return v->tile.m == Length{1}; })) text += '1';
    if (family.rhs_from.empty()) return text;  // nothing is packed
    return text + packers_letter(found, isa, packers_);
  }

  std::string missing(const Family& family, const Isa& isa) {
    const std::string why = reason(family, isa) + products_in_f32(family, isa);
    const auto known = std::find(reasons_.begin(), reasons_.end(), why);
    const auto number = known - reasons_.begin() + 1;
    if (known == reasons_.end()) reasons_.push_back(why);
    const Isa* serves = nullptr;  // of those with vectors the one that adds most
    for (const Isa* other : isas_) {
      if (other->architecture != "portable" && includes(isa, *other) &&
          !kernels(family, *other).empty()) {
        serves = other;
      }
    }
    return fmt::format("{} ({})", serves == nullptr ? "-" : serves->name, number);
  }

  /// Who has no products of f16 or bf16 may make those values f32.
  [[nodiscard]] std::string products_in_f32(const Family& family, const Isa& isa) const {
    if (!is_float(*family.lhs) || family.lhs->element == ElementType::f32) return "";
    Family in_f32 = family;
    in_f32.lhs = find_format("f32");
    in_f32.sums = ElementType::f32;
    const std::string other = family_name(in_f32);
    const bool serves = std::any_of(variants_.begin(), variants_.end(), [&](const Variant* v) {
      return v->family.name == other && includes(isa, *v->isa);
    });
    return serves ? fmt::format("; products in f32: {} serves", other) : "";
  }

  /// The second row becomes the line below the heads.
  static std::string aligned(std::vector<std::vector<std::string>> table) {
    std::vector<size_t> widths(table[0].size(), 3);
    for (const auto& row : table) {
      for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
    }
    table[1].clear();
    for (const size_t width : widths) table[1].emplace_back(width, '-');
    std::string text;
    for (const auto& row : table) {
      text += "|";
      for (size_t i = 0; i < row.size(); ++i) text += fmt::format(" {:<{}} |", row[i], widths[i]);
      text += "\n";
    }
    return text;
  }

  const Variants& variants_;
  const std::vector<PackerSource>& packers_;
  std::vector<const Isa*> isas_;
  std::vector<std::string> reasons_;  ///< as cells number them, from 1
};

}  // namespace

std::string print_matrix(const Variants& variants, const std::vector<PackerSource>& packers) {
  return Matrix(variants, packers).print();
}

}  // namespace tw
