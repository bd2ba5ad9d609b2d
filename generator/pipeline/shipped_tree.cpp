#include "pipeline/shipped_tree.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <set>

#include "emit/file_template.h"
#include "lower/lower.h"
#include "model/attention.h"
#include "pipeline/kernel_names.h"

namespace tw {
namespace {

namespace fs = std::filesystem;

bool is_portable(const Variant& variant) {
  return variant.isa->features.empty() && variant.isa->architecture == "portable";
}

/// What a plan's weights must share with a kernel's.
bool same_weights(const Variant& a, const Variant& b) {
  if (a.family.name != b.family.name || a.rhs.block != b.rhs.block) return false;
  return a.rhs.block == 0 ||
         field_of(a.rhs, float_scale(a.rhs)).type == field_of(b.rhs, float_scale(b.rhs)).type;
}

std::string weights_text(const Variant& variant) {
  if (variant.rhs.block == 0) return variant.family.name;
  return fmt::format("{}, blocks of {} with scales of {}", variant.family.name, variant.rhs.block,
                     name(field_of(variant.rhs, float_scale(variant.rhs)).type));
}

const Variant& find_row(const std::vector<Variant>& variants, const std::string& wanted) {
  std::vector<std::string> all;
  for (const Variant& variant : variants) {
    for (const std::string& row : row_names(variant)) {
      if (row == wanted) return variant;
      all.push_back(row);
    }
  }
  throw std::runtime_error(fmt::format("no kernel '{}'; the nearest names are:\n  {}", wanted,
                                       fmt::join(nearest_kernels(wanted, all, 3), "\n  ")));
}

/// The kernels that go into the tree, with what the README says of each.
struct Selection {
  std::vector<ChosenKernel> kernels;
  std::vector<std::string> remarks;
};

void add(Selection& selection, const ChosenKernel& kernel) {
  const bool known = std::any_of(selection.kernels.begin(), selection.kernels.end(),
                                 [&](const ChosenKernel& k) { return k.name == kernel.name; });
  if (!known) selection.kernels.push_back(kernel);
}

/// Of those that read the same rows, or the caller's.
bool multiplies_decoded(const Variant& decoder, const Variant& packed, const Variant& other) {
  if (other.family.dst != packed.family.dst || !includes(*packed.isa, *other.isa)) return false;
  if (makes_codes(decoder.family)) {
    return other.rhs == decoder.decoded && other.lhs == packed.lhs &&
           other.family.accumulate == packed.family.accumulate;
  }
  return other.family.operation == Operation::matmul && is_unpacked(other.lhs) &&
         other.rhs.element == decoder.family.dst && other.rhs.panel == decoded_panel(decoder);
}

void add_decoders(Selection& selection, const std::vector<Variant>& variants,
                  const Variant& packed) {
  for (const Variant& decoder : variants) {
    if (decoder.family.operation != Operation::decode || !(decoder.rhs == packed.rhs) ||
        decoder.isa != packed.isa || decoder.family.dst == ElementType::bf16) {
      continue;
    }
    for (const std::string& row : row_names(decoder)) {
      add(selection, {row, "decodes weights once for many rows"});
    }
    for (const Variant& other : variants) {
      if (!multiplies_decoded(decoder, packed, other)) continue;
      for (const std::string& row : row_names(other)) {
        add(selection, {row, "multiplies by decoded weights"});
      }
    }
  }
}

/// Whether a plan of attention by `one` can have `other` for one of its other stages.
bool is_stage_beside(const Variant& one, const Variant& other) {
  if (other.family.operation != Operation::attention || other.stage == one.stage) return false;
  if (other.isa != one.isa && !is_portable(other)) return false;
  if (other.stage != Stage::weights) return other.family.name == one.family.name;
  return has_scales_of_positions(*other.family.rhs) == has_scales_of_positions(*one.family.rhs);
}

/// By the same printer, and in portable C.
void add_stages(Selection& selection, const std::vector<Variant>& variants, const Variant& one,
                const std::string& row) {
  const bool is_assembly = row == assembly_name(one);
  for (const Variant& other : variants) {
    if (!is_stage_beside(one, other)) continue;
    const bool assembly = is_assembly && prints_assembly(other);
    add(selection, {assembly ? assembly_name(other) : intrinsics_name(other),
                    "a stage without which there is no attention"});
  }
}

Selection with_portable(const std::vector<Variant>& variants,
                        const std::vector<ChosenKernel>& chosen) {
  Selection selection;
  std::vector<const Variant*> wanted;
  for (const ChosenKernel& kernel : chosen) {
    wanted.push_back(&find_row(variants, kernel.name));
    add(selection, kernel);
    if (kernel.decodes) add_decoders(selection, variants, *wanted.back());
    if (wanted.back()->family.operation == Operation::attention) {
      add_stages(selection, variants, *wanted.back(), kernel.name);
    }
  }
  std::set<std::string> without;
  for (const Variant* one : wanted) {
    bool found = false;
    for (const Variant& other : variants) {
      if (!is_portable(other) || !same_weights(*one, other)) continue;
      found = true;
      for (const std::string& row : row_names(other)) {
        add(selection, {row, "portable C, for CPUs that run none of the others"});
      }
    }
    if (!found) without.insert(weights_text(*one));
  }
  for (const std::string& weights : without) {
    selection.remarks.push_back(fmt::format(
        "{}: there is no portable kernel; a CPU that runs none of the above is refused.", weights));
  }
  return selection;
}

/// Where a generated file lies in the tree.
std::string place(const std::string& path) {
  if (path.starts_with("tilewright/")) return "include/" + path;
  return path.ends_with(".c") || path.ends_with(".S") ? "kernels/" + path : path;
}

/// The files of a folder, sorted.
std::vector<fs::path> files_of(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (entry.is_regular_file()) found.push_back(entry.path());
  }
  if (found.empty()) throw TreeError(fmt::format("no files in {}", folder.string()));
  std::sort(found.begin(), found.end());
  return found;
}

/// Written by an earlier run: it has our head, or is what would be written now (`planned`). Reads
/// no more of other people's files than a head.
bool is_ours(const fs::directory_entry& file, const TreeFile* planned) {
  std::string begin(256, '\0');
  std::ifstream in(file.path(), std::ios::binary);
  in.read(begin.data(), static_cast<std::streamsize>(begin.size()));
  begin.resize(static_cast<size_t>(in.gcount()));
  if (has_file_head(begin)) return true;
  return planned != nullptr && file.file_size() == planned->text.size() &&
         read_text(file.path()) == planned->text;
}

class ShipMaker {
 public:
  ShipMaker(const ShipSources& sources, const Origin& origin)
      : sources_(sources), origin_(origin) {}

  ShippedTree make(const std::vector<SpecInput>& specs, const std::vector<ChosenKernel>& chosen,
                   const std::string& choices) {
    IsaLibrary isas(sources_.templates);
    const Selection selection = with_portable(read_variants(specs, isas), chosen);
    TreeOptions options{sources_.templates, origin_, fs::path()};
    for (const ChosenKernel& kernel : selection.kernels) options.only.insert(kernel.name);
    GeneratedTree generated = generate_tree(specs, options);
    tree_.kernels = generated.kernels;
    tree_.packers = generated.packers;
    tree_.remarks = selection.remarks;
    for (TreeFile& file : generated.files) {
      tree_.files.push_back({place(file.path), std::move(file.text)});
    }
    tree_.files.push_back(
        {"kernels/choices.c", head("Settings that measuring chose.", "//") + choices});
    add_copies(sources_.headers / "tilewright", "include/tilewright");
    add_copies(sources_.runtime, "runtime");
    add_template("ship_test.c", "test/test.c", "//", {});
    add_template("ship_problem.h", "test/problem.h", "//", {});
    add_template("ship_support.h", "test/support.h", "//", {});
    add_template("ship_depthwise.c", "test/depthwise.c", "//", {});
    add_template("ship_attention.c", "test/attention.c", "//", {});
    add_template("ship_cmake.txt", "CMakeLists.txt", "#", {{"SOURCES", source_list()}});
    add_template("ship_readme.txt", "README.txt", "#",
                 {{"KERNELS", kernel_list(selection.kernels)},
                  {"REMARKS", remark_list()},
                  {"WILDCARDS", wildcards()}});
    tree_.files.push_back({"LICENSE", read_text(sources_.license)});
    return std::move(tree_);
  }

 private:
  [[nodiscard]] std::string head(const std::string& about, const std::string& comment) const {
    return file_head(origin_, {}, {about}, comment) + "\n";
  }

  void add_copies(const fs::path& from, const std::string& to) {
    for (const fs::path& file : files_of(from)) {
      const std::string name = file.filename().string();
      tree_.files.push_back(
          {to + "/" + name, head("A copy of tilewright's " + name + ".", "//") + read_text(file)});
    }
  }

  void add_template(const std::string& file, const std::string& path, const std::string& comment,
                    const std::map<std::string, std::string>& values) {
    const std::string text = fill_template(sources_.templates / "file" / file, values);
    tree_.files.push_back({path, head(path, comment) + text});
  }

  /// Paths of what is compiled into the library.
  [[nodiscard]] std::vector<std::string> compiled() const {
    std::vector<std::string> paths;
    for (const TreeFile& file : tree_.files) {
      const bool is_ours = file.path.starts_with("kernels/") || file.path.starts_with("runtime/");
      if (is_ours && !file.path.ends_with(".h")) paths.push_back(file.path);
    }
    return paths;
  }

  [[nodiscard]] std::string source_list() const {
    return fmt::format("  {}", fmt::join(compiled(), "\n  "));
  }

  [[nodiscard]] std::string wildcards() const {
    const std::vector<std::string> paths = compiled();
    const bool has_assembly = std::any_of(
        paths.begin(), paths.end(), [](const std::string& path) { return path.ends_with(".S"); });
    return has_assembly ? "runtime/*.c kernels/*.c kernels/*.S" : "runtime/*.c kernels/*.c";
  }

  static std::string kernel_list(const std::vector<ChosenKernel>& kernels) {
    std::string text;
    for (const ChosenKernel& kernel : kernels) {
      text += fmt::format("  {}\n      {}\n", kernel.name, kernel.why);
    }
    return text;
  }

  [[nodiscard]] std::string remark_list() const {
    std::string text;
    for (const std::string& remark : tree_.remarks) text += remark + "\n\n";
    return text;
  }

  const ShipSources& sources_;
  const Origin& origin_;
  ShippedTree tree_;
};

}  // namespace

ShippedTree ship_tree(const std::vector<SpecInput>& specs, const ShipSources& sources,
                      const Origin& origin, const std::vector<ChosenKernel>& chosen,
                      const std::string& choices) {
  return ShipMaker(sources, origin).make(specs, chosen, choices);
}

void check_only_ours(const fs::path& root, const std::vector<TreeFile>& files) {
  std::error_code error;
  if (!fs::exists(root, error)) return;
  if (!fs::is_directory(root, error)) {
    throw TreeError(fmt::format("{} is a file: give a folder", root.string()));
  }
  std::map<std::string, const TreeFile*> ours;
  for (const TreeFile& file : files) ours[file.path] = &file;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(root)) {
    if (entry.is_directory()) continue;
    const auto known = ours.find(entry.path().lexically_relative(root).generic_string());
    if (entry.is_regular_file() && is_ours(entry, known == ours.end() ? nullptr : known->second)) {
      continue;
    }
    throw TreeError(
        fmt::format("{} is not of a shipped tree: give an empty folder, or one that does not exist",
                    entry.path().string()));
  }
}

}  // namespace tw
