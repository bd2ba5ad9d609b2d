// Messages about words that nobody knows, and the spelling of lengths.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "model/reject.h"
#include "spec/number.h"
#include "spec/yaml_reader.h"

namespace tw {
namespace {

/// Insertions, deletions, replacements and swaps of neighbours that turn `a` into `b`.
size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<size_t>> d(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
  for (size_t j = 0; j <= b.size(); ++j) d[0][j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = d[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, replaced});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
      }
    }
  }
  return d[a.size()][b.size()];
}

/// The known word that is most like `name`, empty when none is near.
std::string nearest(std::string_view name, const std::vector<std::string>& known) {
  constexpr size_t longest = 64;  // nothing known is longer; keeps hostile input cheap
  if (name.size() < 2 || name.size() > longest) return "";
  std::string best;
  size_t best_distance = longest;
  for (const std::string& word : known) {
    const size_t distance = edit_distance(name, word);
    const size_t still_near = std::max<size_t>(1, std::max(name.size(), word.size()) / 3);
    if (distance <= still_near && distance < best_distance) {
      best = word;
      best_distance = distance;
    }
  }
  return best;
}

}  // namespace

std::string unknown_text(std::string_view kind, std::string_view name,
                         const std::vector<std::string>& known) {
  const std::string near = nearest(name, known);
  return fmt::format("unknown {} '{}'; {}known {}s: {}", kind, name,
                     near.empty() ? "" : fmt::format("did you mean '{}'? ", near), kind,
                     fmt::join(known, ", "));
}

Length parse_length(std::string_view text) {
  Length sum;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find('+', begin), text.size());
    std::string_view term = text.substr(begin, end - begin);
    int64_t Length::*part = &Length::fixed;
    if (term.ends_with("svl")) {
      part = &Length::svl;
      term.remove_suffix(3);
    } else if (term.ends_with("vl")) {
      part = &Length::vl;
      term.remove_suffix(2);
    }
    int64_t value = 1;
    const bool bare_symbol = term.empty() && part != &Length::fixed;
    constexpr int64_t limit = int64_t{1} << 40;  // sums and products stay far from overflow
    if (!bare_symbol &&
        (!parse_integer(term, value) || std::abs(value) > limit || std::abs(sum.*part) > limit)) {
      reject("'{}' is not a length", text);
    }
    sum.*part += value;
    begin = end + 1;
  }
  return sum;
}

}  // namespace tw
