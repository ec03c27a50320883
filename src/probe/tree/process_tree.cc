#include "probe/tree/process_tree.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <utility>

#include "base/path.h"
#include "base/units.h"
#include "os/clock.h"
#include "os/process.h"
#include "os/sibling.h"
#include "probe/tree/exit_records.h"
#include "probe/tree/process_observer.h"

namespace tacho {
namespace {

// Every so many ticks each member is read even if it did not run: reclaim shrinks memory, a reused pid has a clock.
constexpr uint32_t kRefreshTicks = 20;
// Rounds to find processes that were reaped while the others were read.
constexpr int kSettleRounds = 4;
constexpr int kClockRounds = 3;
constexpr int64_t kClocksAtOnceNs = 4 * kNsPerMs;

// A cumulative sum never falls, neither user nor system time nor both together; how a young process divides its time is
// only known after a tick, so the sum leads and the division follows.
void raise_total(Usage& total, const Usage& sum) {
  const int64_t cpu_ns = std::max(total.cpu_ns(), sum.cpu_ns());
  const int64_t user_ns = std::clamp(sum.user_ns, total.user_ns, cpu_ns - total.system_ns);
  total.raise_to(sum);
  total.user_ns = user_ns;
  total.system_ns = cpu_ns - user_ns;
}

int64_t timeval_ns(const timeval& time) { return time.tv_sec * kNsPerSec + time.tv_usec * kNsPerUs; }

}  // namespace

ProcessTree::ProcessTree(ProbeContext& context)
    : context_(context),
      numbers_(context.roots.proc),
      pss_(context.pss, context.interval_ns),
      stolen_(context.roots.proc),
      own_pid_(::getpid()) {
  descriptor_limit_ = raise_open_files();
  sees_processes_ = proc_view(context.roots.proc) == ProcView::ours;
  // Without it nothing is ever found, least of all strangers that have the number of a member elsewhere.
  if (sees_processes_) proc_fd_ = Fd(::open(context.roots.proc.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  io_available_ = sees_processes_ && file_exists(context.roots.proc + "/self/io");
  members_.reserve(64);
  vanished_.reserve(64);
  found_.reserve(256);
  std::array<char, 48> path{};
  std::snprintf(path.data(), path.size(), "self/task/%d/children", static_cast<int>(own_pid_));
  own_children_fd_ = Fd(::openat(proc_fd_.get(), path.data(), O_RDONLY | O_CLOEXEC));
  has_children_files_ = static_cast<bool>(own_children_fd_);
}

ProcessTree::~ProcessTree() = default;

size_t ProcessTree::index_of(pid_t pid) const {
  const auto at = std::lower_bound(members_.begin(), members_.end(), pid,
                                   [](const Member& member, pid_t value) { return member.pid() < value; });
  if (at == members_.end() || at->pid() != pid) return members_.size();
  return static_cast<size_t>(at - members_.begin());
}

Member* ProcessTree::find(pid_t pid) {
  const size_t index = index_of(pid);
  return index < members_.size() ? &members_[index] : nullptr;
}

bool ProcessTree::add(pid_t pid, pid_t listed_by) {
  if (pid == own_pid_ || std::find(excluded_.begin(), excluded_.end(), pid) != excluded_.end()) return false;
  Member member(pid);
  // Asked first: what is read of one that executes another program meanwhile is its own.
  member.borrows_memory = listed_by != kAsRoot && share_memory(std::max(listed_by, 0), pid).value_or(true);
  // Five descriptors a process, as far as the limit goes; beyond it files are opened for each reading.
  const bool keep = (members_.size() + 1) * 5 + 128 < descriptor_limit_;
  if (!member.open(proc_fd_.get(), context_.buffer, keep)) {
    missed_one_ = missed_one_ || (errno != ESRCH && errno != ENOENT);  // it is there, and cannot be read for once
    return false;
  }
  if (member.dead()) return false;  // whoever reaps it has its time, or had it when it was read before
  if (listed_by != kAsRoot && is_of_tacho(member)) {
    if (own_child_) exclude(pid);  // where it will be reaped
    return false;
  }
  if (listed_by > 0 && !is_child(member, listed_by)) return false;
  if (listed_by == kBySession && member.session() != root_session_) return false;
  if (listed_by == kByParent && find(member.parent()) == nullptr && !(own_child_ && member.parent() == own_pid_))
    return false;
  // One that was started before the cgroup was read last came from elsewhere: what it used there is not this cgroup's.
  if (listed_by == kByCgroup && member.start_time() < cgroup_read_before_) leave_out_past_of(member);
  member.ran_tick = tick_;
  ++processes_seen_;
  virtual_peak_bytes_ = std::max(virtual_peak_bytes_, member.virtual_bytes());
  readable_ = true;
  if (!member.borrows_memory) family_changed(member);
  const auto at = std::lower_bound(members_.begin(), members_.end(), pid,
                                   [](const Member& other, pid_t value) { return other.pid() < value; });
  const auto inserted = members_.insert(at, std::move(member));
  if (observer_ != nullptr && !at_baseline_) observer_->came(*inserted);
  return true;
}

// The agents of other runs of this tree, and their helpers: started by the job, or come back to it when it adopts
// orphans. The name alone may be anybody's.
bool ProcessTree::is_of_tacho(const Member& member) const {
  std::array<char, 32> path{};
  if (!member.named_as_ours()) {
    // In its first milliseconds: it does not bear its later name yet.
    if (member.name() != kAgentName) return false;
    std::snprintf(path.data(), path.size(), "%d/cmdline", static_cast<int>(member.pid()));
    std::string_view words;
    if (!context_.buffer.read_at(proc_fd_.get(), path.data(), words)) return false;
    words.remove_prefix(std::min(words.find('\0'), words.size()));
    using namespace std::string_view_literals;
    const bool detaches = (words.starts_with("\0attach\0"sv) || words.starts_with("\0watch\0"sv)) &&
                          words.find("\0--detach\0"sv) != words.npos;
    // The packages look for the cloud in a session apart, where it becomes a tacho-deliver in a moment.
    const bool discovers = words.starts_with("\0discover\0"sv) && member.session() == member.pid();
    if (!detaches && !discovers) return false;
  }
  std::array<char, 4096> program{};
  std::snprintf(path.data(), path.size(), "%d/exe", static_cast<int>(member.pid()));
  const ssize_t length = ::readlinkat(proc_fd_.get(), path.data(), program.data(), program.size());
  if (length <= 0) return errno == ENOENT;  // it is about to end
  std::string_view name = last_part({program.data(), static_cast<size_t>(length)});
  if (name.ends_with(" (deleted)")) name.remove_suffix(10);
  return name == kAgentName || name == kDelivererName || name == kGpuReaderName || name == "resource-tracker";
}

void ProcessTree::expect_own_child() {
  own_child_ = readable_ = true;
  spawn_floor_bytes_ = own_anonymous_bytes();
  // Children from before tacho's own exec (`job & exec tacho …`) are not the job's.
  std::string_view text;
  if (own_children_fd_ && context_.buffer.read(own_children_fd_.get(), text))
    parse_children(text, [&](pid_t pid) { excluded_.push_back(pid); });
}

bool ProcessTree::follow(pid_t root, bool own_child) {
  root_ = root;
  own_child_ = own_child;
  followed_ns_ = system_clock().monotonic_ns();
  at_baseline_ = !own_child;
  if (!add(root, kAsRoot)) return own_child;  // a child may have ended already; its rusage comes by reaped()
  if (own_child) return true;
  find(root)->alone = alone_;
  root_session_ = !alone_ && find(root)->session() == root ? root : 0;
  discover(-1, 0);
  set_baseline();
  return true;
}

// What the members used so far is not the job's. All are read once more: who was waited for while the others were
// looked for is in its parent's sum by now.
void ProcessTree::set_baseline() {
  read_members(true);
  outside_ = {};
  ended_own_ns_ = unwaited_ = 0;
  for (Member& member : members_) {
    leave_out_past_of(member);
    member.peak_floor_bytes = peak_of(member).value_or(0);
  }
}

void ProcessTree::leave_out_past_of(Member& member) {
  outside_ -= member.usage();
  member.set_own_base();
}

void ProcessTree::exclude(pid_t pid) {
  if (std::find(excluded_.begin(), excluded_.end(), pid) == excluded_.end()) excluded_.push_back(pid);
}

void ProcessTree::include_again(pid_t pid) { std::erase(excluded_, pid); }

void ProcessTree::follow_cgroup(std::string folder) {
  cgroup_folder_ = std::move(folder);
  followed_ns_ = system_clock().monotonic_ns();
  readable_ = at_baseline_ = true;
  discover(-1, 0);
  set_baseline();
}

void ProcessTree::begin(int64_t now_ns) {
  if (!cgroup_folder_.empty()) set_baseline();
  tell_of_members();
  start_clock_if_needed(now_ns);
  sum_up(now_ns);
}

// Only when it is known what of their time is not the job's.
void ProcessTree::tell_of_members() {
  if (!std::exchange(at_baseline_, false) || observer_ == nullptr) return;
  for (Member& member : members_) observer_->came(member);
}

void ProcessTree::update(int64_t now_ns) {
  ++tick_;
  tell_of_members();
  const bool refresh_all = tick_ % kRefreshTicks == 0 || context_.facts.closing;
  const int64_t forks = std::exchange(context_.facts.forks, -1);
  read_members(refresh_all);
  if (must_search(forks) || refresh_all) discover(forks, now_ns);
  start_clock_if_needed(now_ns);
  name_short_lived();
  if (!own_child_) read_peaks(now_ns);
  sum_up(now_ns);
}

void ProcessTree::read_members(bool refresh_all) {
  check_clocks();
  // A parent that is read after a child was found gone has the child's time in it; it is read even if it seems not to
  // have run, since the clock of a process that runs on another CPU may stand still for some milliseconds. A child may
  // be reaped after its clock was asked and before its parent is read; then it would count twice, so the children of
  // whoever reaped are asked again until nobody is missing any more.
  size_t settled = vanished_.size();
  for (const Member& gone : vanished_)
    if (Member* reaper = find(surviving_ancestor(gone))) reaper->lost_child = true;
  refresh_members(refresh_all);
  for (int round = 0; round < kSettleRounds; ++round) {
    read_reapers_again(settled);
    settled = vanished_.size();
    recheck_children_of_reapers();
    if (vanished_.size() == settled) break;
  }
  settle_vanished();
  reaped_.clear();
  // Here, not at the start: what the root absorbed when root_ended() read it belongs to this tick.
  for (Member& member : members_) member.end_tick();
}

// Who lost its parent has another one now, in whose sum it will be when it ends.
void ProcessTree::orphan_children_of(pid_t parent) {
  for (Member& member : members_)
    if (member.parent() == parent) member.orphaned = true;
}

void ProcessTree::vanish(size_t index) {
  family_changed(members_[index]);
  orphan_children_of(members_[index].pid());
  const ProcessEnd end = end_of(members_[index]);
  note_end(members_[index].pid(), end.cpu_ns);
  members_[index].end_known = end.is_told || members_[index].zombie();  // what is read of a zombie is all that it used
  if (observer_ != nullptr && !at_baseline_) observer_->ended(members_[index], end);
  vanished_.push_back(std::move(members_[index]));
  members_.erase(members_.begin() + static_cast<std::ptrdiff_t>(index));
}

void ProcessTree::check_clocks() {
  // All at one moment, as nearly as can be: once more when something came between.
  for (int round = 0; round < kClockRounds; ++round) {
    const int64_t begun_ns = system_clock().monotonic_ns();
    for (size_t i = members_.size(); i-- > 0;)
      if (!members_[i].check_clock()) vanish(i);
    const int64_t took_ns = system_clock().monotonic_ns() - begun_ns;
    clocks_ns_ = begun_ns + took_ns / 2;
    if (took_ns < kClocksAtOnceNs) return;
  }
}

void ProcessTree::refresh_members(bool refresh_all) {
  for (size_t i = members_.size(); i-- > 0;) {
    Member& member = members_[i];
    if (member.ran()) member.ran_tick = tick_;
    if (!refresh_all && !member.ran() && !member.lost_child && !member.orphaned) continue;
    const bool lived = !member.zombie();
    const pid_t parent = member.parent();
    if (!member.refresh(proc_fd_.get(), context_.buffer)) {
      vanish(i);
    } else if (lived && member.zombie()) {
      family_changed(member);  // its memory is gone, though nobody waited for it yet
      orphan_children_of(member.pid());
    } else if (member.take_left_parent()) {
      family_changed(member);
    }
    if (i < members_.size() && members_[i].parent() != parent)
      if (Member* heir = find(members_[i].parent())) heir->adopts = true;
  }
}

pid_t ProcessTree::largest_member() const {
  const auto smaller = [](const Member& a, const Member& b) { return a.rss_bytes() < b.rss_bytes(); };
  const auto largest = std::max_element(members_.begin(), members_.end(), smaller);
  return largest == members_.end() ? 0 : largest->pid();
}

void ProcessTree::reaped(pid_t pid, const rusage& usage, int status) {
  forget_end_of(pid);                          // which wait4 tells better
  if (std::erase(excluded_, pid) > 0) return;  // its number may become a process of the job's
  Usage exact;
  take_calls(pid, exact);
  const bool looked = ending_pid_ == pid && ending_.cpu_ns >= 0;
  note_end(pid, looked ? ending_.cpu_ns : contains(pid) ? member(pid)->own_cpu_ns() : 0);
  if (observer_ != nullptr) tell_reaped(pid, usage, status);
  ending_pid_ = 0;
  exact.user_ns = timeval_ns(usage.ru_utime);
  exact.system_ns = timeval_ns(usage.ru_stime);
  exact.major_faults = usage.ru_majflt;
  exact.minor_faults = usage.ru_minflt;
  exact.read_bytes = usage.ru_inblock * 512;
  exact.write_bytes = usage.ru_oublock * 512;
  const size_t index = index_of(pid);
  int64_t growth_ns = exact.cpu_ns();
  if (index < members_.size()) {
    growth_ns -= members_[index].usage().cpu_ns();
    exact.iowait_ns = members_[index].usage().iowait_ns;  // not in rusage
    members_.erase(members_.begin() + static_cast<std::ptrdiff_t>(index));
    orphan_children_of(pid);
  } else {
    ++processes_seen_;
  }
  outside_ += exact;
  reaped_.push_back({pid, growth_ns});
  reaped_voluntary_ += usage.ru_nvcsw;
  reaped_involuntary_ += usage.ru_nivcsw;
  readable_ = true;
  // A forked child starts with what it copied of tacho; only more than that is its own.
  const int64_t peak = usage.ru_maxrss * 1024;
  if (peak > spawn_floor_bytes_) largest_bytes_ = std::max(largest_bytes_, peak);
}

void ProcessTree::root_ended() {
  // At once: who waits for it may be about to reap it.
  Member* root = find(root_);
  if (root != nullptr && root->check_clock()) root->refresh(proc_fd_.get(), context_.buffer);
}

void ProcessTree::sum_up(int64_t now_ns) {
  find_borrowers();
  Usage sum = outside_;
  children_ = threads_ = 0;
  int64_t virtual_bytes = 0, own_ns = ended_own_ns_;
  for (const Member& member : members_) {
    sum += member.usage();
    own_ns += member.own_cpu_ns();
    io_seen_ = io_seen_ || member.has_io();
    calls_seen_ = calls_seen_ || member.calls().known;
    if (!member.zombie() && member.pid() != root_) ++children_;
    if (!member.zombie()) threads_ += member.threads();
    if (!member.zombie() && !member.borrows_memory) virtual_bytes += member.virtual_bytes();
    largest_bytes_ = std::max(largest_bytes_, member.rss_bytes());
  }
  virtual_peak_bytes_ = std::max(virtual_peak_bytes_, virtual_bytes);
  sum.raise_cpu_to(own_ns);  // the rest is told in ticks of 10 ms, and is lost where nobody waits
  add_clock_time(sum);
  raise_total(total_, sum);
  if (members_.empty()) return;
  // Zombies have no memory left: the last value stands, for the closing row above all.
  const TreeMemory now = pss_.measure(members_, proc_fd_.get(), context_.buffer, now_ns);
  if (now.rss_bytes > 0) memory_ = now;
  uss_peak_bytes_ = std::max(uss_peak_bytes_, now.uss_bytes);
}

void ProcessTree::copy(std::vector<pid_t>& sorted) const {
  sorted.clear();
  for (const Member& member : members_) sorted.push_back(member.pid());
}

// A number that was read before may be another's by now: the process is opened, then known by its start, then
// signalled.
void ProcessTree::signal_others(int number) const {
  for (const Member& member : members_) {
    if (member.pid() == root_ || member.zombie()) continue;
    const Fd process = open_pidfd(member.pid());
    PidStat stat;
    const auto text = read_whole_file(context_.roots.proc + "/" + std::to_string(member.pid()) + "/stat", 1 << 16);
    if (!text || !parse_pid_stat(*text, stat) || stat.start_time != member.start_time()) continue;
    if (!process) ::kill(member.pid(), number);  // Linux before 5.3
    else ::syscall(SYS_pidfd_send_signal, process.get(), number, nullptr, 0);
  }
}

}  // namespace tacho
