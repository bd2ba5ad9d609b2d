#include "spec/isa_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "spec/convention_reader.h"
#include "spec/register_reader.h"
#include "spec/row_reader.h"
#include "spec/rules_reader.h"

namespace tw {
namespace {

void append_new(std::vector<std::string>& to, const std::vector<std::string>& from) {
  for (const std::string& text : from) {
    if (std::find(to.begin(), to.end(), text) == to.end()) to.push_back(text);
  }
}

void read_registers(const YamlNode& node, Isa& isa) {
  for (const YamlNode::Entry& entry : node.entries()) {
    RegisterFile file = read_register_file(entry.key, entry.value, isa.vector_bytes);
    const auto same = std::find_if(isa.files.begin(), isa.files.end(),
                                   [&](const RegisterFile& f) { return f.name == file.name; });
    for (const RegisterFile& other : isa.files) {
      const bool is_alike = file.kind == Kind::tile && other.kind == Kind::tile &&
                            file.rows == other.rows && file.bytes == other.bytes;
      if (!is_alike || other.name == file.name) continue;
      entry.value.fail(fmt::format("'{}' and '{}' are tiles of one shape, which go to one file",
                                   other.name, file.name));
    }
    if (same != isa.files.end()) {
      *same = std::move(file);
    } else {
      isa.files.push_back(std::move(file));
    }
  }
}

/// The convention's argument is in a register that the table has.
void check_args_register(const YamlNode& convention, const Isa& isa) {
  std::vector<std::string> names;
  for (const RegisterFile& file : isa.files) {
    if (file.kind != Kind::scalar) continue;
    names.insert(names.end(), file.views.front().second.begin(), file.views.front().second.end());
  }
  if (std::find(names.begin(), names.end(), isa.convention.args_register) != names.end()) return;
  convention.fail(unknown_text("scalar register", isa.convention.args_register, names));
}

void read_c(const YamlNode& node, Isa& isa) {
  node.expect_keys({"includes", "target", "types", "casts", "keep"});
  if (const YamlNode* includes = node.find("includes")) {
    append_new(isa.c_includes, includes->texts());
  }
  if (const YamlNode* target = node.find("target")) isa.c_target = target->text();
  if (const YamlNode* types = node.find("types")) {
    for (const YamlNode::Entry& entry : types->entries()) {
      isa.c_types[entry.key] = entry.value.text();
    }
  }
  if (const YamlNode* keep = node.find("keep")) {
    isa.c_keep = keep->text();
    check_names(*keep, isa.c_keep, {"x"});
  }
  if (const YamlNode* casts = node.find("casts")) {
    for (const YamlNode::Entry& entry : casts->entries()) {
      check_names(entry.value, entry.value.text(), {"x", "from", "to"});
      isa.c_casts[entry.key] = entry.value.text();
    }
  }
}

/// "vmovups", "vmovups_2", "vmovups_3" ...: the first that no row has yet.
class UniqueNames {
 public:
  explicit UniqueNames(const Isa& isa) {
    for (const Row& row : isa.rows) taken_.insert(row.name);
  }
  std::string next(const std::string& base) {
    std::string name = base;
    for (int& number = last_[base]; !taken_.insert(name).second;) {
      number = std::max(number + 1, 2);
      name = fmt::format("{}_{}", base, number);
    }
    return name;
  }

 private:
  std::set<std::string> taken_;
  std::map<std::string, int> last_;  ///< number given, by base
};

/// Of vectors and of what holds them.
Length read_vector_bytes(const YamlNode& node) {
  constexpr int64_t most = 2048;
  const Length bytes = node.length();
  for (const int64_t part : {bytes.fixed, bytes.vl, bytes.svl}) {
    if (part >= 0 && part <= most && part % 4 == 0 && bytes != Length{}) continue;
    node.fail(fmt::format("'{}' must be a multiple of 4 from 4 to {}, or of vl", node.key(), most));
  }
  return bytes;
}

void read_rows(const YamlNode& node, Isa& isa) {
  std::vector<ReadRow> rows;
  for (const YamlNode& item : node.items(true)) rows.push_back(read_row(item, isa));
  // Names that were given first, so that no default takes one of them.
  std::map<std::string, Where> given;
  for (ReadRow& read : rows) {
    if (!read.has_own_name) continue;
    const auto [first, is_new] = given.emplace(read.row.name, read.row.where);
    if (!is_new) {
      throw SpecError(read.row.where, fmt::format("row '{}' twice; first at {}:{}", read.row.name,
                                                  first->second.line, first->second.column));
    }
  }
  std::erase_if(isa.rows, [&](const Row& row) { return given.contains(row.name); });
  const size_t inherited = isa.rows.size();
  for (const ReadRow& read : rows) {
    isa.rows.push_back(read.row);
    if (!read.has_own_name) isa.rows.back().name.clear();
  }
  UniqueNames names(isa);
  for (size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].has_own_name) continue;
    isa.rows[inherited + i].name = names.next(rows[i].row.name);
  }
}

Length streaming(Length length) {
  return {length.fixed, 0, length.vl + length.svl};
}

/// In streaming mode the instructions of a table count by the streaming length, and are there
/// whether or not the CPU has them outside of it.
void make_streaming(Isa& isa) {
  isa.features.clear();
  isa.vector_bytes = streaming(isa.vector_bytes);
  for (RegisterFile& file : isa.files) {
    file.bytes = streaming(file.bytes);
    file.rows = streaming(file.rows);
  }
  for (Row& row : isa.rows) {
    row.bytes = streaming(row.bytes);
    for (MeansNode& node : row.means) node.offset = streaming(node.offset);
    for (Immediate& field : row.immediates) {
      if (field.of == Symbol::vl) field.of = Symbol::svl;
    }
  }
}

Isa read_table(const std::filesystem::path& templates_dir, const std::string& name,
               std::vector<std::string> extended_by) {
  const std::filesystem::path folder = templates_dir / "isa";
  const YamlNode root = read_yaml(folder / (name + ".yaml"));
  root.expect_keys({"isa", "extends", "architecture", "convention", "features", "vector_bytes",
                    "packers", "default_core", "usual_technique", "registers", "c", "assembly",
                    "rows"});
  if (root.at("isa").text() != name) {
    root.at("isa").fail(fmt::format("the file is called {}.yaml, so 'isa' must be {}", name, name));
  }
  extended_by.push_back(name);
  Isa isa;
  if (const YamlNode* extends = root.find("extends")) {
    check_extends(*extends, "ISA", folder, extended_by);
    isa = read_table(templates_dir, extends->text(), extended_by);
  }
  isa.name = name;
  isa.where = root.at("isa").where();
  if (const YamlNode* node = root.find("architecture")) isa.architecture = node->text();
  if (const YamlNode* node = root.find("vector_bytes")) {
    const Length bytes = read_vector_bytes(*node);
    if (bytes.svl != 0) make_streaming(isa);
    isa.vector_bytes = bytes;
  }
  if (const YamlNode* node = root.find("features")) append_new(isa.features, node->texts());
  if (const YamlNode* node = root.find("packers")) {
    node->choice("ISA", yaml_names(folder));
    isa.packers = node->text();
  }
  if (const YamlNode* node = root.find("default_core")) isa.default_core = node->text();
  if (const YamlNode* node = root.find("usual_technique")) {
    isa.usual_technique = read_technique(*node);
  }
  if (const YamlNode* node = root.find("registers")) read_registers(*node, isa);
  if (const YamlNode* node = root.find("convention")) {
    isa.convention = read_convention(templates_dir, *node);
    check_args_register(*node, isa);
  }
  if (const YamlNode* node = root.find("c")) read_c(*node, isa);
  if (const YamlNode* node = root.find("assembly")) read_assembly_section(*node, isa);
  if (const YamlNode* node = root.find("rows")) read_rows(*node, isa);
  return isa;
}

}  // namespace

Technique read_technique(const YamlNode& node) {
  return read_named(node, "technique", techniques);
}

void check_extends(const YamlNode& extends, std::string_view kind,
                   const std::filesystem::path& folder,
                   const std::vector<std::string>& extended_by) {
  extends.choice(kind, yaml_names(folder));
  if (std::find(extended_by.begin(), extended_by.end(), extends.text()) != extended_by.end()) {
    extends.fail(fmt::format("'{}' extends itself", extends.text()));
  }
}

std::vector<std::string> yaml_names(const std::filesystem::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    if (entry.path().extension() == ".yaml") names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

Isa read_isa(const std::filesystem::path& templates_dir, const std::string& name) {
  Isa isa = read_table(templates_dir, name, {});
  // Rows of scalars are there on every ISA of an architecture.
  const auto has_c = [](const Row& row) {
    const auto is_scalar = [](const Operand& operand) { return operand.kind == Kind::scalar; };
    return !row.c.empty() && !std::all_of(row.operands.begin(), row.operands.end(), is_scalar);
  };
  isa.can_print_c = std::any_of(isa.rows.begin(), isa.rows.end(), has_c);
  isa.can_print_assembly = !isa.convention.name.empty();
  return isa;
}

std::vector<std::string> IsaLibrary::known() const {
  return yaml_names(dir_ / "isa");
}

const Isa& IsaLibrary::get(const std::string& name, const Where& asked_at) {
  const std::lock_guard lock(guards_isas_);
  const auto found = isas_.find(name);
  if (found != isas_.end()) return *found->second;
  const std::vector<std::string> names = known();
  if (std::find(names.begin(), names.end(), name) == names.end()) {
    throw SpecError(asked_at, unknown_text("ISA", name, names));
  }
  return *isas_.emplace(name, std::make_unique<const Isa>(read_isa(dir_, name))).first->second;
}

}  // namespace tw
