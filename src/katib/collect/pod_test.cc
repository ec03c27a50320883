#include "katib/collect/pod.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>

#include "katib/collect/collect_state.h"
#include "katib/collect/journal.h"
#include "katib/collect/marker.h"
#include "katib/collect/trainer.h"
#include "katib/collect/tree_killer.h"
#include "os/clock.h"
#include "os/process.h"
#include "support/temp_dir.h"

namespace tacho {
namespace {

namespace fs = std::filesystem;

// A /proc of a pod.
class FakePod : public ::testing::Test {
 protected:
  FakePod() : dir_(fs::path(::testing::TempDir()) / ("pod" + std::to_string(::getpid()))) {
    fs::remove_all(dir_);
    fs::create_directories(dir_ / "proc");
    fs::create_directories(dir_ / "shared");
    roots_.proc = dir_ / "proc";
    add(1, 0, 1, 1, "/pause");
  }
  ~FakePod() override { fs::remove_all(dir_); }
  void add(int pid, int parent, int group, int start, std::string command, char state = 'S') {
    const fs::path folder = dir_ / "proc" / std::to_string(pid);
    fs::create_directories(folder);
    std::ofstream(folder / "stat") << pid << " (a b) c) " << state << " " << parent << " " << group << " " << group
                                   << " 0 -1 4194560 1 0 0 0 1 1 0 0 20 0 1 0 " << start << " 1000 10 0";
    std::replace(command.begin(), command.end(), ' ', '\0');
    std::ofstream(folder / "cmdline") << command << '\0';
  }
  void remove(int pid) { fs::remove_all(dir_ / "proc" / std::to_string(pid)); }
  std::string shared() const { return dir_ / "shared"; }
  void put(const std::string& name, const std::string& text) { std::ofstream(dir_ / "shared" / name) << text; }
  void make_old(const std::string& name) {
    fs::last_write_time(dir_ / "shared" / name, fs::file_time_type::clock::now() - std::chrono::hours(1));
  }
  TrainerOptions options() {
    TrainerOptions out;
    out.roots = roots_;
    out.folder = shared();
    out.ignored = {"envoy"};
    return out;
  }

  fs::path dir_;
  Roots roots_;
};

TEST_F(FakePod, ContainersAreOldestFirst) {
  add(30, 0, 30, 500, "second");
  add(20, 0, 20, 400, "first");
  add(21, 20, 20, 401, "child");
  add(40, 0, 40, 300, "/usr/bin/envoy -c x");
  add(50, 0, 50, 200, "dead", 'Z');
  const auto roots = container_roots(roots_, std::vector<std::string>{"envoy"});
  ASSERT_EQ(roots.size(), 2u);
  EXPECT_EQ(roots[0], (ProcessId{20, 400}));
  EXPECT_EQ(roots[1], (ProcessId{30, 500}));
}

// A native sidecar's start-up probe runs before any trainer does, in a process of its own without a parent.
TEST_F(FakePod, TheStartUpProbeIsNoTrainer) {
  add(20, 0, 20, 400, "/usr/bin/tacho-katib collect --ready");
  add(21, 0, 21, 401, "tacho-katib collect -ready=true");
  add(22, 0, 22, 402, "/proc/self/exe init");
  fs::create_symlink("/memfd:runc_cloned:/proc/self/exe (deleted)", dir_ / "proc/22/exe");
  EXPECT_TRUE(container_roots(roots_, {}).empty());
  Trainer trainer(options());
  EXPECT_FALSE(trainer.look());
  EXPECT_FALSE(trainer.found());
  add(30, 0, 30, 500, "python3 train.py --ready");
  ASSERT_EQ(container_roots(roots_, {}).size(), 1u);
  EXPECT_EQ(container_roots(roots_, {})[0], (ProcessId{30, 500}));
  add(31, 0, 31, 499, "tacho-katib collect -t ready");
  EXPECT_EQ(container_roots(roots_, {}).size(), 2u) << "another collector is no probe";
}

TEST_F(FakePod, DescendantsByParentAndGroup) {
  add(20, 0, 20, 400, "sh");
  add(21, 20, 20, 401, "torchrun");
  add(22, 21, 22, 402, "worker");
  add(23, 1, 22, 403, "left by its parent");
  add(24, 22, 24, 404, "dead", 'Z');
  add(30, 0, 30, 500, "sidecar");
  add(31, 30, 30, 501, "its child");
  std::vector<pid_t> groups;
  std::vector<pid_t> pids;
  for (const ProcessId& id : descendants(roots_, {20, 400}, groups)) pids.push_back(id.pid);
  std::sort(pids.begin(), pids.end());
  EXPECT_EQ(pids, (std::vector<pid_t>{21, 22, 23}));
  // The launcher ended; its group is remembered.
  remove(21);
  remove(22);
  const auto left = descendants(roots_, {20, 400}, groups);
  ASSERT_EQ(left.size(), 1u);
  EXPECT_EQ(left[0].pid, 23);
}

TEST(Wrapper, WholePathOnly) {
  EXPECT_TRUE(is_wrapper_command("sh -c x && echo completed > /var/log/katib/$$.pid", "/var/log/katib"));
  EXPECT_TRUE(is_wrapper_command("sh -c x && echo completed > /var/log/katib/$$.pid", "/var/log/katib/"));
  EXPECT_TRUE(is_wrapper_command("/tacho/exec --note echo completed > /var/log/katib -- x", "/var/log/katib"));
  EXPECT_FALSE(is_wrapper_command("sh -c x && echo completed > /var/log/katib2/$$.pid", "/var/log/katib"));
  EXPECT_FALSE(is_wrapper_command("sh -c x && echo completed > /var/log/katib/deeper/$$.pid", "/var/log/katib"));
  EXPECT_FALSE(is_wrapper_command("sh -c echo completed", "/var/log/katib"));
}

TEST_F(FakePod, MainIsTheRecordThenTheWrapperThenTheOldest) {
  add(20, 0, 20, 400, "other");
  Trainer trainer(options());
  EXPECT_TRUE(trainer.look());
  EXPECT_EQ(trainer.main().pid, 20);
  EXPECT_FALSE(trainer.wrapped());
  // A better answer comes later.
  add(30, 0, 30, 500, "sh -c x && echo completed > " + shared() + "/$$.pid");
  EXPECT_TRUE(trainer.look());
  EXPECT_EQ(trainer.main().pid, 30);
  EXPECT_TRUE(trainer.wrapped());
  EXPECT_FALSE(trainer.search_again());

  add(40, 0, 40, 600, "launcher");
  put(".tacho-launcher", "40 600\n");
  Trainer second(options());
  EXPECT_TRUE(second.look());
  EXPECT_EQ(second.main(), (ProcessId{40, 600}));
}

TEST_F(FakePod, ReusedPidIsNotTheLauncher) {
  put(".tacho-launcher", "40 600\n");
  put("40.pid", "completed\n");
  add(40, 0, 40, 900, "somebody else");
  Trainer trainer(options());
  EXPECT_TRUE(trainer.look());
  EXPECT_EQ(trainer.main(), (ProcessId{40, 600}));
  EXPECT_TRUE(trainer.main_gone());
  EXPECT_EQ(trainer.end(), TrainingEnd::success);
}

TEST_F(FakePod, TrainerThatIsGoneIsKnownByItsMarker) {
  put("77.pid", "completed\n");
  add(30, 0, 30, 500, "sidecar");
  Trainer trainer(options());
  EXPECT_TRUE(trainer.look());
  EXPECT_EQ(trainer.main().pid, 77);
  EXPECT_TRUE(trainer.main_gone());
}

// Its wrapper was killed before it could rewrite our mark, or wrote something else.
TEST_F(FakePod, TrainerThatIsGoneIsKnownByAnyMarker) {
  for (const auto& [text, end] : std::vector<std::pair<std::string, TrainingEnd>>{
           {"early-stopped\n", TrainingEnd::early_stopped}, {"banana\n", TrainingEnd::damaged}}) {
    put("77.pid", text);
    Trainer trainer(options());
    EXPECT_FALSE(trainer.look()) << "it may be about to start";
    for (int i = 0; i < 10 && !trainer.found(); ++i) trainer.look();
    EXPECT_EQ(trainer.main().pid, 77);
    EXPECT_TRUE(trainer.main_gone());
    EXPECT_EQ(trainer.end(), end);
  }
}

// The folder may be a volume that outlives pods. A collector that begins before its trainer took an earlier pod's end
// for its own, and reported the objective as unavailable.
TEST_F(FakePod, WhatAnEarlierPodLeftTellsNothing) {
  TrainerOptions here = options();
  here.begin_ns = system_clock().realtime_ns();
  here.evidence = dir_ / "shared/metrics.log";
  for (const auto& [name, text] : {std::pair{".tacho-launcher", "40 600\n"},
                                   {"40.pid", "completed\n"},
                                   {"77.pid", "early-stopped\n"},
                                   {"metrics.log", "loss=1\n"}}) {
    put(name, text);
    make_old(name);
  }
  Trainer trainer(here);
  for (int i = 0; i < 20; ++i) EXPECT_FALSE(trainer.look());
  EXPECT_FALSE(trainer.found());
  put("77.pid", "completed\n");
  EXPECT_TRUE(trainer.look());
  EXPECT_EQ(trainer.main().pid, 77);
  EXPECT_EQ(trainer.end(), TrainingEnd::success);
}

// Pods give the same pids again: a failure counted as success.
TEST_F(FakePod, AMarkerFromBeforeTheProcessIsNotIts) {
  put("20.pid", "completed\n");
  make_old("20.pid");
  add(20, 0, 20, static_cast<int>(boot_time_ticks()), "x");
  Trainer trainer(options());
  EXPECT_TRUE(trainer.look());
  remove(20);
  EXPECT_EQ(trainer.end(), TrainingEnd::failed);
  put("20.pid", "completed\n");  // as a shell does: the file stays the same
  EXPECT_EQ(trainer.end(), TrainingEnd::success);
}

TEST_F(FakePod, NobodyYet) {
  Trainer trainer(options());
  EXPECT_FALSE(trainer.look());
  EXPECT_FALSE(trainer.found());
  EXPECT_EQ(trainer.end(), TrainingEnd::none);
}

TEST_F(FakePod, EndByMarker) {
  add(20, 0, 20, 400, "x");
  Trainer trainer(options());
  trainer.look();
  remove(20);
  EXPECT_EQ(trainer.end(), TrainingEnd::failed);
  for (const auto& [text, end] :
       std::vector<std::pair<std::string, TrainingEnd>>{{" completed \n", TrainingEnd::success},
                                                        {"early-stopped\n", TrainingEnd::early_stopped},
                                                        {"", TrainingEnd::damaged},
                                                        {"Completed", TrainingEnd::damaged}}) {
    put("20.pid", text);
    EXPECT_EQ(trainer.end(), end) << text;
  }
  TrainerOptions none = options();
  none.folder = "";
  Trainer without(none);
  add(20, 0, 20, 400, "x");
  without.look();
  EXPECT_EQ(without.end(), TrainingEnd::success);
}

TEST_F(FakePod, EarlyStopMarkerIsForEveryone) {
  const mode_t before = ::umask(077);
  ASSERT_TRUE(mark_early_stopped(shared(), 5));
  ::umask(before);
  EXPECT_EQ(read_marker(shared(), 5), Marker::early_stopped);
  EXPECT_EQ(fs::status(marker_path(shared(), 5)).permissions(), static_cast<fs::perms>(0666));
  EXPECT_EQ(marked_processes(shared()), std::vector<pid_t>{5});
}

TEST(LauncherRecord, Text) {
  EXPECT_EQ(parse_launcher_record("12 345\n"), (ProcessId{12, 345}));
  for (const char* bad : {"", "12", "12 x", "-1 5", "0 5", "12 345 6"}) EXPECT_FALSE(parse_launcher_record(bad)) << bad;
  EXPECT_EQ(parse_launcher_usage_ns("12 345 2300000\n", {12, 345}), 2'300'000'000);
  for (const char* bad :
       {"", "12 345", "12 345 x", "12 345 -1", "12 346 7", "13 345 7", "12 345 9223372036854775807", "7"})
    EXPECT_FALSE(parse_launcher_usage_ns(bad, {12, 345})) << bad;
}

// Over real processes: a child, a grandchild that ignores SIGTERM.
TEST(Killer, EndsTheTree) {
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t root = ::fork();
  if (root == 0) {
    ::setpgid(0, 0);
    if (::fork() == 0) {
      ::signal(SIGTERM, SIG_IGN);
      if (::write(ready[1], "x", 1) < 0) ::_exit(1);
      for (;;) ::pause();
    }
    ::signal(SIGCHLD, SIG_IGN);
    for (;;) ::pause();
  }
  char letter = 0;
  ASSERT_EQ(::read(ready[0], &letter, 1), 1);
  const auto process = read_process(Roots(), root);
  ASSERT_TRUE(process);
  TreeKiller killer(Roots(), process->id, 1'000'000'000, false);
  EXPECT_FALSE(killer.step(0));
  EXPECT_EQ(killer.signalled(), 1u);
  EXPECT_FALSE(killer.step(500'000'000));  // ignores it
  bool over = false;
  for (int i = 0; i < 500 && !over; ++i) {
    over = killer.step(1'000'000'000 + i);
    ::usleep(10'000);
  }
  EXPECT_TRUE(over);
  EXPECT_TRUE(is_alive(Roots(), process->id));  // the wrapper lives on
  TreeKiller last(Roots(), process->id, 0, true);
  last.step(0);
  EXPECT_EQ(::waitpid(root, nullptr, 0), root);
  EXPECT_FALSE(signal_process(Roots(), process->id, SIGTERM));
  ::close(ready[0]);
  ::close(ready[1]);
}

// The wrapper reads the marker by `head`: where the killer's look met it, the trial failed instead of being stopped.
TEST(TreeKiller, ShortCommandsOfTheWrapperLive) {
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t root = ::fork();
  ASSERT_GE(root, 0);
  if (root == 0) {
    ::dup2(ready[1], STDOUT_FILENO);
    ::execlp("sh", "sh", "-c", "(echo a; exec sleep 100 >/dev/null) ; (echo b; exec sleep 100 >/dev/null); echo c",
             nullptr);
    ::_exit(127);
  }
  const auto said = [&] {
    char text[2] = {};
    return ::read(ready[0], text, 2) == 2 ? text[0] : '?';
  };
  ASSERT_EQ(said(), 'a');
  const auto process = read_process(Roots(), root);
  ASSERT_TRUE(process);
  TreeKiller killer(Roots(), process->id, 60'000'000'000, false);
  EXPECT_FALSE(killer.step(0));
  ASSERT_EQ(said(), 'b');  // the next command has begun
  EXPECT_FALSE(killer.step(TreeKiller::kScanNs));
  EXPECT_EQ(killer.signalled(), 1u);
  EXPECT_FALSE(killer.step(2 * TreeKiller::kScanNs));  // it stays: it is of the trainer
  EXPECT_EQ(killer.signalled(), 2u);
  EXPECT_EQ(said(), 'c');
  EXPECT_EQ(::waitpid(root, nullptr, 0), root);
  ::close(ready[0]);
  ::close(ready[1]);
}

// The folder is the trainer's, too: whatever it puts under our names, nobody waits for ever, and nothing of others is
// written.
TEST(SharedFolder, StrangersUnderOurNames) {
  TempDir folder;
  const std::string victim = folder / "victim", marker = marker_path(folder.path(), 7);
  spill(victim, "precious");
  const auto plant = [&](const std::string& path, int kind) {
    std::filesystem::remove_all(path);
    if (kind == 0) { ASSERT_EQ(::mkfifo(path.c_str(), 0666), 0); }
    if (kind == 1) std::filesystem::create_symlink(victim, path);
    if (kind == 2) std::filesystem::create_hard_link(victim, path);
    if (kind == 3) std::filesystem::create_directories(path + "/inside");
    if (kind == 4) std::filesystem::create_symlink("/dev/zero", path);
  };
  for (int kind = 0; kind < 5; ++kind) {
    for (const char* suffix : {"", ".new"}) {
      plant(marker + suffix, kind);
      EXPECT_NE(read_marker(folder.path(), 7), Marker::completed);
      const Status marked = mark_early_stopped(folder.path(), 7);
      if (kind != 3) {
        EXPECT_TRUE(marked) << kind << suffix;
        EXPECT_EQ(read_marker(folder.path(), 7), Marker::early_stopped) << kind << suffix;
      }
      std::filesystem::remove_all(marker);
      std::filesystem::remove_all(marker + ".new");

      const std::string path = folder / "state";
      plant(path + suffix, kind);
      StateFile file(path);
      CollectState state;
      state.trial = "t";
      state.kind = "k";
      EXPECT_FALSE(file.load("t", "k"));
      file.save(state);
      if (kind != 3) { EXPECT_TRUE(StateFile(path).load("t", "k")) << kind << suffix; }
      std::filesystem::remove_all(path);
      std::filesystem::remove_all(path + ".new");
    }
    plant(folder / "rows", kind);
    Journal journal(folder / "rows", "t");
    journal.append({"2026-11-15T09:30:00Z", "m", "1", {}, {}});
    EXPECT_TRUE(journal.holds("m", "1")) << kind;
    EXPECT_EQ(slurp(victim), "precious") << kind;
  }
}

}  // namespace
}  // namespace tacho
