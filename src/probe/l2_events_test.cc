#include "probe/l2_events.h"

#include <gtest/gtest.h>

#include <string>

#include "probe/perf.h"

namespace tacho {
namespace {

std::string x86(const std::string& vendor, int family, int model) {
  return "processor\t: 0\nvendor_id\t: " + vendor + "\ncpu family\t: " + std::to_string(family) +
         "\nmodel\t\t: " + std::to_string(model) + "\nmodel name\t: something\nstepping\t: 1\n";
}

std::string arm(const std::string& implementer, const std::string& part) {
  return "processor\t: 0\nCPU implementer\t: " + implementer + "\nCPU part\t: " + part + "\n";
}

uint64_t misses_of(const std::string& cpuinfo) {
  const auto events = l2_events(parse_cpuinfo(cpuinfo));
  if (!events) return 0;
  EXPECT_EQ(events->requests.type, 4u);  // PERF_TYPE_RAW
  EXPECT_EQ(events->misses.type, 4u);
  // On x86 the misses are some of the requests: the same event, fewer bits of its mask.
  if (events->misses.config > 0xff) {
    EXPECT_EQ(events->requests.config & 0xff, events->misses.config & 0xff);
    EXPECT_EQ(events->requests.config & events->misses.config, events->misses.config);
  }
  return events->misses.config;
}

TEST(L2Events, OfTheCommonProcessors) {
  EXPECT_EQ(misses_of(x86("AuthenticAMD", 23, 49)), 0x0864u);  // EPYC 7002
  EXPECT_EQ(misses_of(x86("AuthenticAMD", 25, 17)), 0x0864u);  // EPYC 9004
  EXPECT_EQ(misses_of(x86("AuthenticAMD", 26, 2)), 0x0864u);   // EPYC 9005
  EXPECT_EQ(misses_of(x86("GenuineIntel", 6, 85)), 0x2124u);   // Xeon Skylake to Cooper Lake
  EXPECT_EQ(misses_of(x86("GenuineIntel", 6, 106)), 0x2124u);  // Xeon Ice Lake
  EXPECT_EQ(misses_of(x86("GenuineIntel", 6, 143)), 0x2124u);  // Xeon Sapphire Rapids
  EXPECT_EQ(misses_of(arm("0x41", "0xd0c")), 0x17u);           // Graviton 2
  EXPECT_EQ(misses_of(arm("0x41", "0xd4f")), 0x17u);           // Graviton 4, Grace
}

TEST(L2Events, NoneOfOthers) {
  EXPECT_EQ(misses_of(x86("AuthenticAMD", 21, 2)), 0u);   // Bulldozer
  EXPECT_EQ(misses_of(x86("GenuineIntel", 6, 63)), 0u);   // Haswell
  EXPECT_EQ(misses_of(x86("GenuineIntel", 6, 151)), 0u);  // Alder Lake: two kinds of cores
  EXPECT_EQ(misses_of(x86("GenuineIntel", 15, 85)), 0u);
  EXPECT_EQ(misses_of(arm("0x41", "0xd08")), 0u);
  EXPECT_EQ(misses_of(arm("0x41", "0xd0c") + arm("0x41", "0xd08")), 0u);
  EXPECT_EQ(misses_of(""), 0u);
  EXPECT_EQ(misses_of("vendor_id\t: AuthenticAMD\ncpu family\t: x\nmodel\t: 99999999999999999999\n"), 0u);
}

TEST(L2Events, TheColumnIsOneLessTheMissed) {
  for (const Column& column : kPerfProbe.columns) {
    if (column.name != "process_l2_hit_rate") continue;
    Reading before, now;
    before.set(column.field, 1000), before.set(column.field + 1, 100);
    EXPECT_TRUE(is_absent(derive(column, before, now)));
    now.set(column.field, 3000), now.set(column.field + 1, 600);
    EXPECT_DOUBLE_EQ(derive(column, before, now), 0.75);
    now.set(column.field, 1000);  // nothing was asked for
    EXPECT_TRUE(is_absent(derive(column, before, now)));
    now.set(column.field, 900);  // went back
    EXPECT_TRUE(is_absent(derive(column, before, now)));
    return;
  }
  FAIL() << "no such column";
}

}  // namespace
}  // namespace tacho
