#include "pipeline/client_library.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "emit/client_files.h"
#include "model/hash.h"
#include "pipeline/kernel_names.h"
#include "spec/client_reader.h"
#include "spec/yaml_reader.h"

namespace tw {
namespace {

const std::string root = "kleidiai/";

/// The code of long blocks serves all of them.
int block_of_code(const Layout& layout) {
  return has_long_blocks(layout) ? long_block_step : layout.block;
}

void add_code(std::vector<ClientCode>& codes, const ClientCode& code) {
  const bool known = std::any_of(codes.begin(), codes.end(), [&](const ClientCode& other) {
    return other.panel == code.panel && other.kr == code.kr && other.block == code.block;
  });
  if (!known) codes.push_back(code);
}

ClientCode code_of(const Variant& kernel) {
  const std::string symbol =
      prints_assembly(kernel) ? assembly_symbol(kernel) : intrinsics_symbol(kernel);
  return {kernel.rhs.panel.fixed, kernel.rhs.order.kr, block_of_code(kernel.rhs), symbol};
}

/// What is for the last rows comes last.
std::vector<ClientCode> codes_of(const ClientMatmul& matmul) {
  std::vector<ClientCode> all;
  for (const auto& kernels : {matmul.kernels, matmul.rest, matmul.single}) {
    std::vector<ClientCode> codes;
    for (const Variant* kernel : kernels) add_code(codes, code_of(*kernel));
    all.insert(all.end(), codes.begin(), codes.end());
  }
  return all;
}

/// The layouts that a packer may be asked for, those first whose packers run on most machines.
std::vector<const Variant*> users_of(const ClientPacker& packer,
                                     const std::vector<const Variant*>& variants) {
  std::vector<const Variant*> users;
  for (const Variant* variant : variants) {
    const Format* format = packer.side == Side::lhs ? variant->family.lhs : variant->family.rhs;
    const Format* other = packer.side == Side::lhs ? variant->family.rhs : variant->family.lhs;
    const bool fits = packer.with == nullptr || packer.with == other;
    if (variant->style != LayoutStyle::kleidiai || format != packer.format || !fits) continue;
    if ((variant->family.operation == Operation::depthwise) != packer.of_taps) continue;
    const Layout& layout = packer.side == Side::lhs ? variant->lhs : variant->rhs;
    if (packer.panel != Length{}) {
      const bool reads = layout.panel == packer.panel && bias_suffix(layout) == packer.bias;
      if (reads && !is_unpacked(layout)) users.push_back(variant);
      continue;
    }
    // Plain C packs what is as wide as vectors.
    if ((layout.order.pair == NibblePair::next) != packer.sequential) continue;
    if (has_fields_apart(layout) != packer.apart) continue;
    if (packer.side == Side::lhs && has_real_sums(layout) != packer.real_sums) continue;
    const bool plain = packer.sequential || packer.apart || is_float(*format);
    if (layout.panel.is_fixed() || plain) users.push_back(variant);
  }
  std::stable_sort(users.begin(), users.end(), [](const Variant* a, const Variant* b) {
    return a->isa->features.size() < b->isa->features.size();
  });
  return users;
}

/// Whether no generated code packs so: from floats that are rounded, from rows that pointers tell;
/// rows that keep sums, with KleidiAI's scales, and weights whose offsets are told.
bool is_plain_c(const ClientPacker& packer) {
  const bool offsets = packer.real_sums || packer.has_offsets();
  const bool any_shape = is_float(*packer.format) && packer.panel == Length{} && !packer.of_taps;
  return packer.of || offsets || any_shape || (packer.in_chunks && packer.side == Side::lhs);
}

/// What else packs.
std::string plain_code(const ClientPacker& packer) {
  if (is_plain_c(packer)) return "plain C";
  if (packer.in_chunks) return "plain C where chunks end within a group";
  return packer.panel != Length{} ? "" : "plain C for all other panels";
}

class ClientMaker {
 public:
  explicit ClientMaker(const ClientInputs& inputs)
      : inputs_(inputs), spec_{inputs.name, fnv1a(read_text(inputs.file))} {}

  std::vector<TreeFile> make() {
    const ClientNames names = read_client_names(inputs_.file, inputs_.variants);
    for (const ClientMatmul& matmul : names.matmuls) add_matmul(matmul);
    for (const ClientDepthwise& depthwise : names.depthwise) add_depthwise(depthwise);
    for (const ClientPacker& packer : names.packers) add_packer(packer);
    for (const ClientStructPacker& packer : names.struct_packers) add_packer(packer);
    add("names.h", {"All micro-kernels here, for programs that compare."},
        print_client_list(names.version, entries_));
    files_.push_back({root + "NAMES.md", "<!--" + file_head(inputs_.origin, {spec_}, {}, "") +
                                             "-->\n# KleidiAI's names that are served\n\n" +
                                             print_client_table(entries_)});
    add("code.txt", {"The kernels and packers that the sources here call."}, code_list(), "#");
    return std::move(files_);
  }

 private:
  void add(const std::string& path, const std::vector<std::string>& about, const std::string& text,
           const std::string& comment = "//") {
    files_.push_back(
        {root + path, file_head(inputs_.origin, {spec_}, about, comment) + "\n" + text});
  }

  [[nodiscard]] const std::string& guard_of(const Variant& variant) const {
    return c_guard(inputs_.rules, *variant.isa);
  }

  void add_entry(const ClientEntry& entry, const std::vector<std::string>& about,
                 const std::string& source) {
    add("src/kai_" + entry.name + ".c", about, source);
    for (const ClientCode& code : entry.codes) called_.insert(code.symbol);
    entries_.push_back(entry);
  }

  /// `types`: what those of its functions are named after.
  void add_kernel(const ClientEntry& entry, const std::string& types, const std::string& source) {
    if (interfaces_.insert(entry.interface).second) {
      add("include/" + entry.interface, {"Pointers to what these micro-kernels have."},
          print_client_interface(types, entry.family, entry.functions));
    }
    std::vector<std::string> about = {"KleidiAI's name for"};
    for (const ClientCode& code : entry.codes) about.push_back("  " + code.symbol);
    add("include/" + entry.header, about, print_client_header(entry.name, entry.functions));
    add_entry(entry, about, source);
  }

  void add_matmul(const ClientMatmul& matmul) {
    const std::vector<ClientCode> codes = codes_of(matmul);
    const auto functions = matmul_functions(matmul, codes);
    add_kernel({client_header(matmul), matmul.name, matmul.pointers, client_interface(matmul),
                client_list_name(matmul), "", functions, codes},
               matmul.family,
               print_client_source(matmul, functions, codes, guard_of(*matmul.kernels.front())));
  }

  void add_depthwise(const ClientDepthwise& depthwise) {
    const ClientCode code = code_of(*depthwise.kernel);
    const auto functions = depthwise_functions(depthwise, code);
    const std::vector<ClientCode> codes = {code};
    add_kernel({client_header(depthwise), depthwise.name, depthwise.family,
                client_interface(depthwise), client_list_name(depthwise), "", functions, codes},
               depthwise.family,
               print_client_source(depthwise, functions, code, guard_of(*depthwise.kernel)));
  }

  void add_packer(const ClientPacker& packer) {
    const Variant* user = nullptr;
    const std::vector<ClientCode> codes = packer_codes(packer, user);
    const Layout& layout = packer.side == Side::lhs ? user->lhs : user->rhs;
    const auto functions = packer_functions(packer, layout, codes);
    const std::vector<std::string> about = {"KleidiAI's name for packers by panel and kr"};
    add("include/" + client_header(packer), about, print_client_header(packer, functions));
    add_entry({client_header(packer), packer.name, "", "", client_list_name(packer, layout),
               plain_code(packer), functions, codes},
              about, print_client_source(packer, functions, codes, layout, guard_of(*user)));
  }

  void add_packer(const ClientStructPacker& packer) {
    const auto functions = packer_functions(packer);
    add_entry({"", packer.name, "", "", "STRUCT_PACKERS", "plain C", functions, {}},
              {"KleidiAI's name for a packer that is told structs"},
              print_client_source(packer, functions));
  }

  /// `example` becomes one of the kernels that read what it packs. There may be no packer of
  /// weights: then plain C serves all panels.
  std::vector<ClientCode> packer_codes(const ClientPacker& packer, const Variant*& example) const {
    std::vector<ClientCode> codes;
    std::vector<std::string> sources;
    if (is_plain_c(packer)) {
      example = users_of(packer, inputs_.variants).front();
      return codes;
    }
    for (const Variant* user : users_of(packer, inputs_.variants)) {
      const Layout& layout = packer.side == Side::lhs ? user->lhs : user->rhs;
      if (packer.side == Side::rhs) example = user;
      for (const PackerSource& source : inputs_.packers) {
        const auto& its = source.layouts;
        if (std::find(its.begin(), its.end(), layout) == its.end()) continue;
        sources.push_back(source.source);
        if (source.source != packer.source) continue;
        example = user;
        // Rows of blocks are of one length; packers of activations take any.
        const int block = packer.side == Side::lhs ? 0 : block_of_code(layout);
        const bool fits = packer.side == Side::rhs || layout.rounding == packer.rounding;
        if (packer.panel != Length{} || (fits && layout.panel.is_fixed())) {
          add_code(codes, {layout.panel.fixed, layout.order.kr, block, source.symbol});
        }
      }
    }
    // Those of codes can be plain C.
    if (example == nullptr || (packer.panel != Length{} && codes.empty())) {
      std::sort(sources.begin(), sources.end());
      sources.erase(std::unique(sources.begin(), sources.end()), sources.end());
      throw SpecError(packer.where, unknown_text(fmt::format("source of {}", packer.format->name),
                                                 packer.source, sources));
    }
    return codes;
  }

  [[nodiscard]] std::string code_list() const {
    std::string text;
    for (const std::string& symbol : called_) text += symbol + "\n";
    return text;
  }

  const ClientInputs& inputs_;
  SpecFile spec_;
  std::set<std::string> interfaces_;
  std::set<std::string> called_;
  std::vector<ClientEntry> entries_;
  std::vector<TreeFile> files_;
};

}  // namespace

std::vector<TreeFile> make_client_library(const ClientInputs& inputs) {
  return ClientMaker(inputs).make();
}

}  // namespace tw
