#include "tuner/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "tuner/report_core.h"
#include "tuner/report_regret.h"
#include "tuner/report_roofline.h"
#include "tuner/report_style.h"
#include "tuner/report_tables.h"

namespace tw::tuner {
namespace {

KernelNames names_of(const std::vector<Record>& records) {
  KernelNames names;
  for (const Record& r : records) names.add(r.ran.kernel, r.problem.family);
  return names;
}

std::string sources_text(const std::vector<ReportSource>& sources) {
  std::string text;
  for (const ReportSource& s : sources) {
    text += fmt::format("<p>{}: {}", escaped(s.name), counted_text(s.records, "record"));
    if (s.bad > 0) {
      text += fmt::format(
          ", <span class=\"bad\">{} left out</span> (<code>tilewright records check</code> says "
          "what is wrong)",
          counted_text(s.bad, "damaged line"));
    }
    text += "</p>\n";
  }
  return text;
}

std::string contents(const std::vector<ReportCore>& cores) {
  std::string items;
  size_t count = 0;
  for (size_t c = 0; c < cores.size(); ++c) {
    for (size_t p = 0; p < cores[c].problems.size(); ++p, ++count) {
      const ReportProblem& problem = cores[c].problems[p];
      items += fmt::format("<li><a href=\"#c{}p{}\">{}{}</a>, <code>{}</code></li>\n", c, p,
                           cores.size() > 1 ? escaped(cores[c].core.name) + ": " : "",
                           escaped(shape_text(problem.problem, problem.threads)),
                           escaped(problem.problem.family));
    }
  }
  return count < 2 ? "" : "<nav aria-label=\"Problems\"><ul>\n" + items + "</ul></nav>\n";
}

/// Winners that read unlike layouts cannot all run: weights are packed once.
std::string layouts_note(const ReportProblem& problem) {
  std::set<uint64_t> layouts;
  for (const ReportCell& cell : problem.cells) {
    layouts.insert(cell.candidates[0].evidence.run.layout);
  }
  if (layouts.size() < 2) return "";
  return fmt::format(
      "<p class=\"note\">These winners read {} layouts of packed weights. Weights are packed once, "
      "so what runs is the best of one layout: the one with the least time over a workload.</p>\n",
      layouts.size());
}

/// Streamed and hot beside each other.
std::string candidates(const ReportProblem& problem, const KernelNames& names,
                       const std::string& anchor) {
  std::map<size_t, std::vector<const ReportCell*>> by_rows;
  for (const ReportCell& cell : problem.cells) by_rows[cell.m].push_back(&cell);
  std::string html = "<h4>Candidates</h4>\n";
  for (const auto& [m, cells] : by_rows) {
    std::string tables, counts;
    for (const ReportCell* cell : cells) {
      counts += fmt::format("{}{} with weights {}", counts.empty() ? "" : ", ",
                            cell->candidates.size(), regime_text(cell->regime));
      tables +=
          fmt::format("<div id=\"{}\"><h5>weights {}</h5>{}</div>\n", cell_anchor(anchor, *cell),
                      regime_text(cell->regime), candidates_table(problem, *cell, names));
    }
    html += fmt::format(
        "<details><summary>{} <small>{}</small></summary><div class=\"pair\">{}</div></details>\n",
        counted_text(m, "row"), counts, tables);
  }
  return html;
}

std::string problem_section(const ReportProblem& problem, const KernelNames& names,
                            const std::string& anchor) {
  return fmt::format(
      "<section id=\"{}\"><h3>{}</h3>\n<p class=\"family\"><code>{}</code></p>\n"
      "<h4>Choice</h4>\n{}{}{}{}{}</section>\n",
      anchor, escaped(shape_text(problem.problem, problem.threads)),
      escaped(problem.problem.family), choice_table(problem, names, anchor), layouts_note(problem),
      regimes_table(problem, names), rates_table(problem), candidates(problem, names, anchor));
}

std::string core_section(const ReportCore& core, const KernelNames& names, size_t number) {
  std::string html = fmt::format("<section><h2>{}</h2>\n",
                                 core.core.name.empty() ? "unknown core" : escaped(core.core.name));
  html += core_facts(core) + failures_table(core, names) + "<h3>Roofline</h3>\n" + roofline(core);
  for (size_t p = 0; p < core.problems.size(); ++p) {
    html += problem_section(core.problems[p], names, fmt::format("c{}p{}", number, p));
  }
  return html + "</section>\n";
}

constexpr const char* kHowToRead =
    "<p class=\"note\">The baseline is what would run without any records. Times of different "
    "runs are never compared, only ratios from rounds that ran a candidate and the baseline by "
    "turns: a time is the baseline's median by that ratio. The winner is the candidate whose "
    "interval proves most, or the baseline where none is surely faster; another layout than the "
    "baseline's must be worth 1 %. A tie says how far apart "
    "two can be at most. Candidates of fewer than 6 rounds have no interval: they fell behind, or "
    "time was up. The limit is the longer of multiply-adds at the core's peak and, where weights "
    "come from memory, packed weights at its reading speed.</p>\n";

}  // namespace

std::string report_page(const std::vector<Record>& records,
                        const std::vector<ReportSource>& sources,
                        const std::vector<RungRegret>& rungs) {
  const std::vector<ReportCore> cores = report_model(records);
  const KernelNames names = names_of(records);
  std::string html = fmt::format(
      "{}\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
      "<title>tilewright report</title>\n<style>{}</style></head>\n<body>\n"
      "<header><h1>tilewright report</h1>\n{}</header>\n<main>\n",
      kReportHead, kReportStyle, sources_text(sources));
  if (records.empty()) {
    html +=
        "<p><strong>There are no records.</strong> <code>tilewright tune</code> makes "
        "some.</p>\n";
  } else {
    html += kHowToRead + contents(cores);
  }
  for (size_t c = 0; c < cores.size(); ++c) html += core_section(cores[c], names, c);
  if (!records.empty()) html += regret_section(rungs, names) + kernels_table(cores);
  return html + "</main></body></html>\n";
}

}  // namespace tw::tuner
