// YAML files as a tree in which every value knows where it stands. A thin layer over yaml-cpp:
// it adds what yaml-cpp lets pass (duplicate keys, unknown keys, wrong types, empty lists) and
// turns every mistake into a SpecError.
#pragma once

#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "model/isa.h"
#include "model/length.h"

namespace tw {

/// A mistake in a file that a person wrote. what() is "file:line:column: message".
struct SpecError : std::runtime_error {
  SpecError(Where where, const std::string& message);
  Where where;
};

/// "unknown KIND 'name'; did you mean 'nearest'? known KINDs: a, b, c"; the question is left out
/// when nothing known is near.
std::string unknown_text(std::string_view kind, std::string_view name,
                         const std::vector<std::string>& known);

/// "16vl", "64", "16+4vl", "vl" as a Length. Throws std::invalid_argument.
Length parse_length(std::string_view text);

/// A value of a YAML file. The typed accessors throw SpecError, at the value, naming its key.
class YamlNode {
 public:
  enum class Type { scalar, list, map };
  struct Entry;

  [[nodiscard]] Type type() const { return type_; }
  [[nodiscard]] bool is_map() const { return type_ == Type::map; }
  [[nodiscard]] bool is_list() const { return type_ == Type::list; }
  [[nodiscard]] const Where& where() const { return where_; }
  /// Key that this value, or the list that it is in, stands under; empty for the whole file.
  [[nodiscard]] const std::string& key() const { return key_; }

  [[nodiscard]] const std::string& text() const;
  [[nodiscard]] int64_t integer() const;
  [[nodiscard]] int64_t positive() const;                 ///< a whole number above 0
  [[nodiscard]] int64_t count_up_to(int64_t most) const;  ///< the same, no more than `most`
  [[nodiscard]] double number() const;
  [[nodiscard]] bool boolean() const;
  [[nodiscard]] Length length() const;
  /// Which of `known` the text is; each is a KIND, which is what messages call it.
  size_t choice(std::string_view kind, const std::vector<std::string>& known) const;

  /// A list, which must not be empty unless `may_be_empty`.
  [[nodiscard]] const std::vector<YamlNode>& items(bool may_be_empty = false) const;
  /// A list, or a value that stands for a list of one.
  [[nodiscard]] std::vector<const YamlNode*> one_or_more() const;
  /// One text or a (possibly empty) list of them.
  [[nodiscard]] std::vector<std::string> texts() const;

  /// The pairs of a map in the file's order.
  [[nodiscard]] const std::vector<Entry>& entries() const;
  /// Null if the map has no such key.
  [[nodiscard]] const YamlNode* find(std::string_view key) const;
  /// The value of a key that must be there.
  [[nodiscard]] const YamlNode& at(std::string_view key) const;
  /// Throws at the first key that is not known.
  void expect_keys(std::initializer_list<std::string_view> known) const;

  [[noreturn]] void fail(const std::string& message) const;
  /// f(); what it throws as std::invalid_argument, for some other reader of this value, is a
  /// SpecError here.
  template <typename F>
  auto checked(F&& f) const {
    try {
      return f();
    } catch (const std::invalid_argument& error) {
      fail(error.what());
    }
  }

 private:
  friend class TreeBuilder;
  [[noreturn]] void wrong_type(std::string_view wanted) const;

  Type type_ = Type::scalar;
  bool is_null_ = false;
  Where where_;
  std::string key_;
  std::string text_;
  std::vector<YamlNode> items_;
  std::vector<Entry> entries_;
};

struct YamlNode::Entry {
  std::string key;
  Where where;  ///< of the key
  YamlNode value;
};

/// The one of `values` with the name that the node is; each is a KIND.
template <typename Values>
auto read_named(const YamlNode& node, std::string_view kind, const Values& values) {
  std::vector<std::string> names;
  for (const auto value : values) names.emplace_back(name(value));
  return values[node.choice(kind, names)];
}

/// The only document of a file, which must be a map. Throws SpecError.
YamlNode read_yaml(const std::filesystem::path& file);
/// Likewise of a text; errors call it `file`.
YamlNode parse_yaml(const std::string& text, const std::string& file);

}  // namespace tw
