#include "cromwell/analyze_plot.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "base/units.h"
#include "base/writer.h"
#include "cromwell/analyze_axes.h"

namespace tacho {
namespace {

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
    put_place(out, static_cast<double>(x) / 2);
    out.put(" ");
    put_place(out, static_cast<double>(y) / 2);
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
  put_svg_start(out, label);
  put_y_axis(out, scale);
  put_x_axis(out, scale, "input, GB", human_number);
  put_points(out, "asked", scale, asked, most_points);
  if (fit != nullptr && fit->is_known()) put_fit(out, scale, *fit);
  put_points(out, "used", scale, used, most_points);
  put_points(out, "failed", scale, failed, most_points);
  out.put("</svg>\n");
  return std::string(out.view());
}

}  // namespace tacho
