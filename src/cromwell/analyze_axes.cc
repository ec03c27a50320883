#include "cromwell/analyze_axes.h"

#include <cmath>

#include "base/page_text.h"
#include "base/units.h"

namespace tacho {
namespace {

constexpr int kTicks = 4, kMostTicks = 2 * kTicks;

// 1, 2 or 5 times a power of ten.
double tick_step(double range) {
  if (!(range > 0)) return 1;
  const double rough = range / kTicks, power = std::pow(10, std::floor(std::log10(rough)));
  for (const double factor : {1.0, 2.0, 5.0})
    if (rough <= factor * power) return factor * power;
  return 10 * power;
}

}  // namespace

void put_svg_start(Writer& out, const std::string& label) {
  out.put("<svg class=scatter viewBox=\"0 0 380 230\" role=img aria-label=\"" + escaped(label) + "\">");
}

void put_svg_text(Writer& out, double x, double y, const char* anchor, const std::string& text) {
  out.put("<text x=");
  out.put_fixed(x, 1);
  out.put(" y=");
  out.put_fixed(y, 1);
  out.put(" text-anchor=");
  out.put(anchor);
  out.put(">" + escaped(text) + "</text>");
}

void put_y_axis(Writer& out, const PlotScale& scale) {
  Writer path;
  const double step = tick_step(scale.y_to);
  // Counted: a step may be less than what a double of this size can be told apart by.
  for (int i = 0; i <= kMostTicks && i * step <= scale.y_to; ++i) {
    const double value = i * step;
    path.put("M");
    path.put_fixed(kPlotLeft, 0);
    path.put(" ");
    path.put_fixed(scale.y(value), 1);
    path.put("H");
    path.put_fixed(kPlotWidth - kPlotRight, 0);
    put_svg_text(out, kPlotLeft - 5, scale.y(value) + 3.5, "end", human_number(value));
  }
  out.put("<path class=grid d=\"");
  out.put(path.view());
  out.put("\"/>");
}

void put_x_axis(Writer& out, const PlotScale& scale, const std::string& name,
                const std::function<std::string(double)>& words) {
  const double step = tick_step(scale.x_to - scale.x_from), first = std::ceil(scale.x_from / step) * step;
  for (int i = 0; i <= kMostTicks && first + i * step <= scale.x_to; ++i)
    put_svg_text(out, scale.x(first + i * step), kPlotHeight - kPlotBottom + 14, "middle", words(first + i * step));
  put_svg_text(out, (kPlotLeft + kPlotWidth - kPlotRight) / 2, kPlotHeight - 4, "middle", name);
}

void put_place(Writer& out, double value) {
  const long halves = std::lround(value * 2);
  out.put_fixed(static_cast<double>(halves) / 2, halves % 2 == 0 ? 0 : 1);
}

}  // namespace tacho
