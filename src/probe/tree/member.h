// One process of the job's tree: its descriptors, kept open, and what was last read through them. Not thread-safe.
#pragma once
#include <sys/types.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include "model/process_record.h"
#include "model/usage.h"
#include "os/fd.h"
#include "os/file.h"
#include "probe/tree/children_lists.h"
#include "procfs/pid_files.h"

namespace tacho {

class Member {
 public:
  explicit Member(pid_t pid) : pid_(pid), memory_pid_(pid) {}

  // First reading: opens and reads everything. False when it is gone already.
  bool open(int proc_fd, ReadBuffer& buffer, bool keep_descriptors);

  // Asks the process's CPU clock, without opening anything: false when the process is gone. ran() then tells whether it
  // ran since its last reading; one that did not run did no I/O, forked nothing and did not grow.
  bool check_clock();
  // stat and io. False when it is gone.
  bool refresh(int proc_fd, ReadBuffer& buffer);

  pid_t pid() const { return pid_; }
  pid_t parent() const { return stat_.ppid; }
  uint64_t start_time() const { return stat_.start_time; }
  pid_t session() const { return stat_.session; }
  // A process whose first thread has ended is one only when no other is left.
  bool zombie() const { return (stat_.state == 'Z' && stat_.threads <= 1) || dead(); }
  bool stopped() const { return stat_.state == 'T' || stat_.state == 't'; }
  bool dead() const { return stat_.state == 'X'; }  // being reaped: its parent has its time, or is about to
  // Then the kernel reaps them by itself.
  bool ignores_children() const { return (stat_.ignored >> (SIGCHLD - 1) & 1) != 0; }
  // It calls itself by a name that only tacho's own processes beside a job have.
  bool named_as_ours() const { return named_as_ours_; }
  int64_t threads() const { return stat_.threads; }
  bool ran() const { return clock_ns_ != read_clock_ns_; }
  bool has_io() const { return has_io_; }
  int64_t rss_bytes() const;
  // Below /proc, by this number its memory can be read: of a thread that lives, where the first one has ended.
  pid_t memory_pid() const { return memory_pid_; }
  int64_t virtual_bytes() const { return stat_.virtual_bytes; }
  const PidIoCalls& calls() const { return calls_; }
  int64_t most_rss_bytes() const { return most_rss_bytes_; }  // of all readings
  // Time of children it has waited for, in ns, and what this grew by since end_tick().
  int64_t reaped_cpu_ns() const;
  int64_t reaped_growth_ns() const { return reaped_growth_ns_; }
  void end_tick() {
    reaped_growth_ns_ = 0;
    lost_child = false;
  }
  // Own and reaped children's, as far as the kernel has added them up.
  Usage usage() const;
  // Its own, without its children's, since set_own_base(). The kernel adds the I/O of reaped children to that of the
  // process, so that it is read thread by thread from then on; what a thread did after its last reading is lost then.
  int64_t own_cpu_ns() const;
  int64_t own_cpu_ns_at(int64_t clock_ns) const { return std::max(own_cpu_ns(), clock_ns - base_cpu_ns_); }
  bool has_own_io() const { return has_own_io_; }
  PidIo own_io() const;
  void set_own_base();                                   // what it used so far is not the job's
  bool has_reaped() const { return has_reaped(stat_); }  // a child, ever
  int64_t faults() const { return stat_.minor_faults + stat_.major_faults; }
  std::string_view name() const { return {comm_.data(), ::strnlen(comm_.data(), comm_.size())}; }
  bool take_renamed() { return std::exchange(renamed_, false); }  // another name or program since this was asked last
  bool take_left_parent() { return std::exchange(left_parent_, false); }  // likewise, for ProcessTree
  bool take_executed() { return std::exchange(executed_, false); }        // another program
  int64_t program_rss_bytes() const { return program_rss_bytes_; }        // the most of all readings of this program
  // What can still be read of one that has ended and was not reaped yet; leaves the last reading as it is.
  struct Last {
    int64_t cpu_ns = -1;
    bool reaped_children = false, has_io = false;
    PidIo io{};
    PidIoCalls calls{};  // with those of children that it waited for
  };
  Last look_at_end(int proc_fd, ReadBuffer& buffer);
  // All its children now, whichever thread forked them; appended.
  ChildrenLists::Outcome read_children(int proc_fd, ReadBuffer& buffer, std::vector<pid_t>& children);
  // Of its threads and children when they were read.
  uint64_t family_fingerprint() const { return children_.fingerprint(); }
  // Read anew, and forgotten again: whether it has ended, however it was when it was last read.
  bool has_ended(int proc_fd, ReadBuffer& buffer);
  // Likewise: whether it waits as after vfork, in memory that looks like the child's as it was read last.
  bool seems_to_lend_memory_to(const Member& child, int proc_fd, ReadBuffer& buffer);

  // Proportional memory, kept by PssReader.
  int64_t pss_bytes = -1;     // with huge pages; −1: never read
  int64_t pss_rss_bytes = 0;  // rss_bytes() at that reading
  double pss_share = 1;  // PSS of RSS, both of the reading itself: the process may have grown since its stat was read
  int64_t huge_bytes = 0;
  int64_t uss_bytes = 0;  // private pages, huge ones too, and their part of RSS, as with pss
  double uss_share = 0;
  int64_t pss_stamp_ns = 0;
  bool pss_denied = false;
  bool ran_since_pss = false;
  bool borrows_memory = false;   // between vfork and exec: what is resident is its parent's, and counted there
  bool sharing_changed = false;  // a relative came or went: its pages are shared among more or fewer
  // Kept by ProcessTree.
  uint32_t ran_tick = 0;            // the tick in which it last ran
  uint32_t peak_tick = UINT32_MAX;  // ran_tick when its high-water mark was read
  bool lost_child = false;          // in this tick a child, or a child's child, was found gone
  bool orphaned = false;            // its parent ended: who is its parent now is not known until it is read
  bool lists_gone = false;          // when its children were to be read, it had ended
  bool adopts = false;              // it was given another's children (a subreaper), and waits for them
  pid_t settle_to = 0;              // gone: the nearest surviving ancestor
  bool end_known = false;           // gone: nothing that it used is missing
  bool alone = false;               // what its children did is not its own (attach --no-children)
  int64_t peak_floor_bytes = 0;     // its high-water mark from before it was followed
  // Kept by who observes the tree (process_observer.h).
  ProcessRecord record;
  int64_t peak_faults = -1;  // faults() when its high-water mark was read
  int64_t told_ns = 0;       // when its last line was written

 private:
  static bool has_reaped(const PidStat& stat) {
    return stat.child_minor_faults + stat.child_major_faults + stat.cutime + stat.cstime > 0;
  }
  void read_resident_pages(int proc_fd, ReadBuffer& buffer);
  void find_living_thread(int proc_fd, ReadBuffer& buffer);
  void note_name(const PidStat& fresh, bool first);
  void update_own_io(int proc_fd, ReadBuffer& buffer);
  PidIo read_thread_io(int proc_fd, ReadBuffer& buffer);
  bool read_stat(int proc_fd, ReadBuffer& buffer, PidStat& out);

  pid_t pid_, memory_pid_;
  Fd stat_fd_, statm_fd_, io_fd_;
  Fd own_io_fd_;  // of its first thread alone, once it has reaped a child
  ChildrenLists children_;
  bool keep_ = true, io_denied_ = false, has_io_ = false, named_as_ours_ = false;
  int64_t clock_ns_ = -1, read_clock_ns_ = -2, reaped_growth_ns_ = 0, most_rss_bytes_ = 0;
  PidStat stat_{};
  PidIo io_{};
  PidIoCalls calls_{};
  PidIo summed_io_{}, threads_io_{};  // io_, and that of its threads, when these were read last
  PidIo own_io_{}, base_io_{};        // all in all; not the job's
  bool has_own_io_ = false, renamed_ = false, executed_ = false, left_parent_ = false;
  int64_t base_cpu_ns_ = 0, program_rss_bytes_ = 0;
  std::array<char, 16> comm_{};
};

void add_calls(Usage& usage, const PidIoCalls& calls);

}  // namespace tacho
