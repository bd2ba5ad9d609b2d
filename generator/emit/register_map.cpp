#include "emit/register_map.h"

#include <algorithm>
#include <map>

#include "schedule/liveness.h"

namespace tw {
std::string register_name(const Isa& isa, int file, int index, std::string_view view) {
  const auto& views = isa.files[static_cast<size_t>(file)].views;
  const auto at = view.empty() ? views.begin()
                               : std::find_if(views.begin(), views.end(),
                                              [&](const auto& v) { return v.first == view; });
  const auto& names = at == views.end() ? views.front().second : at->second;
  return names.at(static_cast<size_t>(index));
}

std::vector<RegisterUse> register_map(const Program& program, const Loop& loop) {
  const Liveness live = liveness(program);
  const auto span = std::find_if(live.loops.begin(), live.loops.end(),
                                 [&](const Liveness::Span& s) { return s.loop == &loop; });
  const std::vector<int> files = register_files(program);
  std::map<std::pair<int, int>, std::vector<std::string>> found;
  for (size_t v = 0; v < program.values.size(); ++v) {
    const int index = program.registers[v];
    if (index < 0 || !overlap(live.of[v], {{span->head + 1, span->tail + 1}})) continue;
    std::vector<std::string>& names = found[{files[v], index}];
    const std::string& name = program.values[v].name;
    if (!name.empty() && std::find(names.begin(), names.end(), name) == names.end()) {
      names.push_back(name);
    }
  }
  std::vector<RegisterUse> uses;
  for (auto& [where, names] : found) {
    uses.push_back({register_name(*program.isa, where.first, where.second), std::move(names)});
  }
  return uses;
}

}  // namespace tw
