#include "base/backoff.h"

#include <gtest/gtest.h>

#include <vector>

namespace tacho {
namespace {

TEST(DoublingPause, DoublesUpToTheLongestAndBeginsAnew) {
  DoublingPause pause(100, 1'000);
  std::vector<int64_t> seen;
  for (int i = 0; i < 6; ++i) seen.push_back(pause.next());
  EXPECT_EQ(seen, (std::vector<int64_t>{100, 200, 400, 800, 1'000, 1'000}));
  EXPECT_EQ(pause.attempts(), 6);
  pause.reset();
  EXPECT_EQ(pause.attempts(), 0);
  EXPECT_EQ(pause.next(), 100);
  pause.be_longest();
  EXPECT_EQ(pause.next(), 1'000);
  EXPECT_EQ(pause.next(), 1'000);
}

TEST(DoublingPause, DoesNotOverflow) {
  DoublingPause pause(1, INT64_MAX);
  for (int i = 0; i < 100; ++i) EXPECT_GT(pause.next(), 0);
  EXPECT_EQ(pause.next(), INT64_MAX);
}

TEST(Backoff, BacksOffWithFullJitterFromOneSecondToAMinute) {
  Backoff backoff;
  EXPECT_EQ(backoff.next_ms(0.5), 500);
  EXPECT_EQ(backoff.next_ms(0.5), 1'000);
  EXPECT_EQ(backoff.next_ms(0.0), 0);
  EXPECT_EQ(backoff.next_ms(0.5), 4'000);
  for (int i = 0; i < 60; ++i) (void)backoff.next_ms(0.9);
  EXPECT_EQ(backoff.next_ms(0.5), 30'000);
  EXPECT_EQ(backoff.next_ms(0.999), 59'940);
  EXPECT_EQ(backoff.attempts(), 66);
  backoff.reset();
  EXPECT_EQ(backoff.next_ms(0.5), 500);
}

TEST(Backoff, ObeysTheServerUpToFiveMinutes) {
  Backoff backoff;
  EXPECT_EQ(backoff.next_ms(0.5, 7'000), 7'000);
  EXPECT_EQ(backoff.next_ms(0.5, 999'000), 300'000);
  EXPECT_EQ(backoff.next_ms_at_least(60'000, 0.5, 0), 62'000);
}

}  // namespace
}  // namespace tacho
