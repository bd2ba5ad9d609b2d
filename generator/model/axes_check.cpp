// What makes axes a layout.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "model/axes.h"
#include "model/reject.h"

namespace tw {
namespace {

[[noreturn]] void refuse(const Part& root, const std::string& why) {
  reject("layout '{}': {}", to_string(root), why);
}

const char* dim_name(Dim dim) {
  return dim == Dim::n ? "n" : dim == Dim::k ? "k" : "copy";
}

/// A field and the axes of the parts around it.
struct Path {
  const FieldAxes* field;
  std::vector<Axis> axes;
};

void add_paths(const Part& part, std::vector<Axis> around, std::vector<Path>& out) {
  if (part.over) around.push_back(*part.over);
  for (const Part::Member& member : part.members) {
    if (const auto* inner = std::get_if<Part>(&member)) {
      add_paths(*inner, around, out);
      continue;
    }
    Path path{&std::get<FieldAxes>(member), around};
    path.axes.insert(path.axes.end(), path.field->axes.begin(), path.field->axes.end());
    out.push_back(path);
  }
}

/// The digits of a dimension, from the finest.
std::vector<Axis> digits(const Path& path, Dim dim) {
  std::vector<Axis> found;
  for (const Axis& axis : path.axes) {
    if (axis.dim == dim) found.push_back(axis);
  }
  std::sort(found.begin(), found.end(), [](const Axis& a, const Axis& b) {
    return a.step.at({3, 3}) < b.step.at({3, 3});
  });
  return found;
}

void check_tiling(const Part& root, const Path& path, Dim dim) {
  const std::vector<Axis> found = digits(path, dim);
  const std::string where = fmt::format("{} of {}", dim_name(dim), name(path.field->kind));
  const bool is_data = path.field->kind == FieldKind::data;
  if (is_data && dim != Dim::copy && (found.empty() || found.front().step != Length{1})) {
    refuse(root, where + " has no digit of single steps");
  }
  for (size_t i = 0; i < found.size(); ++i) {
    const bool is_last = i + 1 == found.size();
    if (found[i].extent == rest) {
      if (!is_last) refuse(root, where + " goes on behind '*'");
      continue;
    }
    if (is_last) {
      if (dim != Dim::copy) refuse(root, where + " ends: its coarsest digit is not '*'");
      continue;
    }
    const Length& step = found[i].step;
    const Length& extent = found[i].extent;
    const bool linear = step.is_fixed() || extent.is_fixed();
    const Length next = step.is_fixed() ? extent * step.fixed : step * extent.fixed;
    if (!linear || next != found[i + 1].step) {
      refuse(root, fmt::format("{}: {} steps of {} are followed by steps of {}", where,
                               to_string(extent), to_string(step), to_string(found[i + 1].step)));
    }
  }
}

/// Up to two of what the coarsest digit of the data's dimension counts.
int64_t enough(const Path& data, Dim dim, VectorLength vl) {
  return digits(data, dim).back().step.at(vl) * 2;
}

/// All addresses of a field's values, in order, each once: steps that share a value share its
/// place.
std::vector<int64_t> addresses(const Part& root, const Path& path, const Coordinates& end,
                               const Sizes& sizes) {
  const FieldPlaces places(root, path.field->kind, sizes);
  std::vector<int64_t> found;
  for (Coordinates at; at.n < end.n; ++at.n) {
    for (at.k = 0; at.k < end.k; ++at.k) {
      for (at.copy = 0; at.copy < end.copy; ++at.copy) {
        found.push_back(places.at(at));
      }
    }
  }
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

void check_places(const Part& root, const std::vector<Path>& paths, VectorLength vl) {
  const auto data = std::find_if(paths.begin(), paths.end(), [](const Path& path) {
    return path.field->kind == FieldKind::data;
  });
  if (data == paths.end()) refuse(root, "there is no data");
  Coordinates end{enough(*data, Dim::n, vl), enough(*data, Dim::k, vl), 1};
  const Sizes sizes{end.k, vl, int64_t{1} << 20};  // rows of a source are far apart
  std::vector<std::pair<int64_t, int>> used;
  for (const Path& path : paths) {
    const std::vector<Axis> copies = digits(path, Dim::copy);
    end.copy = copies.empty() ? 1 : copies.front().extent.at(vl);
    const std::vector<int64_t> own = addresses(root, path, end, sizes);
    if (&path == &*data && own.size() != static_cast<size_t>(end.n * end.k)) {
      refuse(root, "two codes share a place");
    }
    for (const int64_t address : own) used.emplace_back(address, bits(path.field->type));
  }
  std::sort(used.begin(), used.end());
  for (size_t i = 1; i < used.size(); ++i) {
    if (used[i].first < used[i - 1].first + used[i - 1].second) {
      refuse(root, fmt::format("two values share bit {}", used[i].first));
    }
  }
}

}  // namespace

void check(const Part& root) {
  if (!root.over) refuse(root, "the outermost part is not over anything");
  std::vector<Path> paths;
  add_paths(root, {}, paths);
  for (const Path& path : paths) {
    for (const Dim dim : {Dim::n, Dim::k, Dim::copy}) check_tiling(root, path, dim);
  }
  check_places(root, paths, {1, 1});
}

}  // namespace tw
