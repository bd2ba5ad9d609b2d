#include "tuner/report_core.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "tuner/report_tables.h"

namespace tw::tuner {
namespace {

std::string fact(const char* what, const std::string& value) {
  return fmt::format("<div><dt>{}</dt><dd>{}</dd></div>\n", what,
                     value.empty() ? "unknown" : escaped(value));
}

std::string joined(const std::set<std::string>& texts) {
  return fmt::format("{}", fmt::join(texts, ", "));
}

std::string id_text(const Core& core) {
  if (core.midr != 0) return fmt::format("MIDR 0x{:x}", core.midr);
  if (core.family == 0) return "";
  return fmt::format("family {}, model {}, stepping {}", core.family, core.model, core.stepping);
}

std::string clock_text(const ReportCore& core) {
  double least = 0, most = 0;
  for (const Record* r : core.records) {
    if (r->ghz <= 0) continue;
    least = least == 0 ? r->ghz : std::min(least, r->ghz);
    most = std::max(most, r->ghz);
  }
  std::string text;
  if (most > 0) {
    text = most - least < 0.005 ? fmt::format("{:.2f} GHz while measuring", most)
                                : fmt::format("{:.2f} to {:.2f} GHz while measuring", least, most);
  }
  if (core.core.mhz == 0) return text;
  return text + fmt::format("{}{} MHz at most", text.empty() ? "" : ", ", core.core.mhz);
}

std::string caches_text(const Core& core) {
  std::string text;
  const std::pair<const char*, size_t> caches[] = {
      {"L1", core.l1}, {"L2", core.l2}, {"L3", core.l3}};
  for (const auto& [level, bytes] : caches) {
    if (bytes == 0) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", level, bytes_text(bytes));
  }
  return text;
}

std::string limits_text(const ReportCore& core) {
  std::string text;
  for (const auto& [isa, gmacs] : core.peaks) text += fmt::format("{} {:.1f} GMAC/s, ", isa, gmacs);
  if (core.read_gbs > 0) text += fmt::format("memory {:.1f} GB/s, ", core.read_gbs);
  return text.substr(0, text.empty() ? 0 : text.size() - 2);
}

std::string when_text(const ReportCore& core) {
  const auto [first, last] =
      std::minmax_element(core.records.begin(), core.records.end(),
                          [](const Record* a, const Record* b) { return a->time < b->time; });
  return (*first)->time == (*last)->time ? (*first)->time : (*first)->time + " to " + (*last)->time;
}

const char* outcome_text(Outcome outcome) {
  return outcome == Outcome::crash ? "crash" : outcome == Outcome::timeout ? "timeout" : "wrong";
}

}  // namespace

std::string core_facts(const ReportCore& core) {
  std::set<std::string> devices, tools;
  size_t noisy = 0;
  for (const Record* r : core.records) {
    devices.insert((r->device.empty() ? "unknown" : r->device) +
                   (r->virtual_machine ? " (virtual machine)" : ""));
    tools.insert(r->tool);
    noisy += r->good ? 0 : 1;
  }
  std::string counts = counted_text(core.records.size(), "record");
  if (!core.failures.empty()) {
    counts += ", " + counted_text(core.failures.size(), "failure");
  }
  if (noisy > 0) counts += fmt::format(", {} noisy", noisy);
  const Core& c = core.core;
  std::string facts = fact("device", joined(devices)) + fact("records", counts) +
                      fact("core", id_text(c)) + fact("clock", clock_text(core)) +
                      fact("caches", caches_text(c)) + fact("features", c.features);
  if (c.vector > 0) facts += fact("vectors", fmt::format("{} bits", c.vector * 8));
  if (c.streaming > 0) facts += fact("streaming vectors", fmt::format("{} bits", c.streaming * 8));
  return "<dl>" + facts + fact("limits", limits_text(core)) + fact("measured", when_text(core)) +
         fact("by", joined(tools)) + fact("kind of core", identity(c)) + "</dl>\n";
}

std::string failures_table(const ReportCore& core, const KernelNames& names) {
  if (core.failures.empty()) return "";
  std::string rows;
  for (const Record* r : core.failures) {
    rows += fmt::format(
        "<tr><td class=\"bad\">{}</td><td>{}</td><td>{}</td><td>{}<br><small>{}</small></td>"
        "<td class=\"n\">{}</td><td>{}</td></tr>\n",
        outcome_text(r->outcome), names.html(r->ran.kernel), escaped(r->detail),
        escaped(shape_text(r->problem, r->threads)), escaped(r->problem.family), r->problem.m,
        escaped(r->time));
  }
  return "<h3>Failures</h3>\n<p class=\"note\">Kernels that crashed, took forever or computed "
         "wrong values on this kind of core are not chosen on it; their other records do not "
         "count.</p>\n" +
         boxed("Failures",
               "<table><thead><tr><th scope=\"col\">outcome</th><th scope=\"col\">kernel</th><th "
               "scope=\"col\">detail</th><th scope=\"col\">problem</th><th scope=\"col\" "
               "class=\"n\">rows</th><th scope=\"col\">when</th></tr></thead>\n<tbody>" +
                   rows + "</tbody></table>");
}

std::string kernels_table(const std::vector<ReportCore>& cores) {
  struct Use {
    const Configuration* run = nullptr;
    size_t wins = 0;
  };
  std::map<std::tuple<std::string, uint64_t, std::string>, Use> uses;
  for (const ReportCore& core : cores) {
    for (const Record* r : core.records)
      uses[{r->ran.kernel, r->ran.hash, r->ran.compiler}].run = &r->ran;
    for (const ReportProblem& problem : core.problems) {
      for (const ReportCell& cell : problem.cells) {
        const Configuration& run = cell.candidates[0].evidence.run;
        ++uses[{run.kernel, run.hash, run.compiler}].wins;
      }
    }
  }
  std::string rows;
  for (const auto& [key, use] : uses) {
    rows += fmt::format(
        "<tr><td><code>{}</code></td><td>{}</td><td class=\"n\">{}</td><td>{}</td><td><code>"
        "{:016x}</code></td><td><code>{:016x}</code></td></tr>\n",
        escaped(use.run->kernel), escaped(use.run->isa), use.wins,
        use.run->compiler.empty() ? "assembly" : escaped(use.run->compiler), use.run->layout,
        use.run->hash);
  }
  return "<section><h2>Kernels</h2>\n" +
         boxed("Kernels",
               "<table><thead><tr><th scope=\"col\">kernel</th><th scope=\"col\">ISA</th><th "
               "scope=\"col\" class=\"n\">wins</th><th scope=\"col\">compiler</th><th "
               "scope=\"col\">layout</th><th scope=\"col\">hash</th></tr></thead>\n<tbody>" +
                   rows + "</tbody></table>") +
         "</section>\n";
}

}  // namespace tw::tuner
