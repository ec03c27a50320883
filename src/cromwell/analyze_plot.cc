#include "cromwell/analyze_plot.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "base/page_text.h"
#include "base/units.h"
#include "base/writer.h"

namespace tacho {
namespace {

constexpr double kWidth = 380, kHeight = 230, kLeft = 42, kRight = 8, kTop = 8, kBottom = 34;
constexpr int kTicks = 4, kMostTicks = 2 * kTicks;

// 1, 2 or 5 times a power of ten.
double tick_step(double range) {
  if (!(range > 0)) return 1;
  const double rough = range / kTicks, power = std::pow(10, std::floor(std::log10(rough)));
  for (const double factor : {1.0, 2.0, 5.0})
    if (rough <= factor * power) return factor * power;
  return 10 * power;
}

struct PlotScale {
  double x_from, x_to, y_to;
  double x(double value) const { return kLeft + (value - x_from) / (x_to - x_from) * (kWidth - kLeft - kRight); }
  double y(double value) const { return kHeight - kBottom - value / y_to * (kHeight - kTop - kBottom); }
};

PlotScale scale_of(const ScatterPlot& plot) {
  double least = INFINITY, most = -INFINITY, top = 0;
  for (const auto* points : {&plot.used, &plot.failed, &plot.asked})
    for (const UsePoint& point : *points) {
      least = std::min(least, point.input_gb);
      most = std::max(most, point.input_gb);
      top = std::max(top, point.used);
    }
  if (plot.fit != nullptr && plot.fit->is_line())
    top = std::max({top, plot.fit->line().at(least), plot.fit->line().at(most)});
  if (plot.fit != nullptr && !plot.fit->is_line()) top = std::max(top, plot.fit->constant());
  const double room = most > least ? 0.04 * (most - least) : std::max(0.5, 0.1 * most);
  return {std::max(0.0, least - room), most + room, top > 0 ? 1.06 * top : 1};
}

void put_text(Writer& out, double x, double y, const char* anchor, const std::string& text) {
  out.put("<text x=");
  out.put_fixed(x, 1);
  out.put(" y=");
  out.put_fixed(y, 1);
  out.put(" text-anchor=");
  out.put(anchor);
  out.put(">" + escaped(text) + "</text>");
}

void put_axes(Writer& out, const PlotScale& scale) {
  std::string lines;
  Writer path;
  const double x_step = tick_step(scale.x_to - scale.x_from), y_step = tick_step(scale.y_to);
  // Counted: a step may be less than what a double of this size can be told apart by.
  for (int i = 0; i <= kMostTicks && i * y_step <= scale.y_to; ++i) {
    const double value = i * y_step;
    path.put("M");
    path.put_fixed(kLeft, 0);
    path.put(" ");
    path.put_fixed(scale.y(value), 1);
    path.put("H");
    path.put_fixed(kWidth - kRight, 0);
    put_text(out, kLeft - 5, scale.y(value) + 3.5, "end", human_number(value));
  }
  const double x_first = std::ceil(scale.x_from / x_step) * x_step;
  for (int i = 0; i <= kMostTicks && x_first + i * x_step <= scale.x_to; ++i)
    put_text(out, scale.x(x_first + i * x_step), kHeight - kBottom + 14, "middle", human_number(x_first + i * x_step));
  put_text(out, (kLeft + kWidth - kRight) / 2, kHeight - 4, "middle", "input, GB");
  out.put("<path class=grid d=\"");
  out.put(path.view());
  out.put("\"/>");
}

// Each point once a pixel; of too many the highest half, and of the rest every so manyth.
void put_points(Writer& out, const char* kind, const PlotScale& scale, const std::vector<UsePoint>& points,
                size_t most) {
  std::set<std::pair<long, long>> places;  // from the top of the picture on
  for (const UsePoint& point : points)
    places.emplace(std::lround(scale.y(point.used) * 2), std::lround(scale.x(point.input_gb) * 2));
  if (places.empty()) return;
  const size_t sure = most / 2;
  const size_t every = places.size() <= most ? 1 : (places.size() - sure) / std::max<size_t>(1, most - sure) + 1;
  out.put("<path class=");
  out.put(kind);
  out.put(" d=\"");
  size_t number = 0;
  for (const auto& [y, x] : places) {
    const bool wanted = number < sure || (number - sure) % every == 0;
    ++number;
    if (!wanted) continue;
    out.put("M");
    out.put_fixed(static_cast<double>(x) / 2, x % 2 == 0 ? 0 : 1);
    out.put(" ");
    out.put_fixed(static_cast<double>(y) / 2, y % 2 == 0 ? 0 : 1);
    out.put("h0");
  }
  out.put("\"/>");
}

void put_fit(Writer& out, const PlotScale& scale, const ResourceFit& fit) {
  const auto height = [&](double x) {
    return scale.y(std::max(0.0, fit.is_line() ? fit.line().at(x) : fit.constant()));
  };
  out.put("<path class=fit d=\"M");
  out.put_fixed(scale.x(scale.x_from), 1);
  out.put(" ");
  out.put_fixed(height(scale.x_from), 1);
  out.put("L");
  out.put_fixed(scale.x(scale.x_to), 1);
  out.put(" ");
  out.put_fixed(height(scale.x_to), 1);
  out.put("\"/>");
}

}  // namespace

std::string ScatterPlot::svg(size_t most_points) const {
  const PlotScale scale = scale_of(*this);
  Writer out;
  out.put("<svg class=scatter viewBox=\"0 0 380 230\" role=img aria-label=\"" + escaped(label) + "\">");
  put_axes(out, scale);
  put_points(out, "asked", scale, asked, most_points);
  if (fit != nullptr && fit->is_known()) put_fit(out, scale, *fit);
  put_points(out, "used", scale, used, most_points);
  put_points(out, "failed", scale, failed, most_points);
  out.put("</svg>\n");
  return std::string(out.view());
}

}  // namespace tacho
