// burn_random_tree FILE SEED MS WITH: a tree of processes that does at random whatever a tree can do, for MS
// milliseconds, and keeps its own account in FILE (random_tree.h). WITH is a word of letters: i SIGCHLD is ignored by
// all, o processes whose parent ends, s new sessions, p children given to the parent (CLONE_PARENT), r numbers that
// ended processes had (needs root), t threads that fork, v vfork, x exec, z stop and continue, m memory, c calm: after
// the start all wait and sleep for the most part. Prints "ready PID", begins at the first byte on standard input, and
// ends when nobody else is left. The same seed makes the same choices in each process; the order is the machine's.
#include <sched.h>
#include <sys/syscall.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstring>
#include <thread>
#include <vector>

#include "burner.h"
#include "random_tree.h"

namespace {
using namespace tacho::burner;

constexpr int64_t kMostAlive = 24;
constexpr int kDeepest = 5;

TreeLedger* g_ledger = nullptr;
const char* g_path = nullptr;
const char* g_with = "";
int64_t g_told_ns = 0;

bool with(char letter) { return std::strchr(g_with, letter) != nullptr; }

struct Random {
  uint64_t state;
  uint64_t next() {  // splitmix64
    uint64_t z = (state += 0x9e3779b97f4a7c15ULL);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  }
  int64_t below(int64_t most) { return static_cast<int64_t>(next() % static_cast<uint64_t>(most)); }
};

void tell() {
  const int64_t now_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
  g_ledger->cpu_ns += now_ns - g_told_ns;
  g_told_ns = now_ns;
}

bool late() { return clock_ns(CLOCK_MONOTONIC) >= g_ledger->deadline_ns; }

[[noreturn]] void leave() {
  g_ledger->recent[static_cast<size_t>(getpid()) % 16] = getpid();
  tell();
  ++g_ledger->ended;
  _exit(0);
}

void live(Random random, int depth);

// The new process has its own clock and goes on by itself.
[[noreturn]] void begin_child(uint64_t seed, int depth, bool exec) {
  g_told_ns = 0;
  Random random{seed};
  if (exec) {
    tell();
    const std::string number = std::to_string(random.next()), told = std::to_string(g_told_ns),
                      deep = std::to_string(depth);
    execl("/proc/self/exe", "random_child", g_path, number.c_str(), told.c_str(), g_with, deep.c_str(), nullptr);
    _exit(3);
  }
  live(random, depth);
  leave();
}

// clone3 with the number of one that ended; an ordinary fork where that is not to be had.
pid_t fork_with_number(pid_t number) {
  struct {
    uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls, set_tid, set_tid_size;
  } arguments{};
  arguments.exit_signal = SIGCHLD;
  arguments.set_tid = reinterpret_cast<uint64_t>(&number);
  arguments.set_tid_size = 1;
  const long pid = number > 0 ? syscall(SYS_clone3, &arguments, sizeof arguments) : -1;
  if (pid >= 0) {
    if (pid == 0) ++g_ledger->reused;
    return static_cast<pid_t>(pid);
  }
  return fork();
}

// One more is about to be forked, with all pages of its parent. By vfork it has none.
void count_start() {
  ++g_ledger->started;
  long long all = 0, resident = 0;
  FILE* file = std::fopen("/proc/self/statm", "re");
  if (file == nullptr || std::fscanf(file, "%lld %lld", &all, &resident) != 2) std::exit(2);
  std::fclose(file);
  g_ledger->forked_kib += resident * (sysconf(_SC_PAGESIZE) / 1024);
}

pid_t counted(pid_t pid) {
  if (pid < 0) --g_ledger->started;
  return pid;
}

class Family {
 public:
  Family(Random& random, int depth) : random_(random), depth_(depth) {}
  ~Family() { join_threads(); }

  // A thread that did not get to run yet may fork still.
  void join_threads() {
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }

  void spawn() {
    if (depth_ >= kDeepest || g_ledger->started - g_ledger->ended >= kMostAlive || late()) return;
    const uint64_t seed = random_.next();
    const bool exec = with('x') && random_.below(3) == 0;
    switch (random_.below(8)) {
      case 0:
        if (with('o')) return orphan(seed, exec);
        break;
      case 1:
        if (with('t')) return by_thread(seed, exec);
        break;
      case 2:
        if (with('v')) return by_vfork(seed);
        break;
      case 3:
        if (with('p') && depth_ > 0) return beside(seed, exec);
        break;
      case 4:
        if (with('r')) return with_number(seed);
        break;
      default: break;
    }
    count_start();
    const pid_t pid = counted(fork());
    if (pid == 0) {
      if (with('s') && seed % 4 == 0) setsid();
      begin_child(seed, depth_ + 1, exec);
    }
    if (pid > 0) children_.push_back(pid);
  }

  void stop_one() {
    if (children_.empty()) return;
    const pid_t pid = children_[static_cast<size_t>(random_.below(static_cast<int64_t>(children_.size())))];
    kill(pid, SIGSTOP);
    sleep_ms(1 + random_.below(60));
    kill(pid, SIGCONT);
  }

  void wait_one() {
    if (children_.empty()) return;
    const pid_t pid = children_.back();
    children_.pop_back();
    waitpid(pid, nullptr, 0);  // it may take as long as it lives
  }

 private:
  void orphan(uint64_t seed, bool exec) {
    count_start();
    const pid_t middle = counted(fork());
    if (middle == 0) {
      g_told_ns = 0;
      if (with('s') && seed % 3 == 0) setsid();
      count_start();
      if (counted(fork()) == 0) begin_child(seed, depth_ + 1, exec);
      leave();
    }
    if (middle > 0) waitpid(middle, nullptr, 0);
  }

  void by_thread(uint64_t seed, bool exec) {
    const int64_t linger_ms = random_.below(80);
    const int depth = depth_;
    threads_.emplace_back([seed, exec, linger_ms, depth] {
      count_start();
      if (counted(fork()) == 0) begin_child(seed, depth + 1, exec);
      sleep_ms(linger_ms);  // then its child is another thread's
    });
    if (random_.below(2) == 0) {
      threads_.back().join();
      threads_.pop_back();
    }
  }

  void by_vfork(uint64_t seed) {
    const std::string number = std::to_string(seed), deep = std::to_string(depth_ + 1), self = self_path();
    ++g_ledger->started;
    const pid_t pid = vfork();  // NOLINT: what it is for
    if (pid == 0) {
      execl(self.c_str(), "random_child", g_path, number.c_str(), "0", g_with, deep.c_str(), nullptr);
      _exit(3);
    }
    if (counted(pid) > 0) children_.push_back(pid);
  }

  // A call of the kernel's own leaves the locks of libc as they are: no other thread may hold one.
  void beside(uint64_t seed, bool exec) {
    join_threads();
    count_start();
    const long pid = syscall(SYS_clone, CLONE_PARENT | SIGCHLD, nullptr, nullptr, nullptr, nullptr);
    if (counted(static_cast<pid_t>(pid)) == 0) begin_child(seed, depth_, exec);
  }

  void with_number(uint64_t seed) {
    join_threads();
    count_start();
    const pid_t pid = counted(fork_with_number(g_ledger->recent[random_.below(16)]));
    if (pid == 0) begin_child(seed, depth_ + 1, false);
    if (pid > 0) children_.push_back(pid);
  }

  Random& random_;
  int depth_;
  std::vector<pid_t> children_;
  std::vector<std::thread> threads_;
};

void burn(int64_t ms) {
  for (; ms > 0 && !late(); ms -= 2) {
    burn_user_us(2000);
    tell();
  }
}

void live(Random random, int depth) {
  Family family(random, depth);
  std::vector<std::pair<void*, size_t>> memory;
  const bool calm = with('c');
  for (int64_t i = 0, first = depth == 0 ? 4 : calm && depth < 3 ? random.below(3) : 0; i < first; ++i) family.spawn();
  if (calm && depth == 0) wait_all();
  for (int64_t step = 0, steps = depth == 0 ? INT64_MAX : 2 + random.below(10); step < steps && !late(); ++step) {
    tell();
    if (calm && random.below(8) != 0) {
      sleep_ms(50 + random.below(600));
      continue;
    }
    switch (random.below(10)) {
      case 0:
      case 1: burn(1 + random.below(60)); break;
      case 2:
      case 3: sleep_ms(1 << random.below(9)); break;
      case 5:
        if (with('z')) family.stop_one();
        break;
      case 6: family.wait_one(); break;
      case 7:
        if (with('m')) {
          const size_t bytes = static_cast<size_t>(1 + random.below(12)) << 20;
          g_ledger->forked_kib += static_cast<int64_t>(bytes >> 10);  // before: it may have ended by the next walk
          void* block = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
          if (block == MAP_FAILED) std::exit(2);
          std::memset(block, 1, bytes);
          memory.emplace_back(block, bytes);
          if (memory.size() > 2) {
            munmap(memory.front().first, memory.front().second);
            memory.erase(memory.begin());
          }
        }
        break;
      default: family.spawn();
    }
  }
  if (with('o') && depth > 0 && random.below(6) == 0) return;
  family.join_threads();  // before: a child that is forked after the last wait would be an orphan
  wait_all();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) return 2;
  g_path = argv[1];
  g_with = argv[4];
  g_ledger = map_ledger(g_path);
  signal(SIGHUP, SIG_IGN);  // a stopped process whose group is orphaned gets one
  const auto seed = static_cast<uint64_t>(std::strtoull(argv[2], nullptr, 10));
  const int64_t third = number(argc, argv, 3, 3000);
  if (argc > 5) {
    g_told_ns = third;
    live(Random{seed}, static_cast<int>(number(argc, argv, 5, 1)));
    leave();
  }
  if (with('i')) signal(SIGCHLD, SIG_IGN);
  std::printf("ready %d\n", getpid());
  std::fflush(stdout);
  char go = 0;
  if (read(0, &go, 1) < 0) return 2;
  g_told_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
  g_ledger->deadline_ns = clock_ns(CLOCK_MONOTONIC) + third * 1'000'000;
  live(Random{seed}, 0);
  while (g_ledger->started > g_ledger->ended) {
    wait_all();
    sleep_ms(2);
  }
  sleep_ms(20);  // those that were not ours to wait for are gone, too
  tell();
  std::printf("{\"cpu_s\":%.6f,\"started\":%" PRId64 ",\"reused\":%" PRId64 "}\n",
              static_cast<double>(g_ledger->cpu_ns) * 1e-9, g_ledger->started.load(), g_ledger->reused.load());
  return 0;
}
