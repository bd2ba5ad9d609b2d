#include "tuner/report_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tuner/report_plot.h"

namespace tw::tuner {
namespace {

std::string number_cell(const std::string& text) {
  return fmt::format("<td class=\"n\">{}</td>", text.empty() ? "–" : text);
}

/// Two lines, the second one less important.
std::string two_lines(const std::string& first, const std::string& second) {
  return first + (second.empty() ? "" : fmt::format("<br><small>{}</small>", second));
}

std::string tag(const char* text, const char* title) {
  return fmt::format(" <b class=\"tag\" title=\"{}\">{}</b>", title, text);
}

std::string tags(const ReportCandidate& candidate, Mark mark) {
  std::string text;
  if (mark == Mark::winner) text += tag("winner", "what is chosen here");
  if (candidate.evidence.rounds == 0) text += tag("baseline", "what all others compare with");
  if (candidate.evidence.noisy > 0) {
    text += tag("noisy",
                "some of its records: the clock moved, or the thread was interrupted, in over 30 % "
                "of rounds");
  }
  return text;
}

std::string candidate_cell(const ReportCandidate& candidate, const ReportProblem& problem, size_t m,
                           const KernelNames& names, Mark mark) {
  const Configuration& run = candidate.evidence.run;
  return fmt::format("<td class=\"run\">{}</td>",
                     two_lines(names.html(run.kernel) + tags(candidate, mark),
                               escaped(settings_text(run, problem.problem, m))));
}

/// "tie within 2.1 %", or how much longer the other takes.
std::string difference_text(const ReportCandidate& other, const ReportCandidate& winner) {
  const Estimate longer = slower(other, winner);
  if (is_tie(longer)) {
    const double most = std::exp(std::abs(longer.log) + longer.width) - 1;
    return fmt::format("tie within {:.1f} %", most * 100);
  }
  return fmt::format("takes {:.1f} % longer ({:.1f} to {:.1f} %)", std::expm1(longer.log) * 100,
                     std::expm1(longer.log - longer.width) * 100,
                     std::expm1(longer.log + longer.width) * 100);
}

/// Ties other than the one that is named.
size_t further_ties(const ReportCell& cell) {
  size_t ties = 0;
  for (size_t i = 2; i < cell.candidates.size(); ++i) {
    const ReportCandidate& c = cell.candidates[i];
    if (c.has_interval() && is_tie(slower(c, cell.candidates[0]))) ++ties;
  }
  return ties;
}

std::string verdict(const ReportCell& cell) {
  if (!cell.has_choice()) return "no choice: the baseline has no record";
  if (cell.candidates.size() == 1) return "nothing else was measured";
  return cell.baseline == 0 ? "none is surely faster" : "surely faster than the baseline";
}

/// What comes next, and how far behind.
std::string runner_up(const ReportCell& cell, const ReportProblem& problem,
                      const KernelNames& names) {
  if (cell.candidates.size() == 1) return "";
  const ReportCandidate* next = cell.next();
  if (next == nullptr) return "no other has an interval";
  const Configuration& run = next->evidence.run;
  const bool same_kernel = run.kernel == cell.candidates[0].evidence.run.kernel;
  const std::string text = fmt::format(
      "next: {}, {}",
      same_kernel ? escaped(settings_text(run, problem.problem, cell.m)) : names.html(run.kernel),
      difference_text(*next, cell.candidates[0]));
  const size_t ties = further_ties(cell);
  return ties == 0 ? text : text + fmt::format("; {} more tie", ties);
}

double gmacs(const ReportCell& cell, const ReportCandidate& candidate) {
  return candidate.ns > 0 ? cell.macs / candidate.ns : 0;
}

double gbs(const ReportCandidate& candidate) {
  return candidate.ns > 0 ? static_cast<double>(candidate.limits.rhs_bytes) / candidate.ns : 0;
}

double share(const ReportCandidate& candidate) {
  return candidate.ns > 0 ? candidate.least.ns / candidate.ns : 0;
}

std::string limit_text(const LeastTime& least) {
  return least.ns <= 0 ? "" : least.memory ? "memory" : "arithmetic";
}

/// The first ones, and the baseline in any case.
std::vector<size_t> shown(const ReportCell& cell) {
  std::vector<size_t> indices;
  for (size_t i = 0; i < std::min(cell.candidates.size(), kShown); ++i) indices.push_back(i);
  if (cell.baseline != SIZE_MAX && cell.baseline >= kShown) indices.back() = cell.baseline;
  return indices;
}

Mark mark_of(const ReportCell& cell, size_t index) {
  if (index == cell.baseline && index != 0) return Mark::baseline;
  return index == 0 && cell.has_choice() ? Mark::winner : Mark::other;
}

std::string plot_head(const Scale& scale) {
  return "<th scope=\"col\">time / baseline<br>" + plot_axis(scale) + "</th>";
}

/// The same kernel with hot weights, or what else.
std::string compared(const Configuration& streamed, const Configuration& hot) {
  if (identity(streamed) == identity(hot)) return "the same";
  if (streamed.kernel == hot.kernel) return "the same kernel, other settings";
  return streamed.layout == hot.layout ? "another kernel, same layout" : "another layout";
}

}  // namespace

std::string boxed(const std::string& label, const std::string& table) {
  return fmt::format(
      "<div class=\"box\" tabindex=\"0\" role=\"region\" aria-label=\"{}\">{}</div>\n",
      escaped(label), table);
}

const char* regime_text(Regime regime) {
  return regime == Regime::hot ? "in the caches" : "from memory";
}

std::string cell_anchor(const std::string& problem, const ReportCell& cell) {
  return fmt::format("{}m{}{}", problem, cell.m, cell.regime == Regime::hot ? "h" : "s");
}

std::string choice_table(const ReportProblem& problem, const KernelNames& names,
                         const std::string& anchor) {
  std::vector<const ReportCandidate*> winners;
  for (const ReportCell& cell : problem.cells) winners.push_back(&cell.candidates[0]);
  const Scale scale = scale_of(winners);
  std::string table = fmt::format(
      "<table><thead><tr><th scope=\"col\" class=\"n\">rows</th><th scope=\"col\">weights</th>"
      "<th scope=\"col\">choice</th>{}<th scope=\"col\" class=\"n\">time</th><th "
      "scope=\"col\">why</th></tr></thead>\n<tbody>",
      plot_head(scale) + "<th scope=\"col\" class=\"n\">95 % interval</th>");
  for (const ReportCell& cell : problem.cells) {
    const ReportCandidate& winner = cell.candidates[0];
    table += fmt::format(
        "<tr><th scope=\"row\" class=\"n\"><a href=\"#{}\">{}</a></th><td "
        "class=\"w\">{}</td>{}<td>{}</td>"
        "<td class=\"n\">{}</td>{}<td class=\"why\">{}</td></tr>\n",
        cell_anchor(anchor, cell), cell.m, regime_text(cell.regime),
        candidate_cell(winner, problem, cell.m, names, Mark::other),
        plot(scale, winner, mark_of(cell, 0)),
        two_lines(relative_text(relative(winner)), interval_text(winner)),
        number_cell(time_text(winner.ns)),
        two_lines(verdict(cell), runner_up(cell, problem, names)));
  }
  return boxed("Choice", table + "</tbody></table>");
}

std::string regimes_table(const ReportProblem& problem, const KernelNames& names) {
  std::string rows;
  for (size_t i = 0; i + 1 < problem.cells.size(); ++i) {
    const ReportCell &streamed = problem.cells[i], &hot = problem.cells[i + 1];
    if (streamed.m != hot.m) continue;
    const ReportCandidate &a = streamed.candidates[0], &b = hot.candidates[0];
    rows += fmt::format(
        "<tr><th scope=\"row\" class=\"n\">{}</th>{}{}{}{}{}<td>{}</td></tr>\n", streamed.m,
        candidate_cell(a, problem, streamed.m, names, Mark::other), number_cell(time_text(a.ns)),
        candidate_cell(b, problem, hot.m, names, Mark::other), number_cell(time_text(b.ns)),
        number_cell(a.ns > 0 && b.ns > 0 ? percent_text(b.ns / a.ns) : ""),
        compared(a.evidence.run, b.evidence.run));
  }
  if (rows.empty()) return "";
  return "<h4>Weights from memory, and in the caches</h4>\n" +
         boxed("Weights from memory and in the caches",
               "<table><thead><tr><th scope=\"col\" class=\"n\">rows</th><th scope=\"col\">from "
               "memory</th><th scope=\"col\" class=\"n\">time</th><th scope=\"col\">in the "
               "caches</th><th scope=\"col\" class=\"n\">time</th><th scope=\"col\" "
               "class=\"n\">of the other</th><th scope=\"col\">winner in the caches</th></tr>"
               "</thead>\n<tbody>" +
                   rows + "</tbody></table>");
}

std::string rates_table(const ReportProblem& problem) {
  std::string rows;
  for (const ReportCell& cell : problem.cells) {
    const ReportCandidate& winner = cell.candidates[0];
    ReportCandidate none;
    const ReportCandidate& baseline =
        cell.baseline == SIZE_MAX ? none : cell.candidates[cell.baseline];
    rows += fmt::format("<tr><th scope=\"row\" class=\"n\">{}</th><td>{}</td>", cell.m,
                        regime_text(cell.regime));
    rows += number_cell(time_text(winner.ns)) + number_cell(rate_text(gmacs(cell, winner))) +
            number_cell(rate_text(gbs(winner))) + number_cell(time_text(winner.least.ns)) +
            fmt::format("<td>{}</td>", limit_text(winner.least)) +
            number_cell(percent_text(share(winner))) +
            number_cell(rate_text(gmacs(cell, baseline))) +
            number_cell(percent_text(share(baseline))) + "</tr>\n";
  }
  return "<h4>Speed and limits</h4>\n" +
         boxed("Speed and limits",
               "<table><thead><tr><th scope=\"col\" class=\"n\">rows</th><th "
               "scope=\"col\">weights</th><th scope=\"col\" class=\"n\">time</th><th scope=\"col\" "
               "class=\"n\">GMAC/s</th><th scope=\"col\" class=\"n\">GB/s</th><th scope=\"col\" "
               "class=\"n\">limit</th><th scope=\"col\">by</th><th scope=\"col\" "
               "class=\"n\">share</th><th scope=\"col\" class=\"n\">baseline GMAC/s</th><th "
               "scope=\"col\" class=\"n\">share</th></tr></thead>\n<tbody>" +
                   rows + "</tbody></table>");
}

std::string candidates_table(const ReportProblem& problem, const ReportCell& cell,
                             const KernelNames& names) {
  const std::vector<size_t> indices = shown(cell);
  std::vector<const ReportCandidate*> candidates;
  for (const size_t i : indices) candidates.push_back(&cell.candidates[i]);
  const Scale scale = scale_of(candidates);
  std::string rows;
  for (const size_t i : indices) {
    const ReportCandidate& c = cell.candidates[i];
    const Mark mark = mark_of(cell, i);
    rows += fmt::format("<tr{}>{}<td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td></tr>\n",
                        mark == Mark::winner ? " class=\"won\"" : "",
                        candidate_cell(c, problem, cell.m, names, mark), plot(scale, c, mark),
                        two_lines(relative_text(relative(c)), interval_text(c)),
                        two_lines(c.ns > 0 ? time_text(c.ns) : "–", percent_text(share(c))));
  }
  const size_t more = cell.candidates.size() - indices.size();
  if (more > 0) rows += fmt::format("<tr><td colspan=\"4\" class=\"note\">{} more</td></tr>", more);
  return boxed(fmt::format("Candidates, {} rows, weights {}", cell.m, regime_text(cell.regime)),
               fmt::format("<table><thead><tr><th scope=\"col\">candidate</th>{}<th scope=\"col\" "
                           "class=\"n\">95 %<br>interval</th><th scope=\"col\" class=\"n\">time,"
                           "<br>share of limit</th></tr></thead>\n<tbody>{}</tbody></table>",
                           plot_head(scale), rows)) +
         (cell.left_out == 0
              ? ""
              : fmt::format("<p class=\"note\">{} left out: of kernels that failed on this core, "
                            "or compared with another baseline.</p>\n",
                            counted_text(cell.left_out, "record")));
}

}  // namespace tw::tuner
