#include "engine/restarts.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/units.h"

namespace tacho {
namespace {

// The pauses in s between the end of one and the start of the next, each of which lives so long.
std::vector<int64_t> pauses(Restarts& restarts, int times, int64_t life_ns, bool began, int64_t& now_ns) {
  std::vector<int64_t> seen;
  for (int i = 0; i < times && !restarts.given_up(); ++i) {
    restarts.started(now_ns);
    EXPECT_EQ(restarts.at_ns(), Restarts::kNever);
    now_ns += life_ns;
    restarts.ended(now_ns, began);
    if (restarts.given_up()) break;
    seen.push_back((restarts.at_ns() - now_ns) / kNsPerSec);
    now_ns = restarts.at_ns();
  }
  return seen;
}

TEST(Restarts, AtOnceThenMoreAndMoreRarely) {
  Restarts restarts;
  int64_t now_ns = 7 * kNsPerSec;
  EXPECT_EQ(pauses(restarts, 10, kNsPerSec, true, now_ns), (std::vector<int64_t>{0, 1, 2, 4, 8, 16, 32, 60, 60, 60}));
  EXPECT_FALSE(restarts.given_up());
  // What lasted is started again as if nothing had been.
  EXPECT_EQ(pauses(restarts, 1, 60 * kNsPerSec, true, now_ns), (std::vector<int64_t>{0}));
  EXPECT_EQ(pauses(restarts, 1, kNsPerSec, true, now_ns), (std::vector<int64_t>{1}));
}

TEST(Restarts, WhatNeverBeginsIsGivenUp) {
  Restarts restarts;
  int64_t now_ns = 0;
  EXPECT_EQ(pauses(restarts, 20, 0, false, now_ns), (std::vector<int64_t>{0, 1, 2, 4}));
  EXPECT_TRUE(restarts.given_up());
  EXPECT_EQ(restarts.at_ns(), Restarts::kNever);
}

TEST(Restarts, OneThatBeganCountsForTheOthers) {
  Restarts restarts;
  int64_t now_ns = 0;
  for (int i = 0; i < 5; ++i) {
    pauses(restarts, 4, 0, false, now_ns);
    pauses(restarts, 1, 0, true, now_ns);
  }
  EXPECT_FALSE(restarts.given_up());
}

}  // namespace
}  // namespace tacho
