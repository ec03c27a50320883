#include "procfs/thread_files.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <random>
#include <vector>

namespace tacho {
namespace {

TEST(ThreadSyscall, TheThreeForms) {
  ThreadSyscall call;
  ASSERT_TRUE(parse_thread_syscall("running\n", call));
  EXPECT_EQ(call.kind, ThreadSyscall::Kind::running);
  ASSERT_TRUE(parse_thread_syscall("-1 0x7ffeb987b148 0x7f47e69992ad\n", call));
  EXPECT_EQ(call.kind, ThreadSyscall::Kind::none);
  EXPECT_FALSE(call.is_32_bit);
  ASSERT_TRUE(
      parse_thread_syscall("202 0x3 0x80 0xffffffff 0x0 0x1 0xffffffffffffffff 0x7ffeb987b148 0x7f47e69992ad\n", call));
  EXPECT_EQ(call.kind, ThreadSyscall::Kind::inside);
  EXPECT_EQ(call.number, 202);
  EXPECT_EQ(call.arguments[1], 0x80u);
  EXPECT_EQ(call.arguments[5], UINT64_MAX);
  ASSERT_TRUE(parse_thread_syscall("162 0x1 0x2 0x3 0x4 0x5 0x6 0xffd8a1f0 0xf7f5a549\n", call));
  EXPECT_TRUE(call.is_32_bit);
}

TEST(ThreadSyscall, NothingElse) {
  ThreadSyscall call;
  for (const char* text : {"", "\n", "0", "0 0x1 0x2", "0 1 2 3 4 5 6 7 8", "x", "1 0x 0x 0x 0x 0x 0x 0x 0x",
                           "1 0x1 0x2 0x3 0x4 0x5 0x6 0x10000000000000000 0x1", "-1", "- 0x1 0x2",
                           "1 0x1 0x2 0x3 0x4 0x5 0x6 0x7g 0x1", "1 0x1 0x2 0x3 0x4 0x5 0x6 0x7 1"})
    EXPECT_FALSE(parse_thread_syscall(text, call)) << text;
}

TEST(ThreadSyscall, ReadsAnyNumbersAsTheyWerePrinted) {
  std::mt19937_64 random(17);
  for (int round = 0; round < 5000; ++round) {
    const auto any = [&] { return static_cast<unsigned long long>(random() >> random() % 64); };
    const unsigned long long number = any() % 500, stack = any(), counter = any();
    const std::array<unsigned long long, 6> arguments{any(), any(), any(), any(), any(), any()};
    char text[256];
    std::snprintf(text, sizeof text, "%llu 0x%llx 0x%llx 0x%llx 0x%llx 0x%llx 0x%llx 0x%llx 0x%llx\n", number,
                  arguments[0], arguments[1], arguments[2], arguments[3], arguments[4], arguments[5], stack, counter);
    ThreadSyscall call;
    ASSERT_TRUE(parse_thread_syscall(text, call)) << text;
    EXPECT_EQ(call.number, static_cast<int64_t>(number));
    EXPECT_TRUE(std::equal(arguments.begin(), arguments.end(), call.arguments.begin())) << text;
    EXPECT_EQ(call.is_32_bit, stack != 0 && stack <= UINT32_MAX && counter <= UINT32_MAX);
  }
}

TEST(Wchan, SuffixesOfTheCompilerAreCut) {
  EXPECT_EQ(plain_wchan("hrtimer_nanosleep"), "hrtimer_nanosleep");
  EXPECT_EQ(plain_wchan("pipe_wait.isra.0\n"), "pipe_wait");
  EXPECT_EQ(plain_wchan("do_wait.constprop.0"), "do_wait");
  EXPECT_EQ(plain_wchan("do_wait.part.0.isra.7"), "do_wait");
  EXPECT_EQ(plain_wchan("0"), "0");
  EXPECT_EQ(plain_wchan(""), "");
}

TEST(Epoll, Targets) {
  std::vector<int> found;
  parse_epoll_targets(
      "pos:\t0\nflags:\t02\ntfd:        5 events:       19 data:                5  pos:0 ino:5e sdev:c\n"
      "tfd:       77 events: 1\ntfd: x\ntfd: 99999999999\n",
      [&](int number) { found.push_back(number); });
  EXPECT_EQ(found, (std::vector<int>{5, 77}));
}

}  // namespace
}  // namespace tacho
