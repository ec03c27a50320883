#include "cromwell/analyze_shares.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "cromwell/analyze_axes.h"

namespace tacho {
namespace {

constexpr double kHalfWidth = 46;  // of a violin at its widest
constexpr std::array kViolinNames = {"CPU", "memory", "disk"};

// A little smoother: the steps are the counting's, not the task's.
std::vector<double> smoothed(const std::vector<uint32_t>& counts) {
  std::vector<double> smooth(counts.size());
  for (size_t i = 0; i < counts.size(); ++i) {
    const double before = i > 0 ? counts[i - 1] : 0, after = i + 1 < counts.size() ? counts[i + 1] : 0;
    smooth[i] = (before + 2.0 * counts[i] + after) / 4;
  }
  return smooth;
}

double percent_of(size_t step) { return (static_cast<double>(step) + 0.5) * UseShares::kStepPercent; }

// Up along the right side, down along the left one.
void put_violin(Writer& out, const PlotScale& scale, const std::vector<uint32_t>& counts, double middle) {
  const std::vector<double> smooth = smoothed(counts);
  const double widest = *std::max_element(smooth.begin(), smooth.end());
  const auto used = [](double count) { return count > 0; };
  const auto first = static_cast<size_t>(std::find_if(smooth.begin(), smooth.end(), used) - smooth.begin());
  const auto last = static_cast<size_t>(smooth.rend() - std::find_if(smooth.rbegin(), smooth.rend(), used)) - 1;
  std::string turn = "M";
  const auto put_point = [&](size_t step, double side) {
    out.put(std::exchange(turn, "L"));
    put_place(out, middle + side * kHalfWidth * std::sqrt(smooth[step] / widest));
    out.put(" ");
    put_place(out, scale.y(percent_of(step)));
  };
  out.put("<path class=violin d=\"");
  for (size_t step = first; step <= last; ++step) put_point(step, 1);
  for (size_t step = last + 1; step-- > first;) put_point(step, -1);
  out.put("Z\"/>");
}

// The middle half of all samples, and the one in the middle.
void put_quartiles(Writer& out, const PlotScale& scale, const UseShares& shares, Resource resource, double middle) {
  const auto place = [&](double share) { return scale.y(shares.quantile(resource, share)); };
  out.put("<path class=quartiles d=\"M");
  put_place(out, middle);
  out.put(" ");
  put_place(out, place(0.25));
  out.put("V");
  put_place(out, place(0.75));
  out.put("\"/><path class=median d=\"M");
  put_place(out, middle - 7);
  out.put(" ");
  put_place(out, place(0.5));
  out.put("h14\"/>");
}

}  // namespace

void UseShares::add(Resource resource, double used, double asked) {
  const double percent = 100 * used / asked;
  if (!(asked > 0) || !(percent >= 0)) return;
  std::vector<uint32_t>& counts = counts_[static_cast<size_t>(resource)];
  counts.resize(kSteps);
  const double step = std::floor(percent / kStepPercent);
  uint32_t& count = counts[step < kSteps - 1 ? static_cast<size_t>(step) : kSteps - 1];
  if (count < UINT32_MAX) ++count;
}

double UseShares::quantile(Resource resource, double share) const {
  const std::vector<uint32_t>& steps = counts(resource);
  double all = 0, sum = 0;
  for (const uint32_t count : steps) all += count;
  for (size_t i = 0; i < steps.size(); ++i)
    if ((sum += steps[i]) >= share * all && sum > 0) return percent_of(i);
  return 0;
}

bool UseShares::is_empty() const {
  return std::all_of(counts_.begin(), counts_.end(), [](const auto& counts) { return counts.empty(); });
}

std::string violin_svg(const UseShares& shares, const std::string& label) {
  PlotScale scale{0, 3, 105};
  for (size_t i = 0; i < kViolinNames.size(); ++i)
    for (size_t step = 0; step < shares.counts(static_cast<Resource>(i)).size(); ++step)
      if (shares.counts(static_cast<Resource>(i))[step] > 0)
        scale.y_to = std::max(scale.y_to, percent_of(step) + UseShares::kStepPercent);
  Writer out;
  put_svg_start(out, label);
  put_y_axis(out, scale);
  for (size_t i = 0; i < kViolinNames.size(); ++i) {
    const auto resource = static_cast<Resource>(i);
    const double middle = scale.x(static_cast<double>(i) + 0.5);
    put_svg_text(out, middle, kPlotHeight - kPlotBottom + 14, "middle", kViolinNames[i]);
    if (shares.counts(resource).empty()) continue;
    put_violin(out, scale, shares.counts(resource), middle);
    put_quartiles(out, scale, shares, resource, middle);
  }
  put_svg_text(out, (kPlotLeft + kPlotWidth - kPlotRight) / 2, kPlotHeight - 4, "middle", "% of what was asked for");
  out.put("</svg>\n");
  return std::string(out.view());
}

}  // namespace tacho
