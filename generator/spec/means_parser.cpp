#include "spec/means_parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>

#include "model/reject.h"
#include "spec/number.h"
#include "spec/yaml_reader.h"

namespace tw {
namespace {

class Parser {
 public:
  explicit Parser(const std::string& text) : text_(text) {}

  Means parse() {
    do {
      statement();
    } while (take(';') && !at_end());
    if (!at_end()) fail("expected ';' or the end");
    // Results first, as Row::operands wants them.
    std::stable_partition(means_.operands.begin(), means_.operands.end(),
                          [](const Operand& operand) { return operand.is_result; });
    return std::move(means_);
  }

 private:
  /// A number, or a name with a number added.
  struct Attribute {
    std::string name;
    Length value;
  };

  [[noreturn]] void fail(const std::string& message) const { fail_at(at_, message); }
  [[noreturn]] static void fail_at(size_t at, const std::string& message) {
    reject("column {}: {}", at + 1, message);
  }

  void skip_space() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
  }
  bool at_end() {
    skip_space();
    return at_ == text_.size();
  }
  bool take(char c) {
    if (at_end() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!take(c)) fail(fmt::format("expected '{}'", c));
  }
  static bool in_word(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
  }
  /// Letters, digits and underscores; empty if there are none here.
  std::string word() {
    skip_space();
    const size_t begin = at_;
    while (at_ < text_.size() && in_word(text_[at_])) ++at_;
    return text_.substr(begin, at_ - begin);
  }
  std::string name() {
    skip_space();
    const size_t begin = at_;
    std::string found = word();
    if (found.empty() || std::isdigit(static_cast<unsigned char>(found[0])) != 0) {
      fail_at(begin, "expected a name");
    }
    return found;
  }

  void statement() {
    skip_space();
    const size_t begin = at_;
    std::string first = name();
    if (!take('=')) {
      at_ = begin;
      const int node = call();
      if (info(means_.nodes[static_cast<size_t>(node)].code).result != '-') {
        fail_at(begin, "the result is lost; write 'name = ...'");
      }
      return;
    }
    skip_space();
    const size_t call_begin = at_;
    const int node = call();
    MeansNode& made = means_.nodes[static_cast<size_t>(node)];
    const OpInfo& operation = info(made.code);
    if (operation.result == '-') {
      fail_at(call_begin, fmt::format("{} has no result", operation.name));
    }
    if (operand(first) != nullptr) {
      fail_at(begin, fmt::format("'{}' has a meaning already; a result needs a name of its own "
                                 "(and `tied` where it shares a register)",
                                 first));
    }
    if (is_immediate(first)) fail_at(begin, fmt::format("'{}' is an immediate", first));
    made.result = first;
    defined_[first] = node;
    means_.operands.push_back({first, kind_of(operation.result), true, "", {}, "", false, "", ""});
  }

  int call() {
    skip_space();
    const size_t begin = at_;
    // Before its arguments are read, so that nested calls are counted, too.
    constexpr int most_calls = 64;
    if (++calls_ > most_calls) {
      fail(fmt::format("an instruction means at most {} operations", most_calls));
    }
    const std::string operation = name();
    const std::optional<OpCode> code = find_operation(operation);
    if (!code) fail_at(begin, unknown_text("operation", operation, operation_names()));
    const OpInfo& known = info(*code);
    MeansNode node;
    node.code = *code;
    bits(node, known);
    bool has_imm = false;
    arguments(node, known, begin, has_imm);
    if (known.has('i') && !has_imm) {
      fail_at(begin, fmt::format("{} needs an immediate, '#number' or '#name'", known.name));
    }
    offset(node, known);
    means_.nodes.push_back(std::move(node));
    return static_cast<int>(means_.nodes.size()) - 1;
  }

  void bits(MeansNode& node, const OpInfo& known) {
    const bool given = take('.');
    if (given && !known.has('b')) fail(fmt::format("{} has no lane width", known.name));
    if (!given && known.has('b')) {
      fail(fmt::format("{0} needs a lane width, as in {0}.32", known.name));
    }
    if (!given) return;
    skip_space();
    const size_t begin = at_;
    int64_t value = 0;
    if (!parse_integer(word(), value) || value < 1 || value > 2048) {
      fail_at(begin, "expected a lane width in bits");
    }
    node.bits = static_cast<int>(value);
  }

  void arguments(MeansNode& node, const OpInfo& known, size_t begin, bool& has_imm) {
    expect('(');
    if (!take(')')) {
      do {
        if (take('#')) {
          if (!known.has('i')) fail(fmt::format("{} has no immediate", known.name));
          if (has_imm) fail(fmt::format("{} has only one immediate", known.name));
          has_imm = true;
          const Attribute imm = attribute();
          if (!imm.value.is_fixed()) fail("an immediate must be a plain number");
          node.imm = imm.value.fixed;
          node.imm_name = imm.name;
        } else {
          argument(node, known);
        }
      } while (take(','));
      expect(')');
    }
    if (node.args.size() != known.args.size()) {
      fail_at(begin, fmt::format("{} takes {} arguments, not {}", known.name, known.args.size(),
                                 node.args.size()));
    }
  }

  void argument(MeansNode& node, const OpInfo& known) {
    skip_space();
    const size_t begin = at_;
    if (node.args.size() == known.args.size()) {
      fail(fmt::format("{} takes {} arguments, here is one more", known.name, known.args.size()));
    }
    const Kind wanted = kind_of(known.args[node.args.size()]);
    const std::string found = name();
    skip_space();
    MeansArg arg;
    if (at_ < text_.size() && (text_[at_] == '(' || text_[at_] == '.')) {
      at_ = begin;
      arg.node = call();
      const OpInfo& inner = info(means_.nodes[static_cast<size_t>(arg.node)].code);
      if (inner.result == '-') fail_at(begin, fmt::format("{} has no result", inner.name));
      expect_kind(kind_of(inner.result), wanted, inner.name, known, begin);
    } else if (const auto defined = defined_.find(found); defined != defined_.end()) {
      arg.node = defined->second;
      expect_kind(operand(found)->kind, wanted, found, known, begin);
    } else {
      arg.operand = found;
      if (is_immediate(found)) fail_at(begin, fmt::format("'{}' is an immediate", found));
      if (const Operand* before = operand(found)) {
        expect_kind(before->kind, wanted, found, known, begin);
      } else {
        means_.operands.push_back({found, wanted, false, "", {}, "", false, "", ""});
      }
    }
    node.args.push_back(std::move(arg));
  }

  static void expect_kind(Kind found, Kind wanted, std::string_view what, const OpInfo& operation,
                          size_t at) {
    if (found == wanted) return;
    fail_at(at, fmt::format("{} wants a {} here, '{}' is a {}", operation.name, tw::name(wanted),
                            what, tw::name(found)));
  }

  void offset(MeansNode& node, const OpInfo& known) {
    if (!take('[')) return;
    if (!known.has('o')) fail(fmt::format("{} has no offset", known.name));
    const Attribute found = attribute();
    node.offset = found.value;
    node.offset_name = found.name;
    expect(']');
  }

  Attribute attribute() {
    skip_space();
    Attribute result;
    int64_t sign = take('-') ? -1 : 1;
    skip_space();
    const size_t begin = at_;
    if (sign == 1 && at_ < text_.size() &&
        std::isdigit(static_cast<unsigned char>(text_[at_])) == 0) {
      result.name = name();
      note_immediate(result.name, begin);
      if (take('-')) {
        sign = -1;
      } else if (!take('+')) {
        return result;
      }
    }
    skip_space();
    const size_t number = at_;
    std::string text = word();
    while (take('+')) text += '+' + word();
    try {
      result.value = parse_length(text) * sign;
    } catch (const std::invalid_argument&) {
      fail_at(number, "expected a number or a length such as 16vl");
    }
    return result;
  }

  void note_immediate(const std::string& found, size_t at) {
    if (operand(found) != nullptr) {
      fail_at(at, fmt::format("'{}' is an operand, not an immediate", found));
    }
    if (!is_immediate(found)) means_.immediates.push_back(found);
  }
  [[nodiscard]] bool is_immediate(const std::string& found) const {
    return std::find(means_.immediates.begin(), means_.immediates.end(), found) !=
           means_.immediates.end();
  }
  [[nodiscard]] const Operand* operand(const std::string& found) const {
    for (const Operand& known : means_.operands) {
      if (known.name == found) return &known;
    }
    return nullptr;
  }

  const std::string& text_;
  size_t at_ = 0;
  int calls_ = 0;
  Means means_;
  std::map<std::string, int> defined_;  ///< result names of finished statements -> node
};

}  // namespace

Means parse_means(const std::string& text) {
  return Parser(text).parse();
}

}  // namespace tw
