#include <fmt/format.h>

#include <algorithm>

#include "command/sweep.h"
#include "tuner/report_text.h"

namespace tw {
namespace {

std::string line(const Swept& swept, int64_t m, const std::string& family, const Shipped& shipped) {
  return fmt::format("{:>9.2f} {:>9.2f} {:>9.1f} {:>9}  {}{}\n", 1000 * cycles_per_mac(swept, m),
                     1000 / swept.macs_per_cycle, swept.macs_per_instruction, swept.registers,
                     tuner::short_kernel(swept.kernel, family),
                     shipped.count(swept.kernel) != 0 ? "  (ships)" : "");
}

}  // namespace

std::string sweep_counts(const Sweep& sweep) {
  std::string text = fmt::format("{} tried, {} fit", sweep.tried, sweep.fit.size());
  std::vector<std::pair<size_t, std::string>> reasons;
  for (const auto& [reason, count] : sweep.refused) reasons.emplace_back(count, reason);
  std::stable_sort(reasons.begin(), reasons.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  text += reasons.empty() ? "\n" : "; refused:\n";
  for (const auto& [count, reason] : reasons) text += fmt::format("{:>7} {}\n", count, reason);
  return text;
}

std::string sweep_table(const Sweep& sweep, const std::string& family, const Shipped& shipped,
                        size_t most) {
  std::string text;
  for (const int64_t m : sweep_rows) {
    const std::vector<const Swept*> best = best_tiles(sweep, m, shipped);
    text += fmt::format(
        "\n{} {}: cycles for 1000 multiply-adds, rows left over included\n{:>9} {:>9} {:>9} {:>9}  "
        "{}\n",
        m, m == 1 ? "row" : "rows", "cycles", "all rows", "MACs/ins.", "registers",
        "kernel, best knobs of its tile");
    for (size_t i = 0; i < best.size(); ++i) {
      const bool shown = i < most || shipped.count(best[i]->kernel) != 0;
      if (shown) text += line(*best[i], m, family, shipped);
    }
    if (best.size() > most) text += fmt::format("{:>9} {} tiles in all\n", "", best.size());
  }
  return text;
}

}  // namespace tw
