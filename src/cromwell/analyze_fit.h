// How much of a resource a task needs by the size of its inputs: a straight line above all
// points, or the constant that covers them all; rounded as machines come, and as lines of WDL. Pure, thread-safe.
#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "base/result.h"

namespace tacho {

struct UsePoint {
  double input_gb, used;  // used is known; input_gb may be NaN
};

struct StraightLine {
  double intercept = 0, slope = 0;
  double at(double x) const { return intercept + slope * x; }
};

// The edge of the upper side of the points' convex hull with the least area below it, over the range of x: no point is
// above it. Needs two different x.
StraightLine covering_line(std::vector<UsePoint> points);
// Of the least-squares line: the share of the variance that it explains; NaN where all x, or all y, are the same.
double least_squares_r2(const std::vector<UsePoint>& points);

enum class Resource { cpu, memory, disk };

inline constexpr double kLeastInputGb = 0.001, kLeastR2 = 0.5, kDiskHeadroomGb = 0.1;
inline constexpr size_t kLeastPoints = 5;

class ResourceFit {
 public:
  // What `points` says of a resource. No points: is_known() is false.
  static ResourceFit of(Resource resource, const std::vector<UsePoint>& points);

  bool is_known() const { return known_; }
  bool is_line() const { return is_line_; }
  const std::string& why_constant() const { return why_; }  // "only 3 attempts"; empty for a line
  double r2() const { return r2_; }                         // NaN: not computed
  const StraightLine& line() const { return line_; }        // as fitted, with the disk's head-room
  double constant() const { return constant_; }             // that covers all, rounded
  // What to ask for: CPUs, or G, or GB.
  double amount(double input_gb) const;
  // "cpu: …", "memory: …" or "disks: …" of a runtime section; `disk_type` as in "local-disk 10 HDD".
  std::string wdl(const std::string& disk_type) const;

 private:
  std::string amount_text() const;
  std::string line_text() const;
  double rounded(double need) const;
  void set_line(const std::vector<UsePoint>& points, const std::vector<UsePoint>& all);

  Resource resource_ = Resource::cpu;
  bool known_ = false, is_line_ = false;
  std::string why_;
  double r2_ = 0, constant_ = 0, least_ = 1;
  StraightLine line_, printed_;  // printed_: with as many digits as WDL gets, rounded up
};

}  // namespace tacho
