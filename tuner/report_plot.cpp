#include "tuner/report_plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace tw::tuner {
namespace {

constexpr double kWidth = 140, kHeight = 22, kMargin = 12;
constexpr double kMiddle = kHeight / 2;

double x_of(const Scale& scale, double time) {
  const double part =
      (std::clamp(time, scale.low, scale.high) - scale.low) / (scale.high - scale.low);
  return kMargin + part * (kWidth - 2 * kMargin);
}

/// A round distance that gives at most four ticks.
double step_of(const Scale& scale) {
  double step = 0.01;
  for (const double next : {0.02, 0.05, 0.1, 0.2, 0.5}) {
    if ((scale.high - scale.low) / step <= 3.4) break;
    step = next;
  }
  return step;
}

std::string line(double x0, double y0, double x1, double y1, const char* style) {
  return fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" class=\"{}\"/>",
                     x0, y0, x1, y1, style);
}

std::string svg(double height, const std::string& inside) {
  return fmt::format(
      "<svg class=\"plot\" role=\"img\" viewBox=\"0 0 {:.0f} {:.0f}\" width=\"{:.0f}\" "
      "height=\"{:.0f}\">{}</svg>",
      kWidth, height, kWidth, height, inside);
}

/// An arrow where the time itself is outside, else a dot.
std::string dot(const Scale& scale, double time, const char* style) {
  const double x = x_of(scale, time);
  if (time > scale.high || time < scale.low) {
    const double tip = time > scale.high ? 6 : -6;
    return fmt::format("<path d=\"M{:.1f} {:.1f}l{:.1f} 4.5l{:.1f} 4.5z\" class=\"{}\"/>", x,
                       kMiddle - 4.5, tip, -tip, style);
  }
  return fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3.8\" class=\"{}\"/>", x, kMiddle,
                     style);
}

}  // namespace

Relative relative(const ReportCandidate& candidate) {
  const Estimate& faster = candidate.evidence.faster;
  return {std::exp(-faster.log), std::exp(-faster.log - faster.width),
          std::exp(-faster.log + faster.width), candidate.has_interval()};
}

Scale scale_of(const std::vector<const ReportCandidate*>& candidates) {
  constexpr double lowest = 0.5, highest = 1.5;  // so that the few far away do not hide the others
  Scale scale{0.97, 1.03};
  for (const ReportCandidate* candidate : candidates) {
    const Relative r = relative(*candidate);
    scale.low = std::min(scale.low, r.has_interval ? r.low : r.time);
    scale.high = std::max(scale.high, r.has_interval ? r.high : r.time);
  }
  scale.low = std::max(scale.low, lowest);
  scale.high = std::min(scale.high, highest);
  return scale;
}

std::string plot_axis(const Scale& scale) {
  constexpr double height = 16;
  const double step = step_of(scale);
  std::string inside = "<title>time relative to the baseline's</title>";
  for (double tick = std::ceil(scale.low / step) * step; tick <= scale.high; tick += step) {
    const double x = x_of(scale, tick);
    inside += fmt::format("<text x=\"{:.1f}\" y=\"10\">{:.0f} %</text>", x, tick * 100);
    inside += line(x, 12, x, height, "axis");
  }
  return svg(height, inside);
}

std::string plot(const Scale& scale, const ReportCandidate& candidate, Mark mark) {
  const Relative r = relative(candidate);
  std::string inside = fmt::format("<title>{} of the baseline's time, {}</title>", relative_text(r),
                                   interval_text(candidate));
  inside += line(x_of(scale, 1), 0, x_of(scale, 1), kHeight, "one");
  const char* style = mark == Mark::winner     ? "winner"
                      : mark == Mark::baseline ? "base"
                      : r.has_interval         ? "other"
                                               : "unsure";
  if (r.has_interval && candidate.evidence.rounds > 0) {
    const double low = x_of(scale, r.low), high = x_of(scale, r.high);
    inside += line(low, kMiddle, high, kMiddle, style);
    for (const double end : {r.low, r.high}) {  // none where it goes on outside
      if (end < scale.low || end > scale.high) continue;
      const double x = x_of(scale, end);
      inside += line(x, kMiddle - 4, x, kMiddle + 4, style);
    }
  }
  return svg(kHeight, inside + dot(scale, r.time, style));
}

std::string relative_text(const Relative& relative) {
  return fmt::format("{:.1f} %", relative.time * 100);
}

std::string interval_text(const ReportCandidate& candidate) {
  if (candidate.evidence.rounds == 0) return "baseline";
  const Relative r = relative(candidate);
  return r.has_interval ? fmt::format("{:.1f} to {:.1f} %", r.low * 100, r.high * 100)
                        : "no interval";
}

}  // namespace tw::tuner
