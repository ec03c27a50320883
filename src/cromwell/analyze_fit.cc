#include "cromwell/analyze_fit.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <set>

namespace tacho {
namespace {

constexpr const char* kInputs = "size(inputs,'G')";
constexpr int kDigits = 6;  // of a coefficient; the disk's have one decimal

std::string fixed(double value, int decimals) {
  std::array<char, 400> text{};
  std::snprintf(text.data(), text.size(), "%.*f", decimals, value);
  return text.data();
}

// At least the value, as a number with so many decimals.
double rounded_up(double value, int decimals) {
  double scaled = value * std::pow(10, decimals);
  scaled = std::abs(scaled - std::round(scaled)) < 1e-7 ? std::round(scaled) : std::ceil(scaled);
  return std::strtod(fixed(scaled / std::pow(10, decimals), decimals).c_str(), nullptr);
}

int decimals_of(double value) {
  if (value == 0) return 1;
  return std::clamp(kDigits - 1 - static_cast<int>(std::floor(std::log10(std::abs(value)))), 1, 15);
}

// Short, without an exponent, and a Float in WDL: 0.35, 12.0.
std::string coefficient_text(double value) {
  std::string text = fixed(value, decimals_of(value));
  while (text.ends_with('0') && !text.ends_with(".0")) text.pop_back();
  return text;
}

// Rounding noise of a computed line must not lift an amount to the next step.
double step_up(double value, double step) { return std::ceil(value / step - 1e-9) * step; }

}  // namespace

StraightLine covering_line(std::vector<UsePoint> points) {
  std::sort(points.begin(), points.end(), [](const UsePoint& a, const UsePoint& b) {
    return a.input_gb != b.input_gb ? a.input_gb < b.input_gb : a.used > b.used;
  });
  std::vector<UsePoint> hull;
  for (const UsePoint& point : points) {
    if (!hull.empty() && hull.back().input_gb == point.input_gb) continue;  // the highest of each x
    const auto is_below = [&] {
      const UsePoint &a = hull[hull.size() - 2], &b = hull.back();
      return (b.used - a.used) * (point.input_gb - a.input_gb) <= (point.used - a.used) * (b.input_gb - a.input_gb);
    };
    while (hull.size() >= 2 && is_below()) hull.pop_back();
    hull.push_back(point);
  }
  StraightLine best;
  double least = std::numeric_limits<double>::infinity();
  const double middle =
      (hull.front().input_gb + hull.back().input_gb) / 2;  // the area is the height there by the width
  for (size_t i = 1; i < hull.size(); ++i) {
    const double slope = (hull[i].used - hull[i - 1].used) / (hull[i].input_gb - hull[i - 1].input_gb);
    const StraightLine line{hull[i].used - slope * hull[i].input_gb, slope};
    if (line.at(middle) >= least) continue;
    least = line.at(middle);
    best = line;
  }
  for (const UsePoint& point : points) best.intercept += std::max(0.0, point.used - best.at(point.input_gb));
  return best;
}

double least_squares_r2(const std::vector<UsePoint>& points) {
  const auto count = static_cast<double>(points.size());
  double mean_x = 0, mean_y = 0, xx = 0, yy = 0, xy = 0;
  for (const UsePoint& point : points) mean_x += point.input_gb / count, mean_y += point.used / count;
  for (const UsePoint& point : points) {
    const double x = point.input_gb - mean_x, y = point.used - mean_y;
    xx += x * x, yy += y * y, xy += x * y;
  }
  // What is left of sums of equal numbers is rounding noise.
  const bool is_flat = yy <= 1e-18 * count * (mean_y * mean_y + 1e-12);
  if (xx <= 0 || is_flat) return std::numeric_limits<double>::quiet_NaN();
  return xy * xy / (xx * yy);
}

ResourceFit ResourceFit::of(Resource resource, const std::vector<UsePoint>& all) {
  ResourceFit fit;
  fit.resource_ = resource;
  fit.r2_ = std::numeric_limits<double>::quiet_NaN();
  fit.known_ = !all.empty();
  if (!fit.known_) return fit;
  const double headroom = resource == Resource::disk ? kDiskHeadroomGb : 0;
  double most = 0;
  std::vector<UsePoint> points;
  std::set<double> sizes;
  for (const UsePoint& point : all) {
    most = std::max(most, point.used);
    if (std::isnan(point.input_gb) || point.input_gb < kLeastInputGb) continue;
    points.push_back({point.input_gb, point.used});
    sizes.insert(point.input_gb);
  }
  fit.constant_ = std::max(1.0, fit.rounded(most + headroom));
  const auto only = [](size_t count, const char* one, const char* many) {
    return (count == 0 ? "no " : "only " + std::to_string(count) + " ") + (count == 1 ? one : many);
  };
  const std::string needed = " (" + std::to_string(kLeastPoints) + " are needed)";
  if (points.size() < kLeastPoints)
    fit.why_ = only(points.size(), "attempt", "attempts") + " with inputs of a known size" + needed;
  else if (sizes.size() < kLeastPoints)
    fit.why_ = only(sizes.size(), "distinct input size", "distinct input sizes") + needed;
  if (!fit.why_.empty()) return fit;
  fit.r2_ = least_squares_r2(points);
  if (std::isnan(fit.r2_)) fit.why_ = "it is the same for every input size";
  else if (fit.r2_ < kLeastR2)
    fit.why_ = "it does not follow the input size (R² " + fixed(fit.r2_, 2) + ", 0.5 is needed)";
  else fit.set_line(points, all);
  return fit;
}

void ResourceFit::set_line(const std::vector<UsePoint>& points, const std::vector<UsePoint>& all) {
  is_line_ = true;
  line_ = covering_line(points);
  if (resource_ == Resource::disk) line_.intercept += kDiskHeadroomGb;
  if (resource_ == Resource::disk) printed_ = {rounded_up(line_.intercept, 1), rounded_up(line_.slope, 1)};
  else
    printed_ = {rounded_up(line_.intercept, decimals_of(line_.intercept)),
                rounded_up(line_.slope, decimals_of(line_.slope))};
  // Attempts with next to no input are not on the line: the minimum covers them.
  const double headroom = resource_ == Resource::disk ? kDiskHeadroomGb : 0;
  for (const UsePoint& point : all)
    if (point.input_gb < kLeastInputGb) least_ = std::max(least_, rounded(point.used + headroom));
}

double ResourceFit::rounded(double need) const {
  switch (resource_) {
    case Resource::cpu: return need < 1.5 ? 1 : step_up(need, 2);
    case Resource::memory: return step_up(need, 0.25);
    case Resource::disk: return step_up(need, 1);
  }
  return need;
}

double ResourceFit::amount(double input_gb) const {
  if (!is_line_ || std::isnan(input_gb)) return constant_;
  return std::max(least_, rounded(printed_.at(input_gb)));
}

std::string ResourceFit::line_text() const {
  const std::string product = coefficient_text(printed_.slope) + " * " + kInputs;
  if (printed_.intercept == 0) return product;
  return product + (printed_.intercept < 0 ? " - " : " + ") + coefficient_text(std::abs(printed_.intercept));
}

// An expression: Int for CPUs and disks, Float for memory.
std::string ResourceFit::amount_text() const {
  const bool is_float = resource_ == Resource::memory;
  const auto number = [&](double value) { return is_float ? coefficient_text(value) : fixed(value, 0); };
  if (!is_line_) return number(constant_);
  const std::string line = line_text();
  const std::string stepped = resource_ == Resource::cpu      ? "2 * ceil((" + line + ") / 2)"
                              : resource_ == Resource::memory ? "ceil((" + line + ") * 4) / 4.0"
                                                              : "ceil(" + line + ")";
  const double limit = resource_ == Resource::cpu && least_ == 1 ? 1.5 : least_;
  if (printed_.slope >= 0 && printed_.at(kLeastInputGb) >= limit) return stepped;
  return "if " + line + " < " + coefficient_text(limit) + " then " + number(least_) + " else " + stepped;
}

std::string ResourceFit::wdl(const std::string& disk_type) const {
  const std::string amount = amount_text();
  if (resource_ == Resource::cpu) return "cpu: " + amount;
  if (resource_ == Resource::memory) {
    const std::string_view plain =
        amount.ends_with(".0") ? std::string_view(amount).substr(0, amount.size() - 2) : amount;
    return is_line_ ? "memory: (" + amount + ") + \" G\"" : "memory: \"" + std::string(plain) + " G\"";
  }
  const std::string type = disk_type.empty() ? "HDD" : disk_type;
  return is_line_ ? "disks: \"local-disk \" + (" + amount + ") + \" " + type + "\""
                  : "disks: \"local-disk " + amount + " " + type + "\"";
}

}  // namespace tacho
