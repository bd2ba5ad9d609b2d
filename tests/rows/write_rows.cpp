// Writes the tests of one instruction table: a C file and an assembly file with a function per row
// and choice of operands, a table of the functions, and the operands with the results that the
// interpreter gives. Rows of tables that this one extends are left to those, where vectors are as
// long.
//
//   write_rows TEMPLATES ISA OUT      writes OUT/rows_ISA.c, .S, _table.c and .cases; and for
//                                     vectors of a length known only at run time _256.cases ...
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "emit/assembly_printer.h"
#include "emit/c_file.h"
#include "emit/c_printer.h"
#include "rows/means.h"
#include "rows/row_functions.h"
#include "schedule/insert.h"
#include "spec/isa_reader.h"

namespace tw::test {
namespace {

struct Counts {
  int rows = 0, c = 0, assembly = 0;
  int folded = 0;        ///< several operations: the C printer leaves that to compilers
  int by_other = 0;      ///< another row has the C text of the same operation
  int struct_field = 0;  ///< `arg`: C names the field
  int elsewhere = 0;     ///< not counted above: of tables that this one extends
};

using Place = std::pair<std::string, int>;  ///< a file and a line

Place place_of(const Row& row) {
  return {row.where.file, row.where.line};
}

/// Rows that the tests of other tables execute, of which this table has them.
std::set<Place> rows_of_others(IsaLibrary& library, const Isa& isa) {
  std::set<Place> places;
  std::set<std::string> known;
  for (const Row& row : isa.rows) {
    const std::string table = std::filesystem::path(row.where.file).stem().string();
    const bool has_test = table != isa.name && table != isa.architecture;
    if (!has_test || !known.insert(table).second) continue;
    const Isa& other = library.get(table);
    if (other.vector_bytes != isa.vector_bytes) continue;
    for (const Row& its : other.rows) places.insert(place_of(its));
  }
  return places;
}

class TableWriter {
 public:
  TableWriter(const std::filesystem::path& templates, const Isa& isa, std::set<Place> elsewhere)
      : isa_(isa),
        elsewhere_(std::move(elsewhere)),
        c_rules_(read_c_file_rules(templates)),
        dialect_(only(read_dialect(templates), "elf")) {
    if (isa.vector_bytes.is_fixed()) return;
    for (const int64_t vl : {2, 4, 8, 16}) longer_[vl] = {};
  }

  void add_rows() {
    for (const Row& row : isa_.rows) add(row);
    if (!complaints_.empty()) {
      throw std::runtime_error(fmt::format("{}", fmt::join(complaints_, "\n")));
    }
  }

  void write(const std::filesystem::path& folder) const {
    const std::string name = "rows_" + isa_.name;
    std::string c = "typedef int no_row_has_c_text;\n";  // C forbids files without declarations
    if (!c_symbol_.empty()) c = c_file(c_rules_, isa_, c_, c_symbol_);
    save(folder / (name + ".c"), c);
    std::string assembly = assembly_;
    if (assembly.empty())
      assembly = fmt::format("{}\n", fmt::join(dialect_.objects.front().file_end, "\n"));
    save(folder / (name + ".S"), assembly);
    save(folder / (name + "_table.c"), table());
    write_groups(folder / (name + ".cases"), groups_);
    for (const auto& [vl, groups] : longer_) {
      write_groups(folder / fmt::format("{}_{}.cases", name, 128 * vl), groups);
    }
  }

 private:
  static void save(const std::filesystem::path& path, const std::string& text) {
    std::ofstream file(path);
    file << text;
    file.close();
    if (!file) throw std::runtime_error(path.string() + " cannot be written");
  }

  static bool changes_mode(const Row& row) {
    const OpCode code = row.means.front().code;
    return code == OpCode::mode_enter || code == OpCode::mode_leave;
  }

  void complain(const Row& row, const std::string& what) {
    complaints_.push_back(fmt::format("{}: {}: {}", to_string(row.where), row.name, what));
  }

  void add(const Row& row) {
    const bool is_own = !elsewhere_.contains(place_of(row));
    Counts not_ours;
    Counts& counts = is_own ? counts_ : not_ours;
    counts_.elsewhere += is_own ? 0 : 1;
    ++counts.rows;
    if (changes_mode(row)) {  // stands around each of the others
      ++counts.assembly;
      return;
    }
    bool in_c = false;
    bool in_assembly = false;
    for (const RowUse& use : row_uses(isa_, row)) {
      const RowProgram program = row_program(use, true);
      const RowProgram plain = row_program(use, false);
      // A kept operand has another use: no row that loads it by itself takes its place.
      const bool selected = is_selected(use, plain) || is_selected(use, program);
      const bool printed = is_printed_in_c(use, plain);
      in_c = in_c || printed;
      in_assembly = in_assembly || selected;
      if (!is_own) continue;  // whether it is reached from here is for this table to say
      groups_.push_back(make_group(use, program, {}));
      for (auto& [vl, groups] : longer_) groups.push_back(make_group(use, program, {vl, vl}));
      for (RowFunction& function : row_functions(use, groups_.back())) print(function);
    }
    count_texts(row, in_c, in_assembly, counts);
  }

  /// Text that no Program reaches is wrong, whatever it says.
  void count_texts(const Row& row, bool in_c, bool in_assembly, Counts& counts) {
    if (in_assembly) {
      ++counts.assembly;
    } else if (!row.assembly.empty()) {
      complain(row, "selection never chooses it");
    }
    if (in_c) {
      ++counts.c;
    } else if (!row.c.empty() && isa_.can_print_c) {
      complain(row, "its C text is never printed");
    } else if (row.means.size() > 1) {
      ++counts.folded;
    } else if (row.means[0].code == OpCode::arg) {
      ++counts.struct_field;
    } else if (has_c_text(row.means[0])) {
      ++counts.by_other;
    } else if (isa_.can_print_c && !has_tiles(row)) {
      complain(row, "there is no C text for its operation");
    }
  }

  /// Compilers have no values in tiles.
  static bool has_tiles(const Row& row) {
    return std::any_of(row.operands.begin(), row.operands.end(),
                       [](const Operand& operand) { return operand.kind == Kind::tile; });
  }

  bool has_c_text(const MeansNode& node) const {
    for (const Row& other : isa_.rows) {
      if (other.means.size() == 1 && !other.c.empty() && other.means[0].code == node.code &&
          other.means[0].bits == node.bits) {
        return true;
      }
    }
    return false;
  }

  void print(const RowFunction& function) {
    const std::string symbol = fmt::format("tw_row_{}_{}", isa_.name, functions_++);
    if (function.is_assembly) {
      assembly_ += print_assembly(function.program, symbol, dialect_, "");
    } else {
      c_ += print_c_function(function.program, symbol) + "\n";
      c_symbol_ = symbol;
    }
    declarations_ += fmt::format("void {}(const tw_args* args);\n", symbol);
    table_ += fmt::format("  {{{}, {}, {}, {}, \"{}\", {}}},\n", groups_.size() - 1, counts_.rows,
                          function.is_assembly ? 1 : 0, function.keeps ? 1 : 0, function.operands,
                          symbol);
  }

  std::string table() const {
    std::string features;
    for (const std::string& feature : isa_.features) {
      std::string upper = feature;
      for (char& c : upper) c = static_cast<char>(std::toupper(c));
      features += (features.empty() ? "TW_FEATURE_" : " | TW_FEATURE_") + upper;
    }
    std::string only;
    auto count = [&](int number, const char* what) {
      if (number > 0) only += fmt::format("{}{} {}", only.empty() ? "" : ", ", number, what);
    };
    count(counts_.folded, "of several operations");
    count(counts_.by_other, "whose operation another row prints in C");
    count(counts_.struct_field, "fields of the struct");
    return fmt::format(
        "#include \"rows/row_table.h\"\n\n{}\nconst char tw_row_isa[] = \"{}\";\n"
        "const char tw_row_summary[] = \"{} {}{}, {} C, {} assembly{}\";\n"
        "const tw_features tw_row_features = {};\n"
        "const tw_row_function tw_row_functions[] = {{\n{}  {{0}}}};\n"
        "const size_t tw_row_function_count = {};\n",
        declarations_, isa_.name, counts_.rows, counts_.rows == 1 ? "row" : "rows",
        counts_.elsewhere == 0
            ? ""
            : fmt::format(" beside the {} of tables that it extends", counts_.elsewhere),
        counts_.c, counts_.assembly, only.empty() ? "" : " (assembly only: " + only + ")",
        features.empty() ? "0" : features, table_, functions_);
  }

  const Isa& isa_;
  const std::set<Place> elsewhere_;
  const CFileRules c_rules_;
  const Dialect dialect_;
  std::vector<RowGroup> groups_;
  std::map<int64_t, std::vector<RowGroup>> longer_;  ///< the same with longer vectors, by vl
  std::string c_, c_symbol_, assembly_, table_, declarations_;
  std::vector<std::string> complaints_;
  Counts counts_;
  size_t functions_ = 0;
};

}  // namespace
}  // namespace tw::test

int main(int argc, char** argv) {
  if (argc != 4) {
    std::cerr << "usage: write_rows TEMPLATES ISA OUT\n";
    return 2;
  }
  try {
    tw::IsaLibrary library(argv[1]);
    const tw::Isa& isa = library.get(argv[2]);
    tw::test::TableWriter writer(argv[1], isa, tw::test::rows_of_others(library, isa));
    writer.add_rows();
    writer.write(argv[3]);
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
  return 0;
}
