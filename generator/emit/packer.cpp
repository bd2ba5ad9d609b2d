#include "emit/packer.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <stdexcept>

#include "emit/c_file.h"
#include "emit/c_printer.h"
#include "emit/packer_check.h"
#include "emit/parallel.h"
#include "lower/pack.h"
#include "model/sources.h"
#include "spec/isa_reader.h"

namespace tw {
namespace {

struct Request {
  Layout layout;
  const Isa& isa;
  const Format& format;
  LayoutStyle style;
  std::string source;
  ElementType from;  ///< of the lhs: what the source holds
};

bool is_quantized(const Request& request) {
  return request.layout.side == Side::lhs && !is_float(request.format);
}

/// Floats of the lhs are rows of k values, too.
const Source& source_of(const Request& request) {
  const bool lhs = request.layout.side == Side::lhs;
  return lhs ? rows_of(request.from) : *find_source(request.source, request.layout);
}

bool can_make(const Request& request, const Isa& isa) {
  return is_quantized(request) ? can_quantize(request.layout, request.from, isa)
                               : can_pack(request.layout, source_of(request), isa);
}

/// Where its packer's instructions are from: its own ISA, or one that runs wherever it does.
const Isa& isa_of(const Request& request, IsaLibrary& library) {
  if (can_make(request, request.isa)) return request.isa;
  const std::string& packers = request.isa.packers;
  if (!packers.empty() && can_make(request, library.get(packers))) return library.get(packers);
  const Isa& other = library.get("scalar");
  // What is packed value by value ends in zeros.
  const bool fits =
      is_quantized(request) ? can_make(request, other) : request.layout.edge != Edge::last;
  if (fits) return other;
  throw std::runtime_error(fmt::format("no packer for layout '{}' on {}: it lacks operations",
                                       canonical(request.layout), request.isa.name));
}

PackerSource make_packer(const Request& request, const std::string& name, IsaLibrary& library,
                         const CFileRules& rules) {
  check_packable(request.layout);
  const Layout& layout = request.layout;
  const Isa& isa = isa_of(request, library);
  PackerSource packer;
  packer.name = name;
  packer.symbol = "tw_" + name;
  packer.operand = layout.side == Side::lhs ? "lhs" : "rhs";
  packer.source = request.source;
  packer.isa = &request.isa;
  packer.vectorized = isa.lanes32() > 1;
  const Program program = is_quantized(request)
                              ? lower_quantizing_packer(packer.symbol, layout, request.from, isa)
                              : lower_packer(packer.symbol, layout, source_of(request), isa);
  const std::string function = print_c_function(program, packer.symbol, "tw_pack_args");
  const Isa& file = packer.vectorized ? isa : request.isa;
  packer.text = c_file(rules, file, function, packer.symbol, "tw_pack_args");
  return packer;
}

/// Whether a block's sums stand before its codes.
bool sums_first(const Layout& layout) {
  const int sums = field_index(layout, FieldKind::sums);
  return sums >= 0 && sums < field_index(layout, FieldKind::data);
}

/// What tells packers of the same panels apart: blocks (on the lhs of any length, as long as its
/// format can do without), codes of 16 bits, what k is padded to if blocks are short, where sums of
/// blocks stand, weights for static activations, whose layout it is.
std::string packer_suffix(const Request& request) {
  const Layout& layout = request.layout;
  const bool lhs = layout.side == Side::lhs;
  std::string text = lhs ? "" : block_suffix(layout, request.format, BlockLength::any_long);
  if (lhs && layout.block != 0 && request.format.block == 0) text += "_blocks";
  if (lhs && layout.element == ElementType::i16) text += "_i16";
  if (lhs && has_real_sums(layout)) text += "_sums";
  if (lhs && request.format.block != 0) {
    if (layout.k_multiple < plain_block) text += fmt::format("_k{}", layout.k_multiple);
    if (sums_first(layout)) text += "_sums_first";
  }
  if (!lhs && summed_field(layout) != find_field(layout, FieldKind::sums)) text += "_static";
  if (request.style != LayoutStyle::own) text += fmt::format("_{}", name(request.style));
  return text + bias_suffix(layout);
}

/// From the request's own facts only, so that no other one renames a packer.
std::string packer_name(const Request& request) {
  const Layout& layout = request.layout;
  return fmt::format("{}_pack_{}_{}p{}x{}_{}{}", layout.side == Side::lhs ? "lhs" : "rhs",
                     request.source, request.format.name, to_string(layout.panel), layout.order.kr,
                     request.isa.name, packer_suffix(request));
}

/// A layout with what its packer takes as arguments left open: the length of blocks (on the rhs of
/// long ones), and on the lhs what becomes of sums and how often values stand there.
Layout without_arguments(Layout layout, bool with_sums) {
  if (layout.side == Side::rhs) {
    if (has_long_blocks(layout)) layout.block = long_block_step;
    return layout;
  }
  if (layout.block != 0) layout.block = 1;  // any
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
  if (has_real_sums(a) != has_real_sums(b)) return false;
  const auto sums = [](const Layout& layout) { return field_index(layout, FieldKind::sums) >= 0; };
  const bool both = sums(a) && sums(b);
  return without_arguments(a, both) == without_arguments(b, both);
}

/// A packer to be, and the request that it is made from: of its layouts the one with most copies of
/// sums, for which its code is fastest.
struct PackerGroup {
  std::string name;
  Request request;
  std::vector<Layout> layouts;
  std::vector<std::string> families;
};

template <typename T>
void add_once(std::vector<T>& all, const T& one) {
  if (std::find(all.begin(), all.end(), one) == all.end()) all.push_back(one);
}

/// Requests of one name share a packer: the first one that came stands for those after it.
class PackerGroups {
 public:
  void add(const Request& request, const std::string& family) {
    const std::string name = packer_name(request);
    const auto [number, is_new] = numbers_.emplace(name, groups_.size());
    if (is_new) groups_.push_back({name, request, {}, {}});
    PackerGroup& group = groups_[number->second];
    Request& its = group.request;
    if (!share_packer(its.layout, request.layout)) {
      throw std::logic_error(fmt::format("one name, {}, for packers into '{}' and '{}'", name,
                                         canonical(its.layout), canonical(request.layout)));
    }
    add_once(group.layouts, request.layout);
    add_once(group.families, family);
    if (repeat_of(request.layout, FieldKind::sums) > repeat_of(its.layout, FieldKind::sums)) {
      its.layout = request.layout;
    }
  }

  [[nodiscard]] const std::vector<PackerGroup>& all() const { return groups_; }

 private:
  std::map<std::string, size_t> numbers_;
  std::vector<PackerGroup> groups_;
};

PackerGroups groups_for(const std::vector<Variant>& variants) {
  PackerGroups groups;
  for (const Variant& v : variants) {
    for (const ElementType from : v.family.lhs_from) {
      if (is_unpacked(v.lhs) && from == v.lhs.element) continue;
      groups.add({v.lhs, *v.isa, *v.family.lhs, v.style, std::string(source_name(from)), from},
                 v.family.name);
    }
  }
  for (const Variant& v : variants) {
    for (const std::string& from : v.family.rhs_from) {
      // A source may hold weights of some of the spec's layouts only.
      if (find_source(from, v.rhs) == nullptr) continue;
      groups.add({v.rhs, *v.isa, *v.family.rhs, v.style, from, v.rhs.element}, v.family.name);
    }
  }
  return groups;
}

}  // namespace

std::map<std::string, std::vector<Layout>> packed_layouts(const std::vector<Variant>& variants) {
  std::map<std::string, std::vector<Layout>> layouts;
  const PackerGroups needed = groups_for(variants);
  for (const PackerGroup& group : needed.all()) layouts[group.name] = group.layouts;
  return layouts;
}

std::vector<PackerSource> make_packers(const std::vector<Variant>& variants,
                                       const std::string& templates) {
  const PackerGroups needed = groups_for(variants);
  const std::vector<PackerGroup>& groups = needed.all();
  IsaLibrary library(templates);
  const CFileRules rules = read_c_file_rules(templates);
  std::vector<PackerSource> packers(groups.size());
  for_each_in_parallel(groups.size(), [&](size_t i) {
    packers[i] = make_packer(groups[i].request, groups[i].name, library, rules);
    packers[i].layouts = groups[i].layouts;
    packers[i].families = groups[i].families;
  });
  return packers;
}

}  // namespace tw
