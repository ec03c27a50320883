// The job's processes and what they used, exactly as far as the kernel lets it be known.
//
// T = Σ over members of (own + reaped children) + R. Reaping moves a child's time into its parent, so the sum does not
// change when a process ends; R holds what left the tree without reaching a surviving member: orphans that tacho reaped
// itself (by wait4's rusage) and children that the kernel reaped by itself because their parent ignores SIGCHLD. For
// the time of those an inherited clock runs beside (inherited_clock.h), and T is at least what it shows. The sum is
// differenced, never a single process. Relies on /proc/PID/{stat,io} and task/TID/children (CONFIG_PROC_CHILDREN;
// without it processes are asked for their parent). Not thread-safe.
#pragma once
#include <sys/resource.h>
#include <sys/types.h>

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "model/usage.h"
#include "os/fd.h"
#include "os/file.h"
#include "probe/kit/probe.h"
#include "probe/tree/inherited_clock.h"
#include "probe/tree/member.h"
#include "probe/tree/new_pids.h"
#include "probe/tree/pss_reader.h"
#include "probe/tree/stolen_share.h"

namespace tacho {

class ExitRecords;
class ProcessObserver;
struct EndedProcess;
struct ProcessEnd;
struct TaskExit;

class ProcessTree final : public JobPids {
 public:
  explicit ProcessTree(ProbeContext& context);
  ~ProcessTree() override;

  // tacho will start the job itself: everything counts from zero, which is known now.
  void expect_own_child();
  // The job's first process. With own_child its orphans come to tacho (child subreaper) and everything counts from
  // zero; otherwise what the tree used before now is the baseline. False when there is no such process.
  bool follow(pid_t root, bool own_child);
  // Before follow(): the root by itself, without the processes that it starts.
  void leave_children_out() { alone_ = clock_tried_ = true; }
  bool is_alone() const { return alone_; }
  // Members are those of this cgroup and of the ones below it instead (attach --cgroup).
  void follow_cgroup(std::string folder);
  void exclude(pid_t pid);        // tacho's own helpers
  void include_again(pid_t pid);  // one that has ended: its number may become a process of the job's

  // The first reading of a tree that was followed and is not our child: what it used since follow() is the run's, so
  // that the members are not read again; but for a cgroup, whose own sum is read beside this and begins now.
  void begin(int64_t now_ns);
  // Finds new members, drops ended ones, adds up. The count of forks in the context's facts is used once: a look
  // between two samples has none, and searches.
  void update(int64_t now_ns);
  // Tells of every process by itself, from now on.
  void observe(ProcessObserver* observer) { observer_ = observer; }
  // The kernel tells of processes that end (tree_exits.cc).
  void listen(std::unique_ptr<ExitRecords> exits);
  int64_t processes_ended() const { return processes_ended_; }
  // tacho is about to reap this process: what only shows as long as it is there.
  void ending(pid_t pid);
  // tacho reaped this process; its rusage replaces what was read of it. status: as from wait4; −1: not known.
  void reaped(pid_t pid, const rusage& usage, int status = -1);
  // The root is not our child and ended: what can still be read of it counts.
  void root_ended();

  // When the clocks of the members were asked, on the system's monotonic clock.
  int64_t clocks_ns() const { return clocks_ns_; }
  const Usage& total() const { return total_; }  // cumulative, never falls
  const TreeMemory& memory() const { return memory_; }
  // The highest resident size of one process (VmHWM, ru_maxrss).
  int64_t largest_process_bytes() const { return largest_bytes_; }
  // A high-water mark (VmHWM) that somebody else read of it.
  void take_peak(Member& member, int64_t peak);
  int64_t children() const { return children_; }
  int64_t threads() const { return threads_; }             // of all members that are no zombies
  bool sees_processes() const { return sees_processes_; }  // false without a /proc of ours: children are not known then
  // Context switches of what tacho reaped, with those of the children that it had waited for.
  int64_t reaped_switches() const { return reaped_voluntary_ + reaped_involuntary_; }
  int64_t reaped_voluntary() const { return reaped_voluntary_; }
  int64_t reaped_involuntary() const { return reaped_involuntary_; }
  bool has_calls() const { return calls_seen_; }  // total() has what was asked of the kernel
  // The highest sums so far; 0: never read.
  int64_t virtual_peak_bytes() const { return virtual_peak_bytes_; }
  int64_t uss_peak_bytes() const { return uss_peak_bytes_; }
  int64_t processes_seen() const { return processes_seen_; }
  pid_t root() const { return root_; }
  bool is_own_child() const { return own_child_; }
  bool is_followed() const { return followed_ns_ > 0; }
  // Of our own child rusage tells; of another a member must be readable.
  bool has_io() const { return own_child_ ? io_available_ : io_seen_; }
  // Whether total() is known. Without a /proc of ours it is before the job starts, and after its end by wait4.
  bool readable() const {
    return readable_ && (sees_processes_ || (own_child_ && (root_ == 0 || context_.facts.closing)));
  }
  bool empty() const { return members_.empty(); }
  bool lost_some() const { return auto_reaped_; }  // R holds estimates for children the kernel reaped by itself
  // Members of an attached tree whom a stranger waited for: of each, only the last reading before its end is known.
  int64_t unwaited() const { return unwaited_; }
  bool has_clock() const { return clock_.running(); }  // CPU time of such children is measured beside
  // Such children that ended in this time are not in it.
  int64_t clock_begun_after_ns() const { return clock_begun_ns_ - followed_ns_; }
  int64_t clock_stolen_ns() const { return stolen_.ns(); }  // what was taken off it as the hypervisor's
  bool fell_back_to_rss() const { return pss_.fell_back(); }
  pid_t largest_member() const;  // by resident size now; 0 when there is none
  bool contains(pid_t pid) const { return index_of(pid) < members_.size(); }
  // For other probes, after update() in the same tick: the processes as they were read, by pid. Good until the tree
  // changes again; zombies are among them.
  std::span<const Member> members() const { return members_; }
  const Member* member(pid_t pid) const { return contains(pid) ? &members_[index_of(pid)] : nullptr; }
  std::span<Member> observed_members() { return members_; }  // for the observer
  int proc_fd() const { return proc_fd_.get(); }             // /proc, kept open; −1 where there is none of ours
  void copy(std::vector<pid_t>& sorted) const override;
  void signal_others(int number) const;  // every member but the root, which is its parent's to signal

 private:
  // How a process was found, where that is no parent's list.
  static constexpr pid_t kBySession = -1, kByParent = -2, kByCgroup = -3, kAsRoot = -4;
  struct Reaped {
    pid_t pid;
    int64_t growth_ns;  // its own and its children's time since it was last read
  };
  size_t index_of(pid_t pid) const;  // members_.size() when unknown
  Member* find(pid_t pid);
  bool add(pid_t pid, pid_t listed_by);
  void read_members(bool refresh_all);
  void check_clocks();
  void refresh_members(bool refresh_all);
  void settle_vanished();
  Usage take_usage(const Member& gone);
  pid_t surviving_ancestor(const Member& gone) const;
  void settle_with_vanished_parents();
  bool is_below(const Member& gone, pid_t pid) const;
  void settle(pid_t ancestor, const Usage& expected);
  void count_lost(const Usage& expected, int64_t growth_ns);
  void read_reapers_again(size_t first_vanished);
  void recheck_children_of_reapers();
  bool must_search(int64_t forks);
  void discover(int64_t forks, int64_t now_ns);
  bool walk_members();
  bool visit_children_of(Member& member);
  bool read_own_children();
  void adopt(pid_t parent);
  bool is_child(const Member& read, pid_t parent);
  void search_numbers(int64_t forks, int64_t now_ns, bool again);
  bool is_child_by_number(pid_t pid);
  void discover_in_cgroup();
  void orphan_children_of(pid_t parent);
  void set_baseline();
  void leave_out_past_of(Member& member);
  void tell_of_members();
  bool is_of_tacho(const Member& member) const;
  void read_peaks(int64_t now_ns);
  std::optional<int64_t> peak_of(const Member& member);
  void raise_peak(Member& member);
  void sum_up(int64_t now_ns);
  class ClockedProcesses;
  void start_clock_if_needed(int64_t now_ns);
  void start_clock(int64_t now_ns);
  std::vector<pid_t> parents_first() const;
  void add_clock_time(Usage& sum);
  void vanish(size_t index);
  void note_end(pid_t pid, int64_t own_ns);
  void take_calls(pid_t pid, Usage& usage);
  void tell_reaped(pid_t pid, const rusage& usage, int status);
  void family_changed(const Member& by);
  void find_borrowers();
  ProcessEnd end_of(const Member& gone);
  void forget_end_of(pid_t pid);
  bool is_of_job(const TaskExit& exit) const;
  bool is_there(const EndedProcess& ended) const;
  void name_short_lived();

  ProbeContext& context_;
  ProcessObserver* observer_ = nullptr;
  std::unique_ptr<ExitRecords> exits_;
  std::vector<pid_t> ended_pids_;  // members that ended since the last tick, where the kernel tells
  pid_t ending_pid_ = 0;           // what follows is of this one
  Member::Last ending_;
  std::optional<Member> unseen_;  // it, where it was no member
  Fd proc_fd_, own_children_fd_;
  std::vector<Member> members_;   // sorted by pid
  std::vector<Member> vanished_;  // gone in this tick, not settled yet
  std::vector<pid_t> found_, excluded_, listed_, before_, candidates_;
  std::vector<pid_t> strangers_;  // of the candidates, sorted: in another session than the root's
  NewPids numbers_;
  std::vector<Reaped> reaped_;  // by tacho, since the last tick
  std::string cgroup_folder_;
  PssReader pss_;
  InheritedClock clock_;
  StolenShare stolen_;
  int64_t clock_base_ns_ = 0, clock_begun_ns_ = 0, followed_ns_ = 0;
  bool clock_tried_ = false;
  Usage outside_;             // R, minus the baseline
  int64_t ended_own_ns_ = 0;  // what the members that ended used themselves, as the observer was told
  Usage total_;
  TreeMemory memory_;
  pid_t root_ = 0, own_pid_ = 0, root_session_ = 0;
  bool alone_ = false, own_child_ = false, has_children_files_ = true, readable_ = false, sees_processes_ = false;
  bool io_available_ = false, io_seen_ = false, calls_seen_ = false, auto_reaped_ = false;
  bool at_baseline_ = false;  // followed, and not begun: nobody is told of members yet
  bool missed_one_ = false;   // in this search
  bool found_all_ = false;    // the last search was not disturbed
  bool forks_move_ = false;   // the machine's count of forks was seen to move
  int64_t children_ = 0, threads_ = 0, processes_seen_ = 0, largest_bytes_ = 0, last_forks_ = 0, searched_forks_ = 0,
          spawn_floor_bytes_ = 0, peak_stamp_ns_ = 0, reaped_voluntary_ = 0, reaped_involuntary_ = 0,
          virtual_peak_bytes_ = 0, uss_peak_bytes_ = 0;
  int64_t clocks_ns_ = 0, unwaited_ = 0, processes_ended_ = 0;
  uint64_t descriptor_limit_ = 0;
  uint64_t cgroup_read_ticks_ = 0, cgroup_read_before_ = 0;  // of the kernel's clock, since boot
  uint32_t tick_ = 0, listed_all_tick_ = 0, peak_next_ = 0;
};

}  // namespace tacho
