#include "tuner/report_roofline.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "tuner/report_text.h"

namespace tw::tuner {
namespace {

constexpr double kLeft = 64, kRight = 716, kTop = 24, kBottom = 356, kHeight = 412, kWidth = 740;

struct Dot {
  double macs_a_byte = 0, gmacs = 0;
  size_t m = 0;
  bool hot = false, winner = false;
  std::string title;
};

/// What both axes show.
struct Frame {
  double x0 = 1e300, x1 = 0, y0 = 1e300, y1 = 0;
  void add(double x, double y) {
    x0 = std::min(x0, x);
    x1 = std::max(x1, x);
    y0 = std::min(y0, y);
    y1 = std::max(y1, y);
  }
  [[nodiscard]] double x(double value) const {
    return kLeft + std::log(value / x0) / std::log(x1 / x0) * (kRight - kLeft);
  }
  [[nodiscard]] double y(double value) const {
    return kBottom - std::log(value / y0) / std::log(y1 / y0) * (kBottom - kTop);
  }
};

Dot dot_of(const ReportProblem& problem, const ReportCell& cell, const ReportCandidate& candidate,
           bool winner) {
  Dot dot;
  dot.macs_a_byte = cell.macs / static_cast<double>(candidate.limits.rhs_bytes);
  dot.gmacs = cell.macs / candidate.ns;
  dot.m = cell.m;
  dot.hot = cell.regime == Regime::hot;
  dot.winner = winner;
  const bool baseline = candidate.evidence.rounds == 0;
  dot.title = fmt::format("{}, {} rows, weights {}: {:.1f} GMAC/s, {} {}",
                          shape_text(problem.problem, problem.threads), cell.m,
                          dot.hot ? "in the caches" : "from memory", dot.gmacs,
                          !winner    ? "the baseline"
                          : baseline ? "the winner, which is the baseline,"
                                     : "the winner",
                          telling_part(candidate.evidence.run.kernel));
  return dot;
}

std::vector<Dot> dots_of(const ReportCore& core) {
  std::vector<Dot> dots;
  const auto drawable = [](const ReportCandidate& c) { return c.ns > 0 && c.limits.rhs_bytes > 0; };
  for (const ReportProblem& problem : core.problems) {
    for (const ReportCell& cell : problem.cells) {
      const bool apart = cell.baseline != 0 && cell.baseline != SIZE_MAX;
      if (apart && drawable(cell.candidates[cell.baseline])) {
        dots.push_back(dot_of(problem, cell, cell.candidates[cell.baseline], false));
      }
      if (drawable(cell.candidates[0])) {
        dots.push_back(dot_of(problem, cell, cell.candidates[0], true));
      }
    }
  }
  return dots;
}

Frame frame_of(const ReportCore& core, const std::vector<Dot>& dots) {
  Frame frame;
  for (const Dot& dot : dots) frame.add(dot.macs_a_byte, dot.gmacs);
  for (const auto& [isa, gmacs] : core.peaks) frame.add(dots[0].macs_a_byte, gmacs);
  // Records may say anything: no axis without an end.
  constexpr double room = 1.6, least = 1e-12, most = 1e12;
  frame.x0 = std::max(frame.x0 / room, least);
  frame.x1 = std::min(frame.x1 * room, most);
  frame.y0 = std::max(frame.y0 / room, least);
  frame.y1 = std::min(frame.y1 * room, most);
  return frame;
}

std::string number(double value) {
  return value >= 1 ? fmt::format("{:.0f}", value) : fmt::format("{:.3g}", value);
}

/// 1, 2 and 5 of each decade inside.
std::vector<double> ticks(double low, double high) {
  std::vector<double> found;
  for (double decade = std::pow(10, std::floor(std::log10(low))); decade <= high; decade *= 10) {
    for (const double digit : {1.0, 2.0, 5.0}) {
      if (decade * digit >= low && decade * digit <= high) found.push_back(decade * digit);
    }
  }
  return found;
}

std::string text(double x, double y, const char* style, const std::string& words) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" class=\"{}\">{}</text>\n", x, y, style,
                     words);
}

std::string line(double x0, double y0, double x1, double y1, const char* style) {
  return fmt::format(
      "<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" class=\"{}\"/>\n", x0, y0, x1,
      y1, style);
}

std::string axes(const Frame& frame) {
  std::string svg;
  for (const double tick : ticks(frame.x0, frame.x1)) {
    svg += line(frame.x(tick), kTop, frame.x(tick), kBottom, "grid");
    svg += text(frame.x(tick), kBottom + 18, "tick middle", number(tick));
  }
  for (const double tick : ticks(frame.y0, frame.y1)) {
    svg += line(kLeft, frame.y(tick), kRight, frame.y(tick), "grid");
    svg += text(kLeft - 8, frame.y(tick) + 4, "tick end", number(tick));
  }
  svg += text((kLeft + kRight) / 2, kHeight - 14, "tick middle",
              "multiply-adds per byte of packed weights");
  return svg + text(8, 12, "tick", "GMAC/s");
}

/// Memory's, up to the highest peak, and one for each ISA's arithmetic.
std::string limits(const ReportCore& core, const Frame& frame) {
  std::string svg;
  double highest = frame.y1;
  if (!core.peaks.empty()) {
    highest = 0;
    for (const auto& [isa, gmacs] : core.peaks) highest = std::max(highest, gmacs);
  }
  for (const auto& [isa, gmacs] : core.peaks) {
    const double from =
        core.read_gbs > 0 ? std::clamp(gmacs / core.read_gbs, frame.x0, frame.x1) : frame.x0;
    svg += line(frame.x(from), frame.y(gmacs), kRight, frame.y(gmacs), "limit");
    svg += text(kRight, frame.y(gmacs) - 7, "name end",
                fmt::format("arithmetic, {}: {:.0f} GMAC/s", escaped(isa), gmacs));
  }
  if (core.read_gbs == 0) return svg;
  const double x0 = std::max(frame.x0, frame.y0 / core.read_gbs);
  const double x1 = std::min(frame.x1, highest / core.read_gbs);
  if (x1 <= x0) return svg;
  const double y0 = x0 * core.read_gbs, y1 = x1 * core.read_gbs;
  svg += line(frame.x(x0), frame.y(y0), frame.x(x1), frame.y(y1), "limit");
  const std::string words = fmt::format("memory: {:.1f} GB/s", core.read_gbs);
  return svg + text(frame.x(x0) + 10, std::max(frame.y(y1) - 7, kTop + 12), "name", words);
}

std::string shape(const Frame& frame, const Dot& dot) {
  const double x = frame.x(dot.macs_a_byte), y = frame.y(dot.gmacs);
  const std::string style =
      fmt::format("{} {}", dot.hot ? "hot" : "streamed", dot.winner ? "filled" : "hollow");
  if (dot.hot) {
    return fmt::format(
        "<path d=\"M{:.1f} {:.1f}l6 6l-6 6l-6 -6z\" class=\"{}\"><title>{}</title>"
        "</path>\n",
        x, y - 6, style, escaped(dot.title));
  }
  return fmt::format(
      "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"5\" class=\"{}\"><title>{}</title>"
      "</circle>\n",
      x, y, style, escaped(dot.title));
}

/// Each number of rows, below its lowest dot.
std::string rows_names(const Frame& frame, const std::vector<Dot>& dots) {
  std::map<size_t, const Dot*> lowest;
  for (const Dot& dot : dots) {
    const Dot*& known = lowest[dot.m];
    if (known == nullptr || dot.gmacs < known->gmacs) known = &dot;
  }
  std::string svg;
  for (const auto& [m, dot] : lowest) {
    svg += text(frame.x(dot->macs_a_byte), frame.y(dot->gmacs) + 20, "tick middle",
                counted_text(m, "row"));
  }
  return svg;
}

constexpr const char* kLegend =
    "<figcaption><span><svg width=\"14\" height=\"14\" aria-hidden=\"true\"><circle cx=\"7\" "
    "cy=\"7\" r=\"5\" class=\"streamed filled\"/></svg> winner, weights from memory</span> "
    "<span><svg width=\"14\" height=\"14\" aria-hidden=\"true\"><path d=\"M7 1l6 6l-6 6l-6 -6z\" "
    "class=\"hot filled\"/></svg> winner, weights in the caches</span> <span><svg width=\"14\" "
    "height=\"14\" aria-hidden=\"true\"><circle cx=\"7\" cy=\"7\" r=\"5\" class=\"streamed "
    "hollow\"/></svg> hollow: the baseline, where it did not win</span></figcaption>\n";

}  // namespace

std::string roofline(const ReportCore& core) {
  const std::vector<Dot> dots = dots_of(core);
  if (dots.empty() || (core.peaks.empty() && core.read_gbs == 0)) {
    return "<p class=\"note\">No roofline: these records do not say what the core can do at most. "
           "Tunings of 10 s and more measure it.</p>\n";
  }
  const Frame frame = frame_of(core, dots);
  std::string svg = fmt::format(
      "<figure><div class=\"box\" tabindex=\"0\" role=\"region\" aria-label=\"Roofline\"><svg "
      "class=\"roofline\" role=\"img\" viewBox=\"0 0 {:.0f} {:.0f}\"><title>Roofline: speed of "
      "winners and baselines under the limits of memory and arithmetic</title>\n",
      kWidth, kHeight);
  svg += axes(frame) + limits(core, frame) + rows_names(frame, dots);
  for (const Dot& dot : dots) svg += shape(frame, dot);
  return svg + "</svg></div>\n" + kLegend + "</figure>\n";
}

}  // namespace tw::tuner
