// The tree beside one whose every fork and end the test itself orders.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "os/file.h"
#include "probe/tree/process_tree.h"
#include "probe/tree/tree_test_support.h"
#include "procfs/pid_files.h"
#include "procfs/stat.h"

namespace tacho {
namespace {

// A tree that forks, doubles, starts threads and ends at the test's word: who lives is known without reading anything.
class Puppets {
 public:
  static constexpr int kMost = 40;
  Puppets() {
    shared_ = static_cast<std::atomic<pid_t>*>(
        ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    const pid_t root = ::fork();
    if (root == 0) live(0);
    done_.wait();
  }
  ~Puppets() {
    for (int who = 0; who < kMost; ++who)
      if (shared_[who] > 0) ::kill(shared_[who], SIGKILL);
    while (::waitpid(-1, nullptr, 0) > 0 || errno == EINTR) {}
    ::munmap(shared_, 4096);
  }
  // 'f': forks `other`. 't': a thread does, and stays. 'u': a thread does, and ends. 'd': through one that ends at
  // once.
  void fork(int who, char how, int other) const { tell(who, how, other); }
  void end(int who) {
    const pid_t pid = shared_[who].exchange(0);
    ::kill(pid, SIGKILL);
    siginfo_t info{};
    if (::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT) == 0)
      return;  // ours by adoption, or the root
    for (std::string path = "/proc/" + std::to_string(pid) + "/stat";;) {
      const auto text = read_whole_file(path, 4096);
      PidStat stat;
      if (!text || !parse_pid_stat(*text, stat) || (stat.state == 'Z' && stat.threads <= 1)) return;
      ::usleep(200);
    }
  }
  pid_t pid(int who) const { return shared_[who]; }

 private:
  void tell(int who, char how, int other) const {
    const char words[2] = {how, static_cast<char>(other)};
    ASSERT_EQ(::write(ears_[who].ends[1], words, 2), 2);
    done_.wait();  // for the new one,
    done_.wait();  // and for who was told
  }
  [[noreturn]] void live(int who) const {
    shared_[who] = ::getpid();
    done_.raise();
    for (;;) {
      char words[2] = {0, 0};
      if (::read(ears_[who].ends[0], words, 2) != 2) ::_exit(1);
      const auto begin = [this, other = words[1]] {
        if (::fork() == 0) live(other);
      };
      if (words[0] == 'f') begin();
      if (words[0] == 't')
        std::thread([=] {
          begin();
          for (;;) ::pause();
        }).detach();
      if (words[0] == 'u') std::thread(begin).join();
      if (words[0] == 'd') {
        const pid_t middle = ::fork();
        if (middle == 0) {
          begin();
          ::_exit(0);
        }
        ::waitpid(middle, nullptr, 0);
      }
      done_.raise();
    }
  }
  Flag done_;
  Flag ears_[kMost];
  std::atomic<pid_t>* shared_ = nullptr;
};

int64_t forks_so_far() {
  const auto text = read_whole_file("/proc/stat", 1 << 20);
  return text ? parse_proc_stat(*text).forks : -1;
}

// Nobody is missing at any tick, whoever forked it and how, and however few or many ticks there were; and nobody is too
// many.
TEST(ProcessTree, ARandomTreeIsWhollyThereAtEveryTick) {
  const unsigned seed = std::random_device{}();
  std::mt19937 random(seed);
  const auto chance = [&](size_t among) { return static_cast<size_t>(random() % among); };
  ASSERT_EQ(::prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
  {
    Following following;
    following.tree.expect_own_child();
    Puppets puppets;
    ASSERT_TRUE(following.tree.follow(puppets.pid(0), true));
    std::vector<int> alive{0}, free;
    for (int who = Puppets::kMost; --who > 0;) free.push_back(who);
    for (int step = 0; step < 400; ++step) {
      if (!free.empty() && (alive.size() < 3 || chance(3) > 0)) {
        puppets.fork(alive[chance(alive.size())], "fftud"[chance(5)], free.back());
        alive.push_back(free.back());
        free.pop_back();
      } else {
        const size_t which = 1 + chance(alive.size() - 1);  // the root stays
        puppets.end(alive[which]);
        free.push_back(alive[which]);
        alive.erase(alive.begin() + static_cast<std::ptrdiff_t>(which));
      }
      if (chance(3) == 0) continue;
      following.tick(chance(4) == 0 ? -1 : forks_so_far());
      for (const int who : alive)
        ASSERT_TRUE(following.tree.contains(puppets.pid(who)))
            << "seed " << seed << ", step " << step << ", " << puppets.pid(who);
      ASSERT_EQ(following.tree.children(), static_cast<int64_t>(alive.size()) - 1)
          << "seed " << seed << ", step " << step;
    }
  }
  ::prctl(PR_SET_CHILD_SUBREAPER, 0);
}

}  // namespace
}  // namespace tacho
