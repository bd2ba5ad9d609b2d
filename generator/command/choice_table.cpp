#include <fmt/format.h>

#include <compare>
#include <map>

#include "command/tune.h"
#include "tuner/report_text.h"

namespace tw {
namespace {

using nlohmann::json;

std::string tuning(const json& row) {
  if (row.at("n_block").get<size_t>() == 0) return "as planned";
  const auto prefetch = row.at("prefetch").get<size_t>();
  const bool decodes = row.at("decodes").get<std::string>() == "yes";
  return fmt::format("{}x{} {}{}{}", row.at("n_block").get<size_t>(),
                     row.at("m_block").get<size_t>(), row.at("order").get<std::string>(),
                     decodes ? ", decoded first" : "",
                     prefetch == 0 ? "" : fmt::format(", prefetch {}", prefetch));
}

double total(const json& choice, const char* member) {
  double sum = 0;
  for (const json& row : choice.at("rows")) {
    sum += row.at("calls").get<double>() * row.at(member).get<double>();
  }
  return choice.at("count").get<double>() * sum;
}

/// What is run after each other; others are alternatives.
struct Run {
  bool hot;
  std::string core;
  size_t threads;
  auto operator<=>(const Run&) const = default;
};

Run run_of(const json& choice) {
  return {choice.at("hot").get<bool>(), choice.at("core").get<std::string>(),
          choice.at("threads").get<size_t>()};
}

std::string where(const Run& run) {
  return fmt::format("{}{}", run.core.empty() ? "unknown core" : run.core,
                     run.threads == 1 ? "" : fmt::format(", {} threads", run.threads));
}

/// The workload's seconds by the choices, and by the cost model.
std::string totals(const std::vector<json>& choices) {
  std::map<Run, std::pair<double, double>> seconds;
  for (const json& choice : choices) {
    auto& [chosen, planned] = seconds[run_of(choice)];
    chosen += total(choice, "ns") / 1e9;
    planned += total(choice, "baseline_ns") / 1e9;
  }
  std::string text;
  for (const auto& [run, both] : seconds) {
    const auto& [chosen, planned] = both;
    if (chosen == 0) continue;
    text += fmt::format(
        "workload, {}, {}: {:.4g} s; by the cost model alone {:.4g} s, {:.3f} times as long\n",
        where(run), run.hot ? "weights in the caches" : "weights from memory", chosen, planned,
        planned / chosen);
  }
  return text;
}

}  // namespace

std::string choice_table(const std::vector<json>& choices) {
  std::string text;
  for (const json& choice : choices) {
    const auto family = choice.at("family").get<std::string>();
    text += fmt::format("\n{} {}x{}{}, {}, {}, layout {}\n", choice.at("name").get<std::string>(),
                        choice.at("n").get<size_t>(), choice.at("k").get<size_t>(),
                        choice.at("hot").get<bool>() ? ", hot" : "", where(run_of(choice)), family,
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
  return text + "\n" + totals(choices);
}

}  // namespace tw
