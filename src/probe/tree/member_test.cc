// Members of a tree over files of /proc that the test writes.
#include "probe/tree/member.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <string>

#include "probe/tree/tree_test_support.h"
#include "support/temp_dir.h"

namespace tacho {
namespace {

// A /proc of files that the test writes, over real processes.
struct WrittenProc {
  TempDir folder;
  std::string own = std::to_string(::getpid());
  WrittenProc() {
    std::filesystem::create_directories(folder / own);
    std::filesystem::create_symlink(own, folder / "self");
    spill(folder / (own + "/stat"), own + " (test) S 1 1 1");
    std::filesystem::create_directories(folder / (own + "/task/" + own));
    spill(folder / (own + "/task/" + own + "/children"), "");
  }
  void process(pid_t pid, pid_t parent, int cutime, int blkio, const std::string& children) const {
    const std::string number = std::to_string(pid);
    std::filesystem::create_directories(folder / (number + "/task/" + number));
    std::string text = number + " (x) S " + std::to_string(parent) + " 1 1 0 -1 64 1 2 3 4 0 0 " +
                       std::to_string(cutime) + " 0 20 0 1 0 99 1000 25";
    for (int field = 25; field < 42; ++field) text += " 0";
    spill(folder / (number + "/stat"), text + " " + std::to_string(blkio) + " 0 0");
    spill(folder / (number + "/task/" + number + "/children"), children);
  }
};

// The kernel adds the time that a process waited for disks to nobody when it is waited for.
TEST(ProcessTree, DiskWaitsOfReapedChildrenAreKept) {
  const Worker root([] {}), child([] {});
  root.wait_until_done();
  child.wait_until_done();
  const WrittenProc proc;
  ProbeContext context;
  context.roots.proc = proc.folder.path();
  ProcessTree tree(context);
  tree.expect_own_child();
  proc.process(root.pid, ::getpid(), 0, 10, std::to_string(child.pid) + " ");
  proc.process(child.pid, root.pid, 0, 200, "");
  ASSERT_TRUE(tree.follow(root.pid, true));
  tree.update(1);
  ASSERT_EQ(tree.children(), 1);
  const int64_t tick_ns = 1'000'000'000 / ::sysconf(_SC_CLK_TCK);
  EXPECT_EQ(tree.total().iowait_ns, 210 * tick_ns);
  ::kill(child.pid, SIGKILL);
  child.end();
  std::filesystem::remove_all(proc.folder / std::to_string(child.pid));
  proc.process(root.pid, ::getpid(), 50, 15, "");  // it waited for the child
  context.facts.closing = true;                    // everybody is read
  tree.update(2);
  EXPECT_EQ(tree.children(), 0);
  EXPECT_EQ(tree.total().iowait_ns, 215 * tick_ns);
  root.end();
}

TEST(Member, AReusedNumberIsAnotherProcess) {
  const TempDir dir;
  const std::string self = std::to_string(::getpid());
  std::filesystem::create_directories(dir / self);
  const auto stat = [&](int start) {
    spill(dir / (self + "/stat"),
          self + " (x) S 1 1 1 0 -1 64 1 2 3 4 5 6 7 8 20 0 1 0 " + std::to_string(start) + " 1000 25");
  };
  const Fd proc(::open(dir.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  ReadBuffer buffer;
  for (const bool keeps_descriptors : {false, true}) {
    stat(99);
    Member member(::getpid());
    ASSERT_TRUE(member.open(proc.get(), buffer, keeps_descriptors));
    EXPECT_TRUE(member.refresh(proc.get(), buffer));
    stat(100);
    EXPECT_FALSE(member.refresh(proc.get(), buffer)) << keeps_descriptors;
  }
}

// stat leaves out what single CPUs have not told yet: some hundred KiB of a small process, more on a large machine.
TEST(Member, ItsMemoryIsThatOfStatm) {
  const TempDir dir;
  const std::string folder = dir / std::to_string(::getpid());
  std::filesystem::create_directories(folder);
  spill(folder + "/stat", std::to_string(::getpid()) + " (x) S 1 1 1 0 -1 64 1 2 3 4 5 6 7 8 20 0 1 0 99 1000 25");
  spill(folder + "/statm", "90 61 1 1 0 1 0\n");
  const Fd proc(::open(dir.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  ReadBuffer buffer;
  const int64_t page = ::sysconf(_SC_PAGESIZE);
  for (const bool keeps_descriptors : {false, true}) {
    Member member(::getpid());
    ASSERT_TRUE(member.open(proc.get(), buffer, keeps_descriptors));
    EXPECT_EQ(member.rss_bytes(), 61 * page);
  }
  std::filesystem::remove(folder + "/statm");
  Member without(::getpid());
  ASSERT_TRUE(without.open(proc.get(), buffer, false));
  EXPECT_EQ(without.rss_bytes(), 25 * page);
}

}  // namespace
}  // namespace tacho
