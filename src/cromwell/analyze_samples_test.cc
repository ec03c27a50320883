#include "cromwell/analyze_samples.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <tuple>

namespace tacho {
namespace {

using Key = std::tuple<uint32_t, int64_t, int64_t>;

std::vector<Key> sorted_through(SampleSorter& sorter, const std::vector<Key>& keys) {
  for (const auto& [attempt, time, seq] : keys) {
    const std::vector<DiskSample> disks(attempt % 3, DiskSample{static_cast<double>(time), 1, 2});
    EXPECT_TRUE(sorter.add({attempt, 0, time, seq, static_cast<double>(time) / 2, 3, disks}));
  }
  std::vector<Key> got;
  EXPECT_TRUE(sorter.give([&](const TaskSample& sample) {
    got.emplace_back(sample.attempt, sample.time_us, sample.seq);
    EXPECT_EQ(sample.cores, static_cast<double>(sample.time_us) / 2);
    EXPECT_EQ(sample.disks.size(), sample.attempt % 3);
    for (const DiskSample& disk : sample.disks) EXPECT_EQ(disk.used_gb, static_cast<double>(sample.time_us));
  }));
  return got;
}

TEST(AnalyzeSamples, EachOnceInOrderInMemoryAndThroughAFile) {
  std::mt19937 random(21);
  for (const size_t memory : {size_t{1} << 20, size_t{20'000}, size_t{1}}) {
    std::vector<Key> keys;
    for (int i = 0; i < 3000; ++i) {
      const auto time = static_cast<int64_t>(random() % 1000);
      keys.emplace_back(random() % 7, time, random() % 2 == 0 ? -1 : time);
    }
    SampleSorter sorter(memory);
    const auto got = sorted_through(sorter, keys);
    const size_t all = keys.size();
    std::sort(keys.begin(), keys.end());
    keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
    EXPECT_EQ(got, keys) << memory;
    EXPECT_EQ(sorter.repeated(), all - keys.size());
    EXPECT_EQ(sorter.pieces() > 0, memory < 1 << 20);
  }
}

}  // namespace
}  // namespace tacho
