// The size of ZFS pools by a `zpool` of the test's own.
#include "probe/zfs_pools.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "base/units.h"
#include "probe/system.h"
#include "procfs/zpool.h"
#include "support/probe_bench.h"

namespace tacho {
namespace {

// Puts a zpool that does what `script` says first on PATH.
class FakeZpool {
 public:
  explicit FakeZpool(const std::string& script) : path_(std::getenv("PATH")) {
    spill(dir_ / "zpool", "#!/bin/sh\necho \"$@\" >> " + (dir_ / "asked") + "\n" + script + "\n");
    std::filesystem::permissions(dir_ / "zpool", std::filesystem::perms::owner_all);
    ::setenv("PATH", (dir_.path() + ":" + path_).c_str(), 1);
  }
  ~FakeZpool() { ::setenv("PATH", path_.c_str(), 1); }
  std::string asked() const { return slurp(dir_ / "asked"); }

 private:
  TempDir dir_;
  std::string path_;
};

template <class Condition>
bool until(Condition condition) {
  for (int i = 0; i < 2000 && !condition(); ++i) ::usleep(10'000);
  return condition();
}

TEST(Zpool, LinesOfPools) {
  PoolLines lines("tank\t1000204886016\t412316860416\t587888025600\nsick\t-\t-\t-\nmy pool\t3\t1\t2\nnonsense\n");
  PoolLine line;
  ASSERT_TRUE(lines.next(line));
  EXPECT_EQ(line.name, "tank");
  EXPECT_EQ(line.size_bytes, 1'000'204'886'016);
  EXPECT_EQ(line.allocated_bytes, 412'316'860'416);
  EXPECT_EQ(line.free_bytes, 587'888'025'600);
  ASSERT_TRUE(lines.next(line));
  EXPECT_EQ(line.name, "my pool");
  EXPECT_EQ(line.size_bytes, 3);
  EXPECT_FALSE(lines.next(line));
}

TEST(ZfsPools, AskedOnceAMinute) {
  const FakeZpool zpool("printf 'tank\\t1000204886016\\t12\\t34\\n'");
  ProbeContext context;
  ZfsPools pools(context);
  EXPECT_FALSE(pools.size_bytes("tank").has_value());
  int64_t second = 0;  // a busy machine may miss the limit, then it is asked again
  ASSERT_TRUE(until([&] { return pools.look(++second * kNsPerSec), pools.size_bytes("tank").has_value(); }));
  EXPECT_EQ(pools.size_bytes("tank"), 1'000'204'886'016);
  EXPECT_FALSE(pools.size_bytes("other").has_value());
  EXPECT_TRUE(zpool.asked().starts_with("list -Hp -o name,size,allocated,free\n"));
  const auto times = [&] {
    const std::string asked = zpool.asked();
    return std::count(asked.begin(), asked.end(), '\n');
  };
  EXPECT_TRUE(until([&] { return pools.look(++second * kNsPerSec), times() >= 3; }));
  EXPECT_LE(times(), 1 + second / 60);
}

TEST(ZfsPools, OneThatHangsIsEnded) {
  const TempDir dir;
  const FakeZpool zpool("echo $$ > " + (dir / "pid") + "; exec sleep 60");
  ProbeContext context;
  ZfsPools pools(context);
  pools.look(kNsPerSec);
  ASSERT_TRUE(until([&] { return slurp(dir / "pid").ends_with('\n'); }));
  const std::string process = "/proc/" + slurp(dir / "pid").substr(0, slurp(dir / "pid").find('\n'));
  EXPECT_TRUE(until([&] { return pools.look(kNsPerSec), !std::filesystem::exists(process); }));
  EXPECT_FALSE(pools.size_bytes("tank").has_value());
}

TEST(ZfsPools, AreInTheListOfDisks) {
  const FakeZpool zpool("printf 'tank\\t1000204886016\\t12\\t34\\n'");
  KernelTree tree("stacked_disks");
  const auto capacity = [](ProbeBench& bench) {
    bench.tick();
    for (const DiskDetail& disk : bench.detail().disks)
      if (disk.device == "zfs:tank") return disk.capacity_bytes.value_or(-1);
    return int64_t{-2};
  };
  tree.write("proc/self/mountinfo", "20 1 0:9 / / rw - overlay overlay rw\n");
  {
    ProbeBench bench(kDiskProbe, tree.roots());
    for (int i = 0; i < 3; ++i) EXPECT_EQ(capacity(bench), -2);
    EXPECT_EQ(zpool.asked(), "") << "no ZFS is mounted";
  }
  tree.write("proc/self/mountinfo", "20 1 0:9 / / rw - overlay overlay rw\n29 20 0:43 / /usr rw - zfs tank/usr rw\n");
  ProbeBench bench(kDiskProbe, tree.roots());
  EXPECT_GT(capacity(bench), 0) << "of its mount, as long as nobody answered";
  EXPECT_TRUE(until([&] { return capacity(bench) == 1'000'204'886'016; }));
}

}  // namespace
}  // namespace tacho
