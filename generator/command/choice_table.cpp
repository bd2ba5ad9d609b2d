#include <fmt/format.h>

#include <algorithm>

#include "command/tune.h"
#include "tuner/report_text.h"

namespace tw {
namespace {

using nlohmann::json;

std::string tuning(const json& row) {
  if (row.at("n_block").get<size_t>() == 0) return "as planned";
  const auto prefetch = row.at("prefetch").get<size_t>();
  return fmt::format("{}x{} {}{}", row.at("n_block").get<size_t>(), row.at("m_block").get<size_t>(),
                     row.at("order").get<std::string>(),
                     prefetch == 0 ? "" : fmt::format(", prefetch {}", prefetch));
}

double total(const json& choice, const char* member) {
  double sum = 0;
  for (const json& row : choice.at("rows")) {
    sum += row.at("calls").get<double>() * row.at(member).get<double>();
  }
  return choice.at("count").get<double>() * sum;
}

/// Of the streamed or the hot choices: the workload's seconds by them, and by the cost model.
std::string totals(const std::vector<json>& choices, bool hot) {
  double chosen = 0, planned = 0;
  for (const json& choice : choices) {
    if (choice.at("hot").get<bool>() != hot) continue;
    chosen += total(choice, "ns") / 1e9;
    planned += total(choice, "baseline_ns") / 1e9;
  }
  if (chosen == 0) return "";
  return fmt::format(
      "workload, {}: {:.4g} s; by the cost model alone {:.4g} s, {:.3f} times as "
      "long\n",
      hot ? "weights in the caches" : "weights from memory", chosen, planned, planned / chosen);
}

}  // namespace

std::string choice_table(const std::vector<json>& choices) {
  std::string text;
  for (const json& choice : choices) {
    const auto family = choice.at("family").get<std::string>();
    text += fmt::format("\n{} {}x{}{}, {}, layout {}\n", choice.at("name").get<std::string>(),
                        choice.at("n").get<size_t>(), choice.at("k").get<size_t>(),
                        choice.at("hot").get<bool>() ? ", hot" : "", family,
                        choice.at("layout").get<std::string>());
    text += fmt::format("{:>5} {:>10} {:>7}  {:<14} {}\n", "rows", "us", "model/", "from",
                        "kernel, columns x rows of a slice");
    for (const json& row : choice.at("rows")) {
      const double ns = row.at("ns").get<double>();
      text += fmt::format(
          "{:>5} {:>10.1f} {:>7.3f}  {:<14} {}, {}\n", row.at("m").get<size_t>(), ns / 1e3,
          row.at("baseline_ns").get<double>() / ns, row.at("rung").get<std::string>(),
          tuner::short_kernel(row.at("kernel").get<std::string>(), family), tuning(row));
    }
  }
  return text + "\n" + totals(choices, false) + totals(choices, true);
}

}  // namespace tw
