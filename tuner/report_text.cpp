#include "tuner/report_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>

namespace tw::tuner {
namespace {

/// "6x16", "8svlx8svl": rows and columns of a tile.
bool is_tile(std::string_view token) {
  return !token.empty() && std::isdigit(static_cast<unsigned char>(token[0])) != 0 &&
         token.find('x') != std::string_view::npos;
}

/// Four digits, as many behind the point as that leaves.
std::string digits(double value) {
  const int behind = value >= 1000 ? 0 : value >= 100 ? 1 : value >= 10 ? 2 : 3;
  return fmt::format("{:.{}f}", value, behind);
}

}  // namespace

std::string escaped(std::string_view text) {
  std::string safe;
  for (const char c : text) {
    switch (c) {
      case '&':
        safe += "&amp;";
        break;
      case '<':
        safe += "&lt;";
        break;
      case '>':
        safe += "&gt;";
        break;
      case '"':
        safe += "&quot;";
        break;
      case '\'':
        safe += "&#39;";
        break;
      default:
        safe += c;
    }
  }
  return safe;
}

std::string short_kernel(const std::string& name, const std::string& family) {
  const std::string prefix = "tw_" + family.substr(0, family.find("_f32_") + 5);
  return name.rfind(prefix, 0) == 0 ? name.substr(prefix.size()) : name;
}

std::string telling_part(const std::string& name) {
  size_t at = 0;
  while (at < name.size()) {
    const size_t end = std::min(name.find('_', at), name.size());
    if (is_tile(std::string_view(name).substr(at, end - at))) return name.substr(at);
    at = end + 1;
  }
  return name;
}

void KernelNames::add(const std::string& kernel, const std::string& family) {
  if (!short_.try_emplace(kernel, short_kernel(kernel, family)).second) return;
  if (!tails_.insert(telling_part(kernel)).second) ambiguous_.insert(telling_part(kernel));
}

std::string KernelNames::label(const std::string& kernel) const {
  const std::string tail = telling_part(kernel);
  return ambiguous_.count(tail) == 0 ? tail : short_.at(kernel);
}

std::string KernelNames::html(const std::string& kernel) const {
  return fmt::format("<code title=\"{}\">{}</code>", escaped(kernel), escaped(label(kernel)));
}

std::string time_text(double ns) {
  if (ns <= 0) return "";
  if (ns < 1e3) return digits(ns) + " ns";
  if (ns < 1e6) return digits(ns / 1e3) + " µs";
  return ns < 1e9 ? digits(ns / 1e6) + " ms" : digits(ns / 1e9) + " s";
}

std::string bytes_text(size_t bytes) {
  if (bytes < 1024) return fmt::format("{} B", bytes);
  if (bytes < size_t{1} << 20) return fmt::format("{:.4g} KiB", static_cast<double>(bytes) / 1024);
  const double mib = static_cast<double>(bytes) / (1 << 20);
  return mib < 1024 ? fmt::format("{:.4g} MiB", mib) : fmt::format("{:.4g} GiB", mib / 1024);
}

std::string percent_text(double part) {
  return part <= 0 ? "" : fmt::format("{:.1f} %", part * 100);
}

std::string rate_text(double rate) {
  return rate <= 0 ? "" : fmt::format("{:.1f}", rate);
}

std::string counted_text(size_t count, const char* what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

std::string settings_text(const Configuration& run, const Problem& problem, size_t m) {
  if (run.n_block == 0) return "as planned";
  const bool columns_cut = run.n_block < problem.n, rows_cut = run.m_block < m;
  std::string text = columns_cut ? fmt::format("slices of {} columns", run.n_block) : "all columns";
  if (rows_cut) text += fmt::format(" × {} rows", run.m_block);
  if (columns_cut && rows_cut) text += fmt::format(", {} first", run.order);
  if (run.decodes == "yes") text += ", decoded first";
  return text + (run.prefetch == 0 ? ", no prefetch"
                                   : fmt::format(", prefetch {}", bytes_text(run.prefetch)));
}

std::string shape_text(const Problem& problem, size_t threads) {
  std::string text = fmt::format("n {} × k {}", problem.n, problem.k);
  if (problem.block > 0) {
    text += fmt::format(", blocks of {} with {} scales", problem.block, problem.scales);
  }
  return text + (threads > 1 ? fmt::format(", {} threads", threads) : "");
}

}  // namespace tw::tuner
