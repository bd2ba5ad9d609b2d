// Where values lie, as rows of the registry: what the runtime unpacks weights by.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "model/sources.h"

namespace tw {

/// "TW_F16", "TW_S4": integers are called as C calls them.
std::string type_name(ElementType type);

class AxisRows {
 public:
  /// Initializers of a tw_axes. Throws std::invalid_argument unless each value has a place of its
  /// own.
  std::string layout(const Layout& layout);
  std::string source(const Source& source);
  /// The lists of axes and the tables that they point to.
  [[nodiscard]] std::string lists() const;

 private:
  std::string field(const FieldAxes& field, int factor);
  std::string list(const std::vector<Axis>& axes);
  std::string table(const CodeTable* codes);
  std::map<std::string, size_t> numbers_;  ///< of lists, by their rows
  struct ByName {
    bool operator()(const CodeTable* a, const CodeTable* b) const { return a->name < b->name; }
  };
  std::set<const CodeTable*, ByName> tables_;
};

}  // namespace tw
