#include "spec/workload_writer.h"

#include <fmt/format.h>

#include <set>

namespace tw {
namespace {

constexpr size_t longest_text = 200;

/// What may stand between double quotes, and in a comment.
std::string plain(std::string text) {
  if (text.size() > longest_text) text = text.substr(0, longest_text) + "...";
  for (char& c : text) {
    if (c < ' ' || c > '~' || c == '"' || c == '\\') c = '?';
  }
  return text;
}

std::string matmul_text(const Matmul& matmul, const std::string& name) {
  std::string text = fmt::format("  - {{name: \"{}\", family: {}, n: {}, k: {}, count: {}", name,
                                 matmul.family, matmul.n, matmul.k, matmul.count);
  if (matmul.block != 0)
    text += fmt::format(", block: {}, scales: {}", matmul.block, matmul.scales);
  if (matmul.regime == Regime::hot) text += ", regime: hot";
  return text + "}\n";
}

}  // namespace

std::string workload_text(const Workload& workload, const std::vector<std::string>& remarks) {
  std::string text;
  for (const std::string& remark : remarks) text += fmt::format("# {}\n", plain(remark));
  text += fmt::format("workload: \"{}\"\n", plain(workload.name));
  if (!workload.about.empty()) text += fmt::format("about: \"{}\"\n", plain(workload.about));
  text += "matmuls:\n";
  std::set<std::string> names;
  for (const Matmul& matmul : workload.matmuls) {
    std::string name = plain(matmul.name);
    for (int i = 2; !names.insert(name).second; ++i) {
      name = fmt::format("{} {}", plain(matmul.name), i);
    }
    text += matmul_text(matmul, name);
  }
  std::vector<std::string> rows;
  for (const Rows& row : workload.rows) {
    rows.push_back(row.calls == 1 ? std::to_string(row.m)
                                  : fmt::format("{{m: {}, calls: {}}}", row.m, row.calls));
  }
  return text + fmt::format("m: [{}]\n", fmt::join(rows, ", "));
}

}  // namespace tw
