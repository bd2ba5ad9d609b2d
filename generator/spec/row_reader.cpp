#include "spec/row_reader.h"

#include <fmt/format.h>

#include <algorithm>

#include "model/row_text.h"
#include "spec/means_parser.h"
#include "spec/number.h"
#include "spec/register_reader.h"

namespace tw {
namespace {

std::vector<Placeholder> placeholders_of(const YamlNode& node, const std::string& text) {
  return node.checked([&] { return placeholders(text); });
}

/// What the readers of single keys need to find names and say where they are.
struct RowReader {
  const YamlNode& node;
  const Isa& isa;
  Row row;

  [[nodiscard]] std::vector<std::string> operand_names() const {
    std::vector<std::string> names;
    for (const Operand& operand : row.operands) names.push_back(operand.name);
    return names;
  }
  [[nodiscard]] std::vector<std::string> text_names() const {
    std::vector<std::string> names = operand_names();
    for (const Immediate& immediate : row.immediates) names.push_back(immediate.name);
    return names;
  }
  Operand& operand(const Where& where, const std::string& name) {
    for (Operand& operand : row.operands) {
      if (operand.name == name) return operand;
    }
    throw SpecError(where, unknown_text("operand", name, operand_names()));
  }
  const RegisterFile& known_file(const YamlNode& at, const std::string& name) const {
    if (const RegisterFile* found = isa.file(name)) return *found;
    std::vector<std::string> names;
    for (const RegisterFile& known : isa.files) names.push_back(known.name);
    at.fail(unknown_text("register file", name, names));
  }
  void check_c_type(const YamlNode& at) const {
    std::vector<std::string> names;
    for (const auto& [name, type] : isa.c_types) names.push_back(name);
    at.choice("C type", names);
  }
};

void read_means(RowReader& reader) {
  const YamlNode& text = reader.node.at("means");
  try {
    Means means = parse_means(text.text());
    reader.row.means = std::move(means.nodes);
    reader.row.operands = std::move(means.operands);
    for (const std::string& name : means.immediates) {
      Immediate immediate;
      immediate.name = name;
      reader.row.immediates.push_back(immediate);
    }
  } catch (const std::invalid_argument& error) {
    text.fail(fmt::format("means \"{}\", {}", text.text(), error.what()));
  }
}

/// 16, or 16vl: a field encodes multiples of one thing.
void read_scale(const YamlNode& node, Immediate& immediate) {
  const Length scale = node.length();
  const int symbols = (scale.fixed != 0) + (scale.vl != 0) + (scale.svl != 0);
  const int64_t number = scale.fixed + scale.vl + scale.svl;
  if (symbols != 1 || number < 1 || number > 1 << 20) {
    node.fail("'scale' must be a number from 1 to 1048576, or that times vl or svl");
  }
  immediate.scale = static_cast<int>(number);
  immediate.of = scale.vl != 0 ? Symbol::vl : scale.svl != 0 ? Symbol::svl : Symbol::one;
}

void read_immediates(RowReader& reader) {
  const YamlNode* node = reader.node.find("imm");
  if (node == nullptr) return;
  std::vector<std::string> names;
  for (const Immediate& immediate : reader.row.immediates) names.push_back(immediate.name);
  for (const YamlNode::Entry& entry : node->entries()) {
    const auto found = std::find(names.begin(), names.end(), entry.key);
    if (found == names.end()) {
      throw SpecError(entry.where, unknown_text("immediate", entry.key, names));
    }
    Immediate& immediate = reader.row.immediates[static_cast<size_t>(found - names.begin())];
    entry.value.expect_keys({"bits", "signed", "scale", "min"});
    if (const YamlNode* bits = entry.value.find("bits")) {
      immediate.bits = static_cast<int>(bits->count_up_to(64));
    }
    if (const YamlNode* is_signed = entry.value.find("signed")) {
      immediate.is_signed = is_signed->boolean();
    }
    if (const YamlNode* scale = entry.value.find("scale")) {
      read_scale(*scale, immediate);
    }
    if (const YamlNode* least = entry.value.find("min")) immediate.least = least->integer();
  }
}

void read_allowed(const YamlNode& node, const RegisterFile& file, Operand& operand) {
  for (const YamlNode* item : node.one_or_more()) {
    for (const std::string& text : expand_range(*item)) {
      int64_t index = 0;
      if (!parse_integer(text, index) || index < 0 || index >= file.count()) {
        item->fail(fmt::format("'{}' is no register of file '{}'; 0 to {} are", text, file.name,
                               file.count() - 1));
      }
      const auto end = operand.allowed.end();
      if (std::find(operand.allowed.begin(), end, index) != end) {
        item->fail(fmt::format("'{}' stands twice in the list", text));
      }
      operand.allowed.push_back(static_cast<int>(index));
    }
  }
}

void read_operands(RowReader& reader) {
  for (Operand& operand : reader.row.operands) {
    if (const RegisterFile* file = reader.isa.file_of(operand.kind)) operand.file = file->name;
  }
  const YamlNode* node = reader.node.find("operands");
  if (node == nullptr) return;
  for (const YamlNode::Entry& entry : node->entries()) {
    Operand& operand = reader.operand(entry.where, entry.key);
    entry.value.expect_keys({"file", "allowed", "c_type"});
    if (const YamlNode* file = entry.value.find("file")) {
      if (reader.known_file(*file, file->text()).kind != operand.kind) {
        file->fail(fmt::format("register file '{}' does not hold the kind of value that '{}' is",
                               file->text(), operand.name));
      }
      operand.file = file->text();
    }
    if (const YamlNode* allowed = entry.value.find("allowed")) {
      read_allowed(*allowed, reader.known_file(*allowed, operand.file), operand);
    }
    if (const YamlNode* c_type = entry.value.find("c_type")) {
      reader.check_c_type(*c_type);
      operand.c_type = c_type->text();
    }
  }
}

void read_tied(RowReader& reader) {
  const YamlNode* node = reader.node.find("tied");
  if (node == nullptr) return;
  for (const YamlNode::Entry& entry : node->entries()) {
    Operand& result = reader.operand(entry.where, entry.key);
    const Operand& argument = reader.operand(entry.value.where(), entry.value.text());
    if (!result.is_result || argument.is_result) {
      throw SpecError(entry.where, "'tied' is {result: argument}");
    }
    if (result.file != argument.file) {
      throw SpecError(entry.where, fmt::format("'{}' and '{}' are in different register files",
                                               result.name, argument.name));
    }
    result.tied = argument.name;
  }
}

void read_tuple(RowReader& reader, const YamlNode& list) {
  const std::string& tuple = list.items().front().text();
  for (const YamlNode& item : list.items()) {
    Operand& operand = reader.operand(item.where(), item.text());
    if (!operand.tuple.empty()) {
      item.fail(fmt::format("'{}' is in a tuple already", operand.name));
    }
    if (operand.file != reader.operand(list.where(), tuple).file) {
      item.fail(fmt::format("'{}' and '{}' are in different register files", tuple, operand.name));
    }
    operand.tuple = tuple;
  }
}

void read_constraints(RowReader& reader) {
  read_tied(reader);
  if (const YamlNode* node = reader.node.find("tuple")) {
    if (!node->items().front().is_list()) {
      read_tuple(reader, *node);
    } else {
      for (const YamlNode& list : node->items()) read_tuple(reader, list);
    }
  }
  if (const YamlNode* node = reader.node.find("early_clobber")) {
    for (const YamlNode* item : node->one_or_more()) {
      Operand& operand = reader.operand(item->where(), item->text());
      if (!operand.is_result) item->fail(fmt::format("'{}' is not a result", operand.name));
      operand.early_clobber = true;
    }
  }
}

bool touches_memory(const Row& row) {
  return std::any_of(row.means.begin(), row.means.end(), [](const MeansNode& node) {
    return reads_memory(node.code) || writes_memory(node.code) || prefetches(node.code);
  });
}

void read_c(RowReader& reader) {
  if (const YamlNode* type = reader.node.find("c_type")) {
    reader.check_c_type(*type);
    reader.row.c_type = type->text();
  }
  const YamlNode* node = reader.node.find("c");
  if (node == nullptr) return;
  reader.row.c = node->text();
  std::vector<std::string> names = reader.text_names();
  if (touches_memory(reader.row)) names.emplace_back("at");
  check_names(*node, reader.row.c, names);
}

/// Each view exists, and each operand and immediate is printed, or implied by one that is.
void check_assembly(const RowReader& reader, const YamlNode& node) {
  std::vector<std::string> printed;
  for (const std::string& line : reader.row.assembly) {
    check_names(node, line, reader.text_names());
    for (const Placeholder& found : placeholders_of(node, line)) {
      printed.push_back(found.name);
      const Operand* operand = reader.row.operand(found.name);
      if (found.view.empty() || operand == nullptr) continue;
      std::vector<std::string> views;
      for (const auto& [view, names] : reader.known_file(node, operand->file).views) {
        views.push_back(view);
      }
      if (std::find(views.begin(), views.end(), found.view) == views.end()) {
        node.fail(unknown_text("view", found.view, views));
      }
    }
  }
  const auto is_printed = [&](const std::string& name) {
    return std::find(printed.begin(), printed.end(), name) != printed.end();
  };
  for (const Operand& operand : reader.row.operands) {
    if (reader.isa.file(operand.file) == nullptr) {
      node.fail(fmt::format("operand '{}' has no register file", operand.name));
    }
    const bool is_tied_to = std::any_of(
        reader.row.operands.begin(), reader.row.operands.end(),
        [&](const Operand& other) { return other.tied == operand.name && is_printed(other.name); });
    if (!is_printed(operand.name) && !is_tied_to && operand.tuple.empty() &&
        (operand.tied.empty() || !is_printed(operand.tied))) {
      node.fail(fmt::format("operand '{}' is not in the assembly text", operand.name));
    }
  }
  for (const Immediate& immediate : reader.row.immediates) {
    if (!is_printed(immediate.name)) {
      node.fail(fmt::format("immediate '{}' is not in the assembly text", immediate.name));
    }
  }
}

void read_assembly(RowReader& reader) {
  const YamlNode* node = reader.node.find("asm");
  if (node == nullptr) return;
  for (const YamlNode* line : node->one_or_more()) reader.row.assembly.push_back(line->text());
  check_assembly(reader, *node);
}

void read_clobbers(RowReader& reader) {
  const YamlNode* node = reader.node.find("clobbers");
  if (node == nullptr) return;
  for (const YamlNode* item : node->one_or_more()) {
    const std::string& text = item->text();
    if (text != "flags") {
      const size_t colon = text.find(':');
      int64_t index = 0;
      if (colon == std::string::npos || !parse_integer(text.substr(colon + 1), index) ||
          index < 0 || index >= reader.known_file(*item, text.substr(0, colon)).count()) {
        item->fail(fmt::format("'{}' is neither flags nor file:index", text));
      }
    }
    reader.row.clobbers.push_back(text);
  }
}

Mode read_mode(const YamlNode& node) {
  constexpr Mode modes[] = {Mode::streaming, Mode::accumulator_tiles};
  return modes[node.choice("mode", {"streaming", "accumulator_tiles"})];
}

/// The assembly mnemonic, or the operations' names.
std::string default_name(const Row& row) {
  if (!row.assembly.empty()) return row.assembly[0].substr(0, row.assembly[0].find(' '));
  std::string joined;
  for (const MeansNode& node : row.means) {
    joined += (joined.empty() ? "" : "_") + std::string(info(node.code).name);
  }
  return joined;
}

}  // namespace

void check_names(const YamlNode& node, const std::string& text,
                 const std::vector<std::string>& names) {
  for (const Placeholder& found : placeholders_of(node, text)) {
    if (std::find(names.begin(), names.end(), found.name) == names.end()) {
      node.fail(fmt::format("in \"{}\": {}", text, unknown_text("name", found.name, names)));
    }
  }
}

/// A class for each line of assembly.
void read_classes(RowReader& reader) {
  const YamlNode* node = reader.node.find("class");
  const size_t lines = reader.row.assembly.size();
  if (node == nullptr) {
    if (lines == 0) return;
    reader.node.fail("a row with 'asm' needs 'class', a key of the tables in templates/core");
  }
  std::vector<std::string>& classes = reader.row.issue_classes;
  classes = node->texts();
  if (classes.size() == 1) classes.resize(lines, std::string(classes.front()));
  if (classes.size() != lines) node->fail("'class' is one for all lines of 'asm' or one for each");
}

ReadRow read_row(const YamlNode& node, const Isa& isa) {
  node.expect_keys({"means", "name", "bytes", "load_bytes", "tied", "tuple", "early_clobber", "imm",
                    "operands", "c", "c_type", "asm", "class", "mode", "clobbers"});
  RowReader reader{node, isa, {}};
  reader.row.where = node.where();
  read_means(reader);
  if (const YamlNode* bytes = node.find("bytes")) reader.row.bytes = bytes->length();
  if (const YamlNode* bytes = node.find("load_bytes")) reader.row.load_bytes = bytes->length();
  read_immediates(reader);
  read_operands(reader);
  read_constraints(reader);
  read_c(reader);
  read_assembly(reader);
  read_clobbers(reader);
  if (const YamlNode* mode = node.find("mode")) reader.row.mode = read_mode(*mode);
  // A table that can print nothing says what its instructions mean and is interpreted only.
  const bool prints = !isa.c_types.empty() || !isa.convention.name.empty();
  if (prints && reader.row.c.empty() && reader.row.assembly.empty()) {
    node.fail("a row needs 'c' or 'asm'");
  }
  read_classes(reader);
  const YamlNode* name = node.find("name");
  reader.row.name = name != nullptr ? name->text() : default_name(reader.row);
  return {std::move(reader.row), name != nullptr};
}

}  // namespace tw
