#include "spec/yaml_reader.h"

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <fstream>
#include <map>
#include <sstream>

#include "spec/number.h"

namespace tw {

namespace {

// Far above what people write; keeps hostile files from taking all time, memory or stack.
constexpr size_t most_bytes = size_t{256} << 10;
constexpr size_t most_levels = 32;

/// Messages quote the file, which may hold anything: one line, and the middle of a long one cut.
std::string one_line(std::string message) {
  constexpr size_t longest = 4000;
  if (message.size() > longest) {
    message.replace(longest / 2, message.size() - longest, " ... ");
  }
  for (char& c : message) {
    if (std::iscntrl(static_cast<unsigned char>(c)) != 0) c = '?';
  }
  return message;
}

}  // namespace

SpecError::SpecError(Where w, const std::string& message)
    : std::runtime_error(to_string(w) + ": " + one_line(message)), where(std::move(w)) {}

/// Builds the tree from yaml-cpp's events, which (unlike its nodes) know keys, aliases and
/// quotes apart.
class TreeBuilder : public YAML::EventHandler {
 public:
  explicit TreeBuilder(std::string file) : file_(std::move(file)) {}

  YamlNode root;

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t) override {
    YamlNode node = make(YamlNode::Type::scalar, mark);
    node.is_null_ = true;
    // The mark of an absent value is wherever the next token is; the key says it better.
    if (wants_value()) node.where_ = open_.back().key_where;
    add(std::move(node));
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    throw SpecError(at(mark), "aliases (*name) are not supported; write the value again");
  }
  void OnScalar(const YAML::Mark& mark, const std::string&, YAML::anchor_t,
                const std::string& value) override {
    YamlNode node = make(YamlNode::Type::scalar, mark);
    node.text_ = value;
    add(std::move(node));
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {
    open(make(YamlNode::Type::list, mark));
  }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {
    open(make(YamlNode::Type::map, mark));
  }
  void OnSequenceEnd() override { close(); }
  void OnMapEnd() override { close(); }

 private:
  [[nodiscard]] Where at(const YAML::Mark& mark) const {
    return {file_, mark.line + 1, mark.column + 1};
  }
  /// True between a map's key and its value.
  [[nodiscard]] bool wants_value() const {
    return !open_.empty() && open_.back().node.is_map() && open_.back().has_key;
  }
  [[nodiscard]] YamlNode make(YamlNode::Type type, const YAML::Mark& mark) const {
    YamlNode node;
    node.type_ = type;
    node.where_ = at(mark);
    if (!open_.empty()) node.key_ = wants_value() ? open_.back().key : open_.back().node.key_;
    return node;
  }
  void open(YamlNode node) {
    if (!open_.empty() && open_.back().node.is_map() && !open_.back().has_key) {
      throw SpecError(node.where_, "a key must be a text");
    }
    if (open_.size() == most_levels) {
      throw SpecError(node.where_,
                      fmt::format("lists and maps in one another: {} levels are legal, here is one "
                                  "more",
                                  most_levels));
    }
    open_.emplace_back().node = std::move(node);
  }
  void close() {
    YamlNode node = std::move(open_.back().node);
    open_.pop_back();
    add(std::move(node));
  }
  void add(YamlNode node) {
    if (open_.empty()) {
      root = std::move(node);
      return;
    }
    Level& level = open_.back();
    if (level.node.is_list()) {
      level.node.items_.push_back(std::move(node));
    } else if (!level.has_key) {
      const auto [first, is_new] = level.keys.emplace(node.text_, node.where_);
      if (!is_new) {
        throw SpecError(node.where_, fmt::format("duplicate key '{}'; first at {}:{}", node.text_,
                                                 first->second.line, first->second.column));
      }
      level.key = node.text_;
      level.key_where = node.where_;
      level.has_key = true;
    } else {
      level.node.entries_.push_back({level.key, level.key_where, std::move(node)});
      level.has_key = false;
    }
  }

  /// A list or map that is open.
  struct Level {
    YamlNode node;
    std::map<std::string, Where> keys;  ///< so far
    bool has_key = false;               ///< one whose value comes next
    std::string key;
    Where key_where;
  };
  std::string file_;
  std::vector<Level> open_;
};

void YamlNode::fail(const std::string& message) const {
  throw SpecError(where_, message);
}

void YamlNode::wrong_type(std::string_view wanted) const {
  const std::string subject = key_.empty() ? "the file" : fmt::format("'{}'", key_);
  const std::string found = is_map()    ? "a map"
                            : is_list() ? "a list"
                            : is_null_  ? "nothing"
                                        : fmt::format("'{}'", text_);
  fail(fmt::format("{} must be {}, found {}", subject, wanted, found));
}

const std::string& YamlNode::text() const {
  if (type_ != Type::scalar || is_null_) wrong_type("a text");
  return text_;
}

int64_t YamlNode::integer() const {
  int64_t value = 0;
  if (type_ != Type::scalar || !parse_integer(text_, value)) wrong_type("a whole number");
  return value;
}

int64_t YamlNode::positive() const {
  int64_t value = 0;
  if (type_ != Type::scalar || !parse_integer(text_, value) || value <= 0) {
    wrong_type("a whole number above 0");
  }
  return value;
}

int64_t YamlNode::count_up_to(int64_t most) const {
  const int64_t value = positive();
  if (value > most) fail(fmt::format("'{}' must be at most {}", key_, most));
  return value;
}

double YamlNode::number() const {
  double value = 0;
  const char* end = text_.data() + text_.size();
  const auto [rest, error] = std::from_chars(text_.data(), end, value);
  if (type_ != Type::scalar || text_.empty() || error != std::errc{} || rest != end ||
      !std::isfinite(value)) {
    wrong_type("a number");
  }
  return value;
}

bool YamlNode::boolean() const {
  if (type_ != Type::scalar || (text_ != "true" && text_ != "false")) wrong_type("true or false");
  return text_ == "true";
}

Length YamlNode::length() const {
  constexpr std::string_view wanted = "a length such as 8, 4vl or 16+4vl";
  if (type_ != Type::scalar) wrong_type(wanted);
  try {
    return parse_length(text_);
  } catch (const std::invalid_argument&) {
    wrong_type(wanted);
  }
}

size_t YamlNode::choice(std::string_view kind, const std::vector<std::string>& known) const {
  const auto found = std::find(known.begin(), known.end(), text());
  if (found == known.end()) fail(unknown_text(kind, text(), known));
  return static_cast<size_t>(found - known.begin());
}

const std::vector<YamlNode>& YamlNode::items(bool may_be_empty) const {
  if (type_ != Type::list) wrong_type("a list");
  if (items_.empty() && !may_be_empty) fail(fmt::format("'{}' is an empty list", key_));
  return items_;
}

std::vector<const YamlNode*> YamlNode::one_or_more() const {
  if (type_ != Type::list) return {this};
  std::vector<const YamlNode*> result;
  for (const YamlNode& item : items()) result.push_back(&item);
  return result;
}

std::vector<std::string> YamlNode::texts() const {
  if (type_ == Type::scalar) return {text()};
  std::vector<std::string> result;
  for (const YamlNode& item : items(true)) result.push_back(item.text());
  return result;
}

const std::vector<YamlNode::Entry>& YamlNode::entries() const {
  if (type_ != Type::map) wrong_type("a map");
  return entries_;
}

const YamlNode* YamlNode::find(std::string_view key) const {
  for (const Entry& entry : entries()) {
    if (entry.key == key) return &entry.value;
  }
  return nullptr;
}

const YamlNode& YamlNode::at(std::string_view key) const {
  const YamlNode* value = find(key);
  if (value == nullptr) {
    fail(key_.empty() ? fmt::format("key '{}' is missing", key)
                      : fmt::format("key '{}' is missing in '{}'", key, key_));
  }
  return *value;
}

void YamlNode::expect_keys(std::initializer_list<std::string_view> known) const {
  for (const Entry& entry : entries()) {
    if (std::find(known.begin(), known.end(), entry.key) == known.end()) {
      throw SpecError(
          entry.where,
          unknown_text("key", entry.key, std::vector<std::string>(known.begin(), known.end())));
    }
  }
}

namespace {

std::string read_text(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  if (!stream || std::filesystem::is_directory(file)) {
    throw SpecError({file.string(), 1, 1}, "the file cannot be read");
  }
  std::string text(most_bytes + 1, '\0');
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<size_t>(stream.gcount()));
  if (text.size() > most_bytes) {
    throw SpecError({file.string(), 1, 1},
                    fmt::format("the file is too long: {} bytes are legal", most_bytes));
  }
  // yaml-cpp takes a quote that is never closed for closed when the file ends in a line break.
  text.erase(text.find_last_not_of(" \t\r\n") + 1);
  return text;
}

}  // namespace

YamlNode read_yaml(const std::filesystem::path& file) {
  return parse_yaml(read_text(file), file.string());
}

YamlNode parse_yaml(const std::string& text, const std::string& file) {
  std::istringstream stream(text);
  TreeBuilder builder(file);
  try {
    YAML::Parser parser(stream);
    if (!parser.HandleNextDocument(builder)) {
      throw SpecError({file, 1, 1}, "the file is empty");
    }
    TreeBuilder second(file);
    if (parser.HandleNextDocument(second)) {
      second.root.fail("the file has a second document; one is legal");
    }
  } catch (const YAML::Exception& error) {
    // The mark of an error of no place in particular is negative.
    throw SpecError({file, std::max(error.mark.line, 0) + 1, std::max(error.mark.column, 0) + 1},
                    "not valid YAML: " + error.msg);
  }
  (void)builder.root.entries();
  return std::move(builder.root);
}

}  // namespace tw
