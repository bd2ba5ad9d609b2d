#include "tuner/report_regret.h"

#include <fmt/format.h>

#include <algorithm>

#include "tuner/report_tables.h"

namespace tw::tuner {
namespace {

std::string row(const RungRegret& rung, const KernelNames& names) {
  std::string numbers = "<td class=\"n\"></td><td class=\"n\"></td><td></td>";
  if (!rung.cells.empty()) {
    const Regret& worst = rung.worst();
    std::string where;
    if (worst.ratio > 1) {
      where = fmt::format("{}: {} instead of {}<br><small>{}, {}</small>",
                          escaped(cell_text(worst)), names.html(worst.kernel),
                          worst.kernel == worst.best ? "other settings" : names.html(worst.best),
                          escaped(worst.core.name), escaped(worst.problem.family));
    }
    numbers = fmt::format("<td class=\"n\">{:.3f}</td><td class=\"n\">{:.3f}</td><td>{}</td>",
                          rung.median(), worst.ratio, where);
  }
  return fmt::format("<tr><th scope=\"row\">{}</th><td class=\"n\">{}</td>{}</tr>\n",
                     name(rung.rung), rung.cells.size(), numbers);
}

}  // namespace

std::string regret_section(const std::vector<RungRegret>& rungs, const KernelNames& names) {
  const bool any = std::any_of(rungs.begin(), rungs.end(),
                               [](const RungRegret& rung) { return !rung.cells.empty(); });
  if (!any) return "";
  std::string rows;
  for (const RungRegret& rung : rungs) rows += row(rung, names);
  return "<section><h2>Choosing without records</h2>\n<p class=\"note\">What each rung of choosing "
         "would take, of the kernels measured there and with the plan's settings, if the problem "
         "had "
         "never been measured (same core, fitted model) or no core of that kind had (same type, "
         "same "
         "pipes, ISA default): its time / the least time that was measured. The cost model is what "
         "the plan does by itself.</p>\n" +
         boxed(
             "Choosing without records",
             "<table><thead><tr><th scope=\"col\">rung</th><th scope=\"col\" class=\"n\">cells</th>"
             "<th scope=\"col\" class=\"n\">median</th><th scope=\"col\" class=\"n\">worst</th><th "
             "scope=\"col\">worst where</th></tr></thead>\n<tbody>" +
                 rows + "</tbody></table>") +
         "</section>\n";
}

}  // namespace tw::tuner
