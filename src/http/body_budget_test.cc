#include "http/body_budget.h"

#include <gtest/gtest.h>

#include <deque>
#include <random>

namespace tacho {
namespace {

constexpr size_t kMiB = 1u << 20;
constexpr int64_t kAlways = 0, kNever = int64_t{1} << 60;  // how long nothing may come before a body is slow

TEST(BodyBudget, TheSlowestGoesForANewcomer) {
  BodyBudget budget(kMiB, 4 * kMiB, kAlways);
  int first_told = 0, second_told = 0;
  BodyBudget::Share first(&budget, [&] { ++first_told; }), second(&budget, [&] { ++second_told; }),
      third(&budget, [] {});
  ASSERT_TRUE(first.set(2 * kMiB) && second.set(kMiB) && second.set(2 * kMiB));
  EXPECT_TRUE(third.set(kMiB));
  EXPECT_TRUE(first.is_evicted());
  EXPECT_EQ(first_told, 1);
  EXPECT_FALSE(second.is_evicted()) << "one was enough";
  EXPECT_FALSE(first.set(3 * kMiB)) << "it grows no more";
  EXPECT_TRUE(third.set(2 * kMiB)) << "its room is promised, and nobody else goes for it";
  EXPECT_EQ(second_told, 0);
  EXPECT_EQ(budget.left_bytes(), static_cast<int64_t>(kMiB) - static_cast<int64_t>(2 * kMiB)) << "until it has gone";
  first.set(0);
  EXPECT_FALSE(first.is_evicted());
  EXPECT_EQ(budget.left_bytes(), static_cast<int64_t>(kMiB));
}

TEST(BodyBudget, WhatComesInWellOrIsCompleteStays) {
  BodyBudget budget(kMiB, 4 * kMiB, kNever);
  BodyBudget::Share fast(&budget, [] {}), late(&budget, [] {});
  ASSERT_TRUE(fast.set(4 * kMiB));
  EXPECT_FALSE(late.set(kMiB));
  EXPECT_TRUE(late.set(1000)) << "small ones have room of their own";
  BodyBudget other(kMiB, 4 * kMiB, kAlways);
  BodyBudget::Share whole(&other, [] {}), slow(&other, [] {}), newcomer(&other, [] {});
  ASSERT_TRUE(whole.set(3 * kMiB) && slow.set(kMiB));
  whole.complete();
  EXPECT_FALSE(newcomer.set(2 * kMiB));
  EXPECT_FALSE(slow.is_evicted()) << "it would not have been enough";
  EXPECT_TRUE(newcomer.set(kMiB));
  EXPECT_TRUE(slow.is_evicted());
  slow.complete();  // its last byte came in that moment: it is answered
  EXPECT_FALSE(slow.is_evicted());
}

// Whatever is done, in whatever order: nothing is counted twice or forgotten.
TEST(BodyBudget, CountsAtRandom) {
  std::mt19937 random(20261118);
  for (int round = 0; round < 50; ++round) {
    BodyBudget budget(4 * kMiB, 16 * kMiB, kAlways);
    std::deque<BodyBudget::Share> shares;
    std::vector<size_t> held(20, 0);
    for (size_t i = 0; i < held.size(); ++i) shares.emplace_back(&budget, [] {});
    for (int step = 0; step < 500; ++step) {
      const size_t i = random() % held.size();
      const size_t bytes = random() % 4 == 0 ? 0 : random() % 3 == 0 ? random() % 100'000 : random() % (6 * kMiB);
      if (random() % 8 == 0) shares[i].complete();
      else if (shares[i].set(bytes)) held[i] = bytes;
      size_t sum = 0;
      for (size_t k = 0; k < held.size(); ++k) sum += held[k];
      ASSERT_EQ(budget.left_bytes(), static_cast<int64_t>(20 * kMiB) - static_cast<int64_t>(sum));
    }
    for (auto& share : shares) share.set(0);
    EXPECT_EQ(budget.left_bytes(), static_cast<int64_t>(20 * kMiB));
  }
}

}  // namespace
}  // namespace tacho
