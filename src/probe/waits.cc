#include "probe/waits.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdio>
#include <vector>

#include "os/directory.h"
#include "probe/tree/process_tree.h"
#include "probe/tree/thread_look.h"

namespace tacho {
namespace {

constexpr std::string_view kHelp[kWaitStates] = {
    "Threads of the job that ran or waited for a CPU at the tick.",
    "Threads of the job that waited for a disk or a file system at the tick.",
    "Threads of the job that waited for a peer on the network at the tick.",
    "Threads of the job that waited for a lock at the tick.",
    "Threads of the job that waited for a child process at the tick.",
    "Threads of the job that waited for a pipe, a local socket or a message queue at the tick.",
    "Threads of the job that slept for a time or for a signal at the tick.",
    "Threads of the job that waited for a GPU at the tick.",
    "Threads of the job that waited for another thread to give them work at the tick.",
    "Threads of the job in any other state, or that could not be looked at."};

constexpr Column waits_column(WaitState state, std::string_view name) {
  const auto field = static_cast<size_t>(state);
  return {260 + static_cast<int>(field), name, "count", 0, Rule::level, field, 1, kHelp[field], nullptr};
}

constexpr Column kColumns[] = {
    waits_column(WaitState::cpu, "process_waits_cpu"),         waits_column(WaitState::disk, "process_waits_disk"),
    waits_column(WaitState::network, "process_waits_network"), waits_column(WaitState::lock, "process_waits_lock"),
    waits_column(WaitState::child, "process_waits_child"),     waits_column(WaitState::pipe, "process_waits_pipe"),
    waits_column(WaitState::sleep, "process_waits_sleep"),     waits_column(WaitState::gpu, "process_waits_gpu"),
    waits_column(WaitState::idle, "process_waits_idle"),       waits_column(WaitState::other, "process_waits_other"),
};

constexpr size_t kMostKept = 256;  // descriptors, beyond which a thread's file is opened for each look
constexpr double kMostlyBySyscall = 0.9;

class WaitsProbe final : public Probe {
 public:
  explicit WaitsProbe(ProbeContext& context) : context_(context), look_(context.roots.proc, context.buffer) {}

  void read(Reading& out) override {
    const ProcessTree& tree = *context_.tree;
    if (!tree.sees_processes() || look_.proc_fd() < 0) return;
    follow_members(tree);
    const int64_t threads = tree.threads();
    seen_ = {};
    const bool sampled = threads > kMostLooks;
    sampled ? look_at_some(tree, threads) : look_at_all(tree);
    const WaitCounts counts = scaled_waits(seen_, threads, sampled);
    for (size_t i = 0; i < kWaitStates; ++i) out.set(i, counts[i]);
    tell_method();
  }

 private:
  struct Followed {
    pid_t pid = 0;
    uint64_t start_time = 0;
    bool listed = false;
    uint32_t listed_tick = 0;  // of its last running, when its threads were listed
    std::vector<LookedThread> threads;
  };

  // Both are sorted by pid. Nothing is done while nobody came or went.
  void follow_members(const ProcessTree& tree) {
    const auto members = tree.members();
    const auto same = [](const Followed& followed, const Member& member) {
      return followed.pid == member.pid() && followed.start_time == member.start_time();
    };
    if (std::equal(followed_.begin(), followed_.end(), members.begin(), members.end(), same)) return;
    before_.swap(followed_);
    followed_.clear();
    size_t at = 0;
    for (const Member& member : members) {
      while (at < before_.size() && before_[at].pid < member.pid()) forget(before_[at++]);
      if (at < before_.size() && same(before_[at], member)) {
        followed_.push_back(std::move(before_[at++]));
      } else {
        followed_.emplace_back();
        followed_.back().pid = member.pid();
        followed_.back().start_time = member.start_time();
      }
    }
    while (at < before_.size()) forget(before_[at++]);
    before_.clear();
  }

  void forget(Followed& followed) {
    for (LookedThread& thread : followed.threads) forget(thread);
  }
  void forget(LookedThread& thread) {
    if (thread.syscall_fd) --kept_;
    thread.syscall_fd.reset();
  }

  void look_at_all(const ProcessTree& tree) {
    const auto members = tree.members();
    for (size_t i = 0; i < members.size(); ++i) {
      if (members[i].zombie()) continue;
      list_threads(followed_[i], members[i]);
      for (size_t j = 0; j < followed_[i].threads.size(); ++j) count(followed_[i], j, members[i]);
    }
  }

  void look_at_some(const ProcessTree& tree, int64_t threads) {
    const auto members = tree.members();
    const int64_t tick = rotation_++;
    int64_t next = 0, begin = 0;  // of the looks, of the member's threads
    for (size_t i = 0; i < members.size() && next < kMostLooks; ++i) {
      if (members[i].zombie()) continue;
      const int64_t end = begin + members[i].threads();
      for (int64_t at = looked_place(threads, tick, next); at < end && next < kMostLooks;
           at = looked_place(threads, tick, ++next)) {
        list_threads(followed_[i], members[i]);
        const auto index = static_cast<size_t>(std::max<int64_t>(0, at - begin));
        if (index < followed_[i].threads.size()) count(followed_[i], index, members[i]);
        else ++seen_[static_cast<size_t>(WaitState::other)];
      }
      begin = end;
    }
  }

  // Threads come and go only while their process runs.
  void list_threads(Followed& followed, const Member& member) {
    const bool complete = static_cast<int64_t>(followed.threads.size()) == member.threads();
    if (followed.listed && (complete || followed.listed_tick == member.ran_tick)) return;
    followed.listed = true;
    followed.listed_tick = member.ran_tick;
    if (member.threads() <= 1) {
      if (followed.threads.size() == 1 && followed.threads[0].tid == followed.pid) return;
      forget(followed);
      followed.threads.clear();
      followed.threads.emplace_back(followed.pid);
      return;
    }
    char path[32];
    std::snprintf(path, sizeof path, "%d/task", static_cast<int>(followed.pid));
    const Fd tasks(::openat(look_.proc_fd(), path, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!tasks) return;
    std::vector<LookedThread>& threads = followed.threads;
    size_t known = 0;
    NumericEntries entries(tasks.get());
    for (int tid = 0; entries.next(tid);) {
      // In the kernel's order: what stands between ended. Beyond a few it is taken for a new one.
      const size_t last = std::min(threads.size(), known + kMostLooks);
      size_t at = known;
      while (at < last && threads[at].tid != tid) ++at;
      if (at == last) {
        at = threads.size();
        threads.emplace_back(tid);
      }
      if (at != known) std::swap(threads[at], threads[known]);
      ++known;
    }
    for (size_t i = known; i < threads.size(); ++i) forget(threads[i]);
    threads.erase(threads.begin() + static_cast<std::ptrdiff_t>(known), threads.end());
  }

  // A process that did not run since it was looked at is in the state that it was in.
  void count(Followed& followed, size_t index, const Member& member) {
    LookedThread& thread = followed.threads[index];
    if (member.stopped()) {
      thread.looked = false;
      ++seen_[static_cast<size_t>(WaitState::other)];
      return;
    }
    if (!thread.looked || thread.ran_tick != member.ran_tick) {
      const bool had = static_cast<bool>(thread.syscall_fd);
      const auto state = look_.look(followed.pid, thread, had || kept_ < kMostKept);
      kept_ += static_cast<size_t>(static_cast<bool>(thread.syscall_fd)) - static_cast<size_t>(had);
      if (!state) {
        forget(thread);
        followed.listed = false;
        return;  // counted with those that could not be looked at
      }
      thread.state = *state;
      thread.looked = true;
      thread.ran_tick = member.ran_tick;
    }
    ++seen_[static_cast<size_t>(thread.state)];
  }

  void tell_method() {
    const auto all = static_cast<double>(look_.by_syscall() + look_.by_wchan());
    if (all > 0)
      context_.waits_method = static_cast<double>(look_.by_syscall()) >= kMostlyBySyscall * all ? "syscall" : "wchan";
  }

  ProbeContext& context_;
  ThreadLook look_;
  std::vector<Followed> followed_, before_;
  WaitCounts seen_{};
  size_t kept_ = 0;
  int64_t rotation_ = 0;
};

Result<std::unique_ptr<Probe>> make(ProbeContext& context) {
  if (context.tree == nullptr) return Error{Code::not_available, "no process is tracked", "", ""};
  return std::unique_ptr<Probe>(std::make_unique<WaitsProbe>(context));
}

Status check(const Roots& roots) {
  if (file_exists(roots.proc + "/self/task")) return ok();
  return Error{Code::not_available, "no thread files", roots.proc + "/self/task", "mount /proc"};
}

}  // namespace

int64_t looked_place(int64_t threads, int64_t tick, int64_t nth) {
  const int64_t stride = (threads + kMostLooks - 1) / kMostLooks;
  return tick % std::max<int64_t>(1, stride) + nth * threads / kMostLooks;
}

WaitCounts scaled_waits(const WaitCounts& seen, int64_t threads, bool sampled) {
  WaitCounts counts = seen;
  int64_t sum = 0;
  for (const int64_t count : seen) sum += count;
  constexpr auto kOther = static_cast<size_t>(WaitState::other);
  if (sum == 0 || (!sampled && sum <= threads)) {
    counts[kOther] += threads - sum;
    return counts;
  }
  // The largest remainders get what rounding down leaves.
  std::array<int64_t, kWaitStates> rest{};
  int64_t left = threads;
  for (size_t i = 0; i < kWaitStates; ++i) {
    counts[i] = seen[i] * threads / sum;
    rest[i] = seen[i] * threads % sum;
    left -= counts[i];
  }
  for (; left > 0; --left) {
    const auto largest = std::max_element(rest.begin(), rest.end());
    ++counts[static_cast<size_t>(largest - rest.begin())];
    *largest = -1;
  }
  return counts;
}

constinit const ProbeInfo kWaitsProbe{"waits", ProbeDefault::on, "what the job's threads wait for", kColumns, make,
                                      check};

}  // namespace tacho
