// What the plots of the page have in common: their size, their scales, lines and figures at the axes. Colours are the
// style sheet's. Pure, thread-safe.
#pragma once
#include <functional>
#include <string>

#include "base/writer.h"

namespace tacho {

inline constexpr double kPlotWidth = 380, kPlotHeight = 230, kPlotLeft = 42, kPlotRight = 8, kPlotTop = 8,
                        kPlotBottom = 34;

struct PlotScale {
  double x_from, x_to, y_to;
  double x(double value) const {
    return kPlotLeft + (value - x_from) / (x_to - x_from) * (kPlotWidth - kPlotLeft - kPlotRight);
  }
  double y(double value) const {
    return kPlotHeight - kPlotBottom - value / y_to * (kPlotHeight - kPlotTop - kPlotBottom);
  }
};

// <svg …>; `label` is for who cannot see it.
void put_svg_start(Writer& out, const std::string& label);
void put_svg_text(Writer& out, double x, double y, const char* anchor, const std::string& text);
// Lines across at the figures of the vertical axis.
void put_y_axis(Writer& out, const PlotScale& scale);
// Figures below, by `words` of each value, and what they mean.
void put_x_axis(Writer& out, const PlotScale& scale, const std::string& name,
                const std::function<std::string(double)>& words);
// "12.5", "12": so that thousands of points stay short.
void put_place(Writer& out, double value);

}  // namespace tacho
