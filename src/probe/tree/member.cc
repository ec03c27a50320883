#include "probe/tree/member.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>

#include "base/units.h"
#include "os/detach.h"
#include "os/directory.h"
#include "os/process.h"
#include "os/sibling.h"

namespace tacho {
namespace {

int64_t ns_per_clock_tick() {
  static const int64_t value = kNsPerSec / ::sysconf(_SC_CLK_TCK);
  return value;
}

int64_t page_bytes() {
  static const int64_t value = ::sysconf(_SC_PAGESIZE);
  return value;
}

constexpr int64_t kMostThreads = 64;  // whose files are read one by one

// "PID/name" below /proc.
Fd open_of(int proc_fd, pid_t pid, const char* name) {
  std::array<char, 64> path{};
  std::snprintf(path.data(), path.size(), name, static_cast<int>(pid), static_cast<int>(pid));
  return Fd(::openat(proc_fd, path.data(), O_RDONLY | O_CLOEXEC));
}

int64_t parse_resident_pages(std::string_view statm) {
  int64_t all = 0, resident = 0;
  Scanner scan(statm);
  return scan.number(all) && scan.number(resident) ? resident : 0;
}

int64_t resident_pages(int proc_fd, pid_t pid, ReadBuffer& buffer) {
  std::array<char, 32> path{};
  std::snprintf(path.data(), path.size(), "%d/statm", static_cast<int>(pid));
  std::string_view text;
  return buffer.read_at(proc_fd, path.data(), text) ? parse_resident_pages(text) : 0;
}

// Any other failure (no descriptor or memory left, an I/O error) leaves a process where it was: one that were dropped
// and found again would count twice.
bool tells_the_end(int error_number) { return error_number == ESRCH || error_number == ENOENT; }

// The deliverer that runs beside a job leads a session; one that a person started does not, and is like any program.
bool is_name_of_ours(const PidStat& stat) {
  if (stat.comm == kDetachedName || stat.comm == kGpuReaderName) return true;
  return stat.comm == kDelivererName && stat.session == stat.pid;
}

}  // namespace

bool Member::open(int proc_fd, ReadBuffer& buffer, bool keep_descriptors) {
  keep_ = keep_descriptors;
  check_clock();
  return refresh(proc_fd, buffer);
}

bool Member::check_clock() {
  clock_ns_ = process_cpu_ns(pid_);
  return clock_ns_ >= 0;
}

bool Member::refresh(int proc_fd, ReadBuffer& buffer) {
  if (!stat_fd_) stat_fd_ = open_of(proc_fd, pid_, "%d/stat");
  const bool first = read_clock_ns_ == -2;
  if (!stat_fd_) return !first && !tells_the_end(errno);
  // The clock is read first: what runs in between shows at the next tick as "ran".
  const int64_t before = reaped_cpu_ns();
  std::string_view text;
  PidStat fresh;
  // A descriptor belongs to the process it was opened for; a reused pid gives ESRCH here.
  if (!buffer.read(stat_fd_.get(), text)) return !first && !tells_the_end(errno);
  if (!parse_pid_stat(text, fresh)) return false;
  if (!first && fresh.start_time != stat_.start_time) return false;  // opened anew, by a number that is another's now
  if (first) named_as_ours_ = is_name_of_ours(fresh);
  note_name(fresh, first);
  fresh.comm = {};
  if (!first && fresh.state == 'X') {
    // In the middle of being reaped: its parent reads as 0 by now, and so does what it had reaped itself.
    stat_.state = fresh.state;
    if (clock_ns_ >= 0) read_clock_ns_ = clock_ns_;
    return true;
  }
  stat_ = fresh;
  if (!zombie()) read_resident_pages(proc_fd, buffer);
  orphaned = false;
  most_rss_bytes_ = std::max(most_rss_bytes_, rss_bytes());
  program_rss_bytes_ = std::max(program_rss_bytes_, rss_bytes());
  if (!first) reaped_growth_ns_ += reaped_cpu_ns() - before;
  read_clock_ns_ = clock_ns_;
  ran_since_pss = true;

  if (!io_fd_ && !io_denied_) {
    io_fd_ = open_of(proc_fd, pid_, "%d/io");
    io_denied_ = !io_fd_ && errno != EMFILE && errno != ENFILE;
  }
  // A zombie's io is refused to an ordinary user who opens it now, but not through a descriptor from before.
  if (io_fd_ && buffer.read(io_fd_.get(), text)) has_io_ = parse_pid_io(text, io_, &calls_) || has_io_;
  if (has_io_) update_own_io(proc_fd, buffer);
  if (!keep_) {
    stat_fd_.reset();
    statm_fd_.reset();
    io_fd_.reset();
  }
  return true;
}

// stat sums up what the CPUs have told so far: each may keep more than 32 pages to itself, of each kind of memory, so
// that a process seems smaller, or to have nothing. statm (Linux 6.17) asks all of them. One that is about to end has
// no pages by either.
void Member::read_resident_pages(int proc_fd, ReadBuffer& buffer) {
  if (stat_.state == 'Z') {
    if (stat_.rss_pages <= 0) find_living_thread(proc_fd, buffer);
    return;
  }
  if (!statm_fd_) statm_fd_ = open_of(proc_fd, pid_, "%d/statm");
  std::string_view text;
  if (statm_fd_ && buffer.read(statm_fd_.get(), text)) stat_.rss_pages = parse_resident_pages(text);
}

// A first thread that has ended lets go of the memory, which the others have still.
void Member::find_living_thread(int proc_fd, ReadBuffer& buffer) {
  const Fd folder = open_of(proc_fd, pid_, "%d/task");
  NumericEntries threads(folder.get());
  for (int thread = 0; folder && stat_.rss_pages <= 0 && threads.next(thread);) {
    stat_.rss_pages = resident_pages(proc_fd, thread, buffer);
    memory_pid_ = thread;
  }
}

void add_calls(Usage& usage, const PidIoCalls& calls) {
  usage.read_chars += calls.read_chars, usage.write_chars += calls.write_chars;
  usage.read_calls += calls.read_calls, usage.write_calls += calls.write_calls;
}

int64_t Member::rss_bytes() const { return stat_.rss_pages > 0 ? stat_.rss_pages * page_bytes() : 0; }

int64_t Member::reaped_cpu_ns() const { return (stat_.cutime + stat_.cstime) * ns_per_clock_tick(); }

Usage Member::usage() const {
  const int64_t tick_ns = ns_per_clock_tick();
  Usage usage;
  // stat counts in ticks of 10 ms, the clock in nanoseconds: take the clock's sum, divided as stat divides it.
  const int64_t ticks = stat_.utime + stat_.stime;
  const int64_t own_ns = read_clock_ns_ >= 0 ? read_clock_ns_ : ticks * tick_ns;
  const double user_share = ticks > 0 ? static_cast<double>(stat_.utime) / static_cast<double>(ticks) : 1;
  const auto own_user_ns = static_cast<int64_t>(static_cast<double>(own_ns) * user_share);
  usage.user_ns = own_user_ns + (alone ? 0 : stat_.cutime * tick_ns);
  usage.system_ns = own_ns - own_user_ns + (alone ? 0 : stat_.cstime * tick_ns);
  usage.major_faults = stat_.major_faults + (alone ? 0 : stat_.child_major_faults);
  usage.minor_faults = stat_.minor_faults + (alone ? 0 : stat_.child_minor_faults);
  usage.iowait_ns = stat_.blkio_ticks * tick_ns;
  usage.read_bytes = io_.read_bytes;
  usage.write_bytes = io_.write_bytes;
  add_calls(usage, calls_);
  return usage;
}

int64_t Member::own_cpu_ns() const {
  const int64_t own_ns = read_clock_ns_ >= 0 ? read_clock_ns_ : (stat_.utime + stat_.stime) * ns_per_clock_tick();
  return std::max<int64_t>(0, own_ns - base_cpu_ns_);
}

PidIo Member::own_io() const {
  return {std::max<int64_t>(0, own_io_.read_bytes - base_io_.read_bytes),
          std::max<int64_t>(0, own_io_.write_bytes - base_io_.write_bytes)};
}

void Member::set_own_base() {
  base_cpu_ns_ += own_cpu_ns();
  base_io_ = own_io_;
}

// A name that it gave itself, or exec: that puts the stack elsewhere.
void Member::note_name(const PidStat& fresh, bool first) {
  const size_t size = std::min(fresh.comm.size(), comm_.size() - 1);
  const bool same_name = name() == fresh.comm.substr(0, size);
  const bool same_stack = fresh.stack_start == stat_.stack_start || fresh.stack_start == 0 || stat_.stack_start == 0;
  if (first || !same_name || !same_stack) renamed_ = true;
  if (!first && !same_stack) executed_ = left_parent_ = true, program_rss_bytes_ = 0;
  if (same_name) return;
  comm_ = {};
  std::copy_n(fresh.comm.data(), size, comm_.data());
}

void Member::update_own_io(int proc_fd, ReadBuffer& buffer) {
  if (!has_reaped()) {
    own_io_ = threads_io_ = io_;
    has_own_io_ = true;
    return;
  }
  // Only what changed is looked at, and the sum of all tells whether anything did.
  if (io_ == summed_io_) return;
  summed_io_ = io_;
  const PidIo now = read_thread_io(proc_fd, buffer);
  if (!std::exchange(has_own_io_, true)) own_io_ = threads_io_ = now;  // it had reaped some before it was seen
  own_io_.read_bytes += std::max<int64_t>(0, now.read_bytes - threads_io_.read_bytes);
  own_io_.write_bytes += std::max<int64_t>(0, now.write_bytes - threads_io_.write_bytes);
  threads_io_ = now;
}

PidIo Member::read_thread_io(int proc_fd, ReadBuffer& buffer) {
  std::string_view text;
  PidIo sum;
  if (!own_io_fd_) own_io_fd_ = open_of(proc_fd, pid_, "%d/task/%d/io");
  if (own_io_fd_ && buffer.read(own_io_fd_.get(), text)) parse_pid_io(text, sum);
  if (!keep_) own_io_fd_.reset();
  if (stat_.threads <= 1 || stat_.threads > kMostThreads) return sum;
  const Fd folder = open_of(proc_fd, pid_, "%d/task");
  NumericEntries threads(folder.get());
  for (int thread = 0; folder && threads.next(thread);) {
    std::array<char, 32> path{};
    std::snprintf(path.data(), path.size(), "%d/io", thread);
    PidIo one;
    if (thread == pid_ || !buffer.read_at(folder.get(), path.data(), text) || !parse_pid_io(text, one)) continue;
    sum.read_bytes += one.read_bytes;
    sum.write_bytes += one.write_bytes;
  }
  return sum;
}

Member::Last Member::look_at_end(int proc_fd, ReadBuffer& buffer) {
  Last last;
  const int64_t clock_ns = process_cpu_ns(pid_);
  if (clock_ns >= 0) last.cpu_ns = std::max<int64_t>(0, clock_ns - base_cpu_ns_);
  PidStat now;
  if (!read_stat(proc_fd, buffer, now)) now = stat_;
  note_name(now, false);
  last.reaped_children = has_reaped(now);
  std::string_view text;
  PidIo whole;
  last.calls = calls_;
  const bool has_whole = io_fd_ && buffer.read(io_fd_.get(), text) && parse_pid_io(text, whole, &last.calls);
  if (!last.reaped_children && has_whole) last.has_io = true, last.io = whole;
  if (last.reaped_children && own_io_fd_ && buffer.read(own_io_fd_.get(), text))
    last.has_io = parse_pid_io(text, last.io);
  last.io.read_bytes = std::max(last.io.read_bytes, own_io_.read_bytes) - base_io_.read_bytes;
  last.io.write_bytes = std::max(last.io.write_bytes, own_io_.write_bytes) - base_io_.write_bytes;
  return last;
}

bool Member::read_stat(int proc_fd, ReadBuffer& buffer, PidStat& out) {
  Fd opened;
  if (!stat_fd_) opened = open_of(proc_fd, pid_, "%d/stat");
  const int fd = stat_fd_ ? stat_fd_.get() : opened.get();
  std::string_view text;
  // A descriptor belongs to the process it was opened for; a reused pid gives ESRCH here.
  return fd >= 0 && buffer.read(fd, text) && parse_pid_stat(text, out) && out.start_time == stat_.start_time;
}

bool Member::has_ended(int proc_fd, ReadBuffer& buffer) {
  PidStat now;
  errno = 0;
  if (!read_stat(proc_fd, buffer, now)) return errno == 0 || tells_the_end(errno);
  return now.state == 'X' || (now.state == 'Z' && now.threads <= 1);
}

bool Member::seems_to_lend_memory_to(const Member& child, int proc_fd, ReadBuffer& buffer) {
  const PidStat& theirs = child.stat_;
  if (theirs.stack_start != stat_.stack_start) return false;
  PidStat now;
  if (!read_stat(proc_fd, buffer, now) || now.stack_start != theirs.stack_start ||
      now.virtual_bytes != theirs.virtual_bytes)
    return false;
  bool waits = now.state == 'D';
  if (waits || now.threads <= 1 || now.threads > kMostThreads) return waits;
  const Fd folder = open_of(proc_fd, pid_, "%d/task");
  NumericEntries threads(folder.get());
  for (int thread = 0; folder && !waits && threads.next(thread);) {
    std::array<char, 32> path{};
    std::snprintf(path.data(), path.size(), "%d/stat", thread);
    std::string_view text;
    waits = buffer.read_at(folder.get(), path.data(), text) && parse_pid_stat(text, now) && now.state == 'D';
  }
  return waits;
}

ChildrenLists::Outcome Member::read_children(int proc_fd, ReadBuffer& buffer, std::vector<pid_t>& children) {
  const size_t begin = children.size();
  const ChildrenLists::Outcome outcome = children_.read(proc_fd, pid_, keep_, buffer, children);
  PidStat now;
  if (outcome == ChildrenLists::Outcome::gone || !children_.opened() || read_stat(proc_fd, buffer, now)) return outcome;
  // The number may have been another's by the time that its folder was opened.
  children.resize(begin);
  children_.close();
  return ChildrenLists::Outcome::gone;
}

}  // namespace tacho
