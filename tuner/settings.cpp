#include <algorithm>
#include <cmath>

#include "tuner/choose.h"

namespace tw::tuner {

tw_decode decode_of(const Configuration& run) {
  if (run.decodes.empty()) return TW_DECODE_UNSET;
  return run.decodes == "yes" ? TW_DECODE_ALWAYS : TW_DECODE_NEVER;
}

std::vector<tw_setting> settings_of(const Choice& choice) {
  constexpr size_t ranges_from = 8;
  std::vector<const RowsChoice*> sorted;
  for (const RowsChoice& rows : choice.rows) {
    if (rows.rung != Rung::model) sorted.push_back(&rows);
  }
  // A plan takes so many: those that most time goes to.
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](auto* a, auto* b) { return a->calls * a->ns > b->calls * b->ns; });
  sorted.resize(std::min<size_t>(sorted.size(), TW_MAX_SETTINGS));
  std::sort(sorted.begin(), sorted.end(), [](auto* a, auto* b) { return a->m < b->m; });
  std::vector<tw_setting> settings;
  for (size_t i = 0; i < sorted.size(); ++i) {
    const RowsChoice& rows = *sorted[i];
    tw_setting setting{rows.m, rows.m, rows.run.kernel.c_str(), {}};
    if (rows.m >= ranges_from) {
      const bool first = i == 0 || sorted[i - 1]->m < ranges_from;
      setting.m_first = first ? ranges_from : settings.back().m_last + 1;
      const bool last = i + 1 == sorted.size();
      const double next = last ? 0 : static_cast<double>(sorted[i + 1]->m);
      setting.m_last =
          last ? SIZE_MAX : static_cast<size_t>(std::sqrt(static_cast<double>(rows.m) * next));
    }
    if (rows.rung == Rung::exact) {
      setting.tuning.n_block = rows.run.n_block;
      // Rows that were not cut there are not cut in all of the range, which may have no end.
      const bool uncut = rows.run.m_block >= rows.m;
      setting.tuning.m_block = !uncut ? rows.run.m_block : i + 1 == sorted.size() ? 0 : SIZE_MAX;
      setting.tuning.rhs_prefetch = rows.run.prefetch == 0 ? TW_PREFETCH_OFF : rows.run.prefetch;
      setting.tuning.order = rows.run.order == "rows" ? TW_ROWS_FIRST : TW_COLUMNS_FIRST;
      setting.tuning.decode = decode_of(rows.run);
    }
    settings.push_back(setting);
  }
  return settings;
}

}  // namespace tw::tuner
