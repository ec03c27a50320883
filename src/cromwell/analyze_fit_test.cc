#include "cromwell/analyze_fit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "cromwell/analyze_fold.h"

namespace tacho {
namespace {

// The slow, plain way: every pair of points, the line through it if it is above all, the least height in the middle.
StraightLine plain_covering_line(const std::vector<UsePoint>& points) {
  const auto by_size = [](const UsePoint& a, const UsePoint& b) { return a.input_gb < b.input_gb; };
  const double middle = (std::min_element(points.begin(), points.end(), by_size)->input_gb +
                         std::max_element(points.begin(), points.end(), by_size)->input_gb) /
                        2;
  StraightLine best;
  double least = INFINITY;
  for (const UsePoint& a : points)
    for (const UsePoint& b : points) {
      if (a.input_gb >= b.input_gb) continue;
      const double slope = (b.used - a.used) / (b.input_gb - a.input_gb);
      const StraightLine line{a.used - slope * a.input_gb, slope};
      const bool above = std::all_of(points.begin(), points.end(),
                                     [&](const UsePoint& p) { return p.used <= line.at(p.input_gb) + 1e-9; });
      if (above && line.at(middle) < least) least = line.at(middle), best = line;
    }
  return best;
}

double plain_r2(const std::vector<UsePoint>& points) {
  const auto n = static_cast<double>(points.size());
  double x = 0, y = 0, xx = 0, xy = 0;
  for (const UsePoint& p : points)
    x += p.input_gb, y += p.used, xx += p.input_gb * p.input_gb, xy += p.input_gb * p.used;
  const double slope = (n * xy - x * y) / (n * xx - x * x), intercept = (y - slope * x) / n;
  double left = 0, all = 0;
  for (const UsePoint& p : points) {
    left += std::pow(p.used - intercept - slope * p.input_gb, 2);
    all += std::pow(p.used - y / n, 2);
  }
  return 1 - left / all;
}

std::vector<UsePoint> random_points(std::mt19937& random, double noise) {
  std::uniform_real_distribution<double> size(0.001, 100), share(0, 1);
  const double slope = share(random) * 3 - 1, base = share(random) * 10;
  std::vector<UsePoint> points(5 + random() % 60);
  for (UsePoint& p : points) {
    p.input_gb = random() % 4 == 0 ? std::ceil(size(random)) : size(random);
    p.used = std::max(0.0, base + slope * p.input_gb + noise * share(random) * 40);
  }
  return points;
}

TEST(AnalyzeFit, CoveringLineIsThatOfThePlainSearch) {
  std::mt19937 random(11);
  for (int round = 0; round < 2000; ++round) {
    const auto points = random_points(random, round % 3 * 0.5);
    const StraightLine fast = covering_line(points), slow = plain_covering_line(points);
    double least = INFINITY, most = -INFINITY;
    for (const UsePoint& p : points) {
      EXPECT_LE(p.used, fast.at(p.input_gb) + 1e-12) << round;
      least = std::min(least, p.input_gb), most = std::max(most, p.input_gb);
    }
    // Two edges may be equally good: what counts is the area.
    EXPECT_NEAR(fast.at((least + most) / 2), slow.at((least + most) / 2), 1e-6) << round;
  }
}

TEST(AnalyzeFit, R2IsThatOfTheResiduals) {
  std::mt19937 random(12);
  for (int round = 0; round < 500; ++round) {
    const auto points = random_points(random, 1);
    EXPECT_NEAR(least_squares_r2(points), plain_r2(points), 1e-6) << round;
  }
  EXPECT_TRUE(std::isnan(least_squares_r2({{1, 2.1}, {2, 2.1}, {3, 2.1}})));
  EXPECT_TRUE(std::isnan(least_squares_r2({{1, 2}, {1, 3}})));
}

TEST(AnalyzeFit, WhatIsAdvisedCoversEveryPoint) {
  std::mt19937 random(13);
  size_t lines = 0;
  for (int round = 0; round < 2000; ++round) {
    auto points = random_points(random, round % 2 * 0.3);
    points.push_back({0, 3.3});  // next to no input: not on the line, but covered
    for (const Resource resource : {Resource::memory, Resource::disk, Resource::cpu}) {
      const ResourceFit fit = ResourceFit::of(resource, points);
      lines += fit.is_line() ? 1 : 0;
      for (const UsePoint& p : points) {
        if (resource == Resource::cpu && p.used < 1.5) continue;  // 1 CPU by rule
        EXPECT_GE(fit.amount(p.input_gb) + 1e-9, p.used) << round;
        EXPECT_GE(fit.constant() + 1e-9, p.used) << round;
      }
    }
  }
  EXPECT_GT(lines, 1000u);
}

TEST(AnalyzeFit, NoFormulaAndWhy) {
  const auto why = [](const std::vector<UsePoint>& points) {
    return ResourceFit::of(Resource::memory, points).why_constant();
  };
  EXPECT_FALSE(ResourceFit::of(Resource::cpu, {}).is_known());
  EXPECT_EQ(why({{1, 1}, {2, 2}, {3, 3}, {4, 4}}), "only 4 attempts with inputs of a known size (5 are needed)");
  EXPECT_EQ(why({{NAN, 1}}), "no attempts with inputs of a known size (5 are needed)");
  EXPECT_EQ(why({{1, 1}, {2, 2}, {3, 3}, {4, 4}, {4, 5}}), "only 4 distinct input sizes (5 are needed)");
  EXPECT_EQ(why({{1, 1}, {2, 9}, {3, 1}, {4, 9}, {5, 1}}),
            "it does not follow the input size (R² 0.00, 0.5 is needed)");
  EXPECT_EQ(why({{1, 2}, {2, 2}, {3, 2}, {4, 2}, {5, 2}}), "it is the same for every input size");
  EXPECT_EQ(why({{1, 1}, {2, 2}, {3, 3}, {4, 4}, {5, 5}}), "");
  EXPECT_EQ(why({{0.0005, 1}, {2, 2}, {3, 3}, {4, 4}, {5, 5}}).substr(0, 6), "only 4");
}

TEST(AnalyzeFit, RoundingOfConstants) {
  const auto constant = [](Resource resource, double used) {
    return ResourceFit::of(resource, {{NAN, used}}).constant();
  };
  EXPECT_EQ(constant(Resource::cpu, 0.2), 1);
  EXPECT_EQ(constant(Resource::cpu, 1.49), 1);
  EXPECT_EQ(constant(Resource::cpu, 1.5), 2);
  EXPECT_EQ(constant(Resource::cpu, 2), 2);
  EXPECT_EQ(constant(Resource::cpu, 2.01), 4);
  EXPECT_EQ(constant(Resource::memory, 0.3), 1);
  EXPECT_EQ(constant(Resource::memory, 1.01), 1.25);
  EXPECT_EQ(constant(Resource::memory, 6.25), 6.25);
  EXPECT_EQ(constant(Resource::disk, 9.9), 10);
  EXPECT_EQ(constant(Resource::disk, 9.95), 11);  // with the head-room
}

TEST(AnalyzeFit, Wdl) {
  const std::vector<UsePoint> points = {{10, 1}, {20, 2}, {30, 3}, {40, 4}, {50, 5}};
  EXPECT_EQ(ResourceFit::of(Resource::cpu, points).wdl("SSD"),
            "cpu: if 0.1 * size(inputs,'G') < 1.5 then 1 else 2 * ceil((0.1 * size(inputs,'G')) / 2)");
  EXPECT_EQ(
      ResourceFit::of(Resource::memory, points).wdl("SSD"),
      "memory: (if 0.1 * size(inputs,'G') < 1.0 then 1.0 else ceil((0.1 * size(inputs,'G')) * 4) / 4.0) + \" G\"");
  EXPECT_EQ(ResourceFit::of(Resource::disk, points).wdl("SSD"),
            "disks: \"local-disk \" + (if 0.1 * size(inputs,'G') + 0.1 < 1.0 then 1 else ceil(0.1 * size(inputs,'G') + "
            "0.1)) + \" SSD\"");
  EXPECT_EQ(ResourceFit::of(Resource::memory, {{1, 5.9}}).wdl(""), "memory: \"6 G\"");
  EXPECT_EQ(ResourceFit::of(Resource::disk, {{1, 5.95}}).wdl(""), "disks: \"local-disk 7 HDD\"");
}

TEST(AnalyzeFold, PercentileIsThatOfSorting) {
  std::mt19937 random(14);
  for (int round = 0; round < 500; ++round) {
    std::vector<double> values(1 + random() % 400);
    Percentile95 fast(values.size() + random() % 3);  // repeated rows were counted too
    for (double& value : values) fast.add(value = static_cast<double>(random() % 100));
    std::sort(values.begin(), values.end());
    const auto rank = static_cast<size_t>(std::ceil(0.95 * static_cast<double>(values.size())));
    EXPECT_EQ(fast.value(), values[rank - 1]) << round;
    EXPECT_EQ(fast.largest(), values.back());
  }
  EXPECT_TRUE(std::isnan(Percentile95(3).value()));
}

}  // namespace
}  // namespace tacho
