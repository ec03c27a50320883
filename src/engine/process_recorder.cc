#include "engine/process_recorder.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>

#include "base/units.h"
#include "codec/process_csv.h"
#include "os/clock.h"
#include "os/process.h"

namespace tacho {
namespace {

// Who lives on has a new line after ten seconds, and then whenever a quarter of its life has passed since: a tacho that
// is killed leaves numbers that are not much older than that.
constexpr int64_t kFirstUpdateNs = 10 * kNsPerSec;
constexpr int64_t kUpdateShare = 4;
// High-water marks read in a tick: one of so many members.
constexpr size_t kPeakShare = 16;
constexpr int64_t kClockStepMs = 50;     // more than two readings of clocks in ticks may differ
constexpr size_t kMostArguments = 1024;  // bytes that are read of argv

int64_t now_ms() { return system_clock().realtime_ns() / kNsPerMs; }

int64_t ms_of_ticks(uint64_t ticks) {
  static const int64_t ms_per_tick = 1000 / ::sysconf(_SC_CLK_TCK);
  return static_cast<int64_t>(ticks) * ms_per_tick;
}

template <size_t kSize>
const char* path_of(std::array<char, kSize>& path, pid_t pid, const char* name) {
  std::snprintf(path.data(), path.size(), "%d/%s", static_cast<int>(pid), name);
  return path.data();
}

}  // namespace

void ProcessRecorder::set_job(int64_t realtime_ns, const std::vector<std::string>& command) {
  earliest_ms_ = realtime_ns / kNsPerMs;
  notice_clock();
  std::string argv;
  for (const std::string& word : command)
    if (argv.size() < kMostArguments) (argv += word) += '\0';
  job_command_ = command_field(argv);
}

void ProcessRecorder::came(Member& member) {
  fill_identity(member);
  fill_usage(member);
  member.told_ns = system_clock().monotonic_ns();
  member.take_renamed();
  member.take_executed();
  if (options_.hide_pids) return;
  file_.put(member.record, options_.hide_command ? "" : command_of(member));
}

void ProcessRecorder::fill_identity(Member& member) {
  ProcessRecord& record = member.record;
  record.pid = member.pid();
  record.ppid = member.parent();
  record.started_ms = is_first(member) ? earliest_ms_ : started_ms(member.start_time());
  read_peak(member);
  if (options_.hide_pids) record.pid = record.ppid = 0;
  else if (const Member* parent = tree_.member(member.parent())) record.ppid = parent->record.pid;
}

// The difference of both clocks is kept, so that processes stand in their order, until the machine's was set: what is
// told from then on is told by the new time.
void ProcessRecorder::notice_clock() {
  const int64_t boot_ms = now_ms() - ms_of_ticks(boot_time_ticks()), step_ms = boot_ms - boot_ms_;
  if (std::abs(step_ms) <= kClockStepMs) return;
  if (boot_ms_ != 0 && earliest_ms_ > 0) earliest_ms_ += step_ms;
  boot_ms_ = boot_ms;
}

// stat tells in clock ticks since boot when a process was started, cut to ten milliseconds: no process of a command
// that tacho started is older than the run.
int64_t ProcessRecorder::started_ms(uint64_t start_ticks) {
  notice_clock();
  return std::max(boot_ms_ + ms_of_ticks(start_ticks), earliest_ms_);
}

// A clock that was set back would have it end before it began: then what it lived counts.
int64_t ProcessRecorder::ended_ms(const Member& member) {
  const int64_t started_ms = member.record.started_ms, now = now_ms();
  return now >= started_ms ? now : started_ms + ms_of_ticks(boot_time_ticks() - member.start_time());
}

// argv as a field of a line.
std::string ProcessRecorder::command_of(const Member& member) const {
  std::array<char, 32> path{};
  const Fd file(::openat(tree_.proc_fd(), path_of(path, member.pid(), "cmdline"), O_RDONLY | O_CLOEXEC));
  std::array<char, kMostArguments> argv;
  const ssize_t got = file ? ::read(file.get(), argv.data(), argv.size()) : -1;
  if (got > 0) return command_field({argv.data(), static_cast<size_t>(got)});
  return is_first(member) ? job_command_ : std::string();  // a zombie has no arguments left
}

void ProcessRecorder::fill_usage(Member& member) const {
  ProcessRecord& record = member.record;
  record.set_name(member.name());
  record.cpu_ns = member.own_cpu_ns();
  if (member.program_rss_bytes() > 0) record.peak_bytes = std::max(record.peak_bytes, member.program_rss_bytes());
  if (member.has_own_io()) {
    const PidIo io = member.own_io();
    record.read_bytes = std::max(record.read_bytes, io.read_bytes);
    record.write_bytes = std::max(record.write_bytes, io.write_bytes);
  }
}

void ProcessRecorder::ended(Member& member, const ProcessEnd& end) {
  fill_usage(member);
  ProcessRecord& record = member.record;
  if (end.cpu_ns >= 0) record.cpu_ns = end.cpu_ns;
  if (end.is_told) record.name = end.name;
  record.peak_bytes = std::max(record.peak_bytes, end.peak_bytes);
  record.read_bytes = std::max(record.read_bytes, end.read_bytes);
  record.write_bytes = std::max(record.write_bytes, end.write_bytes);
  record.exit = end.status;
  if (record.ended_ms == 0) record.ended_ms = ended_ms(member);
  file_.end(record);
}

void ProcessRecorder::passed(const TaskExit& exit) {
  ProcessRecord record;
  record.name = exit.name;
  if (!options_.hide_pids) record.pid = exit.process, record.ppid = exit.parent;
  record.exit = exit.status;
  notice_clock();
  record.ended_ms = now_ms();
  record.started_ms = std::max(record.ended_ms - exit.lived_ns / kNsPerMs, earliest_ms_);
  record.cpu_ns = exit.cpu_ns;
  record.peak_bytes = exit.peak_bytes;
  record.read_bytes = exit.read_bytes;
  record.write_bytes = exit.write_bytes;
  file_.end(record);
}

Status ProcessRecorder::tick(bool closing) {
  take_vram();
  read_peaks();
  const Now now{system_clock().monotonic_ns(), now_ms()};
  for (Member& member : tree_.observed_members()) look_at(member, now);
  if (closing) return ok();  // finish() writes it all
  const Status written = file_.flush();
  if (written && file_.is_long()) return report(file_.shorten(living()));
  return report(written);
}

void ProcessRecorder::look_at(Member& member, const Now& now) {
  ProcessRecord& record = member.record;
  if (member.zombie() && record.ended_ms == 0) record.ended_ms = ended_ms(member);
  const bool renamed = member.take_renamed();
  // What it was forked with is not the new program's.
  if (member.take_executed()) {
    record.peak_bytes = ProcessRecord::kUnknown;
    if (!member.zombie()) read_peak(member);
  }
  const int64_t age_ns = (now.realtime_ms - record.started_ms) * kNsPerMs;
  const bool is_old = now.monotonic_ns - member.told_ns >= std::max(kFirstUpdateNs, age_ns / kUpdateShare);
  if (!renamed && !is_old) return;
  member.told_ns = now.monotonic_ns;
  const int64_t told_cpu_ns = record.cpu_ns;
  fill_usage(member);
  if (options_.hide_pids) return;
  // A zombie has no arguments left.
  if (renamed && !member.zombie() && !options_.hide_command) file_.put(record, command_of(member));
  else if (renamed || record.cpu_ns != told_cpu_ns) file_.put_again(record);
}

// A process of the job that the driver does not list holds none.
void ProcessRecorder::take_vram() {
  if (!context_.vram_told) return;
  vram_ = context_.vram;
  std::sort(vram_.begin(), vram_.end(), [](const ProcessVram& a, const ProcessVram& b) { return a.pid < b.pid; });
  auto at = vram_.begin();
  for (Member& member : tree_.observed_members()) {
    int64_t bytes = 0;
    while (at != vram_.end() && at->pid < member.pid()) ++at;
    for (; at != vram_.end() && at->pid == member.pid(); ++at) bytes += at->bytes;
    member.record.vram_bytes = std::max(member.record.vram_bytes, bytes);
  }
}

// One that had no page fault since has no new mark.
void ProcessRecorder::read_peaks() {
  const std::span<Member> members = tree_.observed_members();
  const size_t most = members.size() / kPeakShare + 1;
  size_t read = 0;
  for (size_t i = 0; i < members.size() && read < most; ++i) {
    if (next_peak_ >= members.size()) next_peak_ = 0;
    Member& member = members[next_peak_++];
    if (member.zombie() || member.faults() == member.peak_faults) continue;
    read_peak(member);
    ++read;
  }
}

// And its number in its own namespace, which the same file tells.
void ProcessRecorder::read_peak(Member& member) {
  std::array<char, 32> path{};
  std::string_view text;
  PidStatus status;
  member.peak_faults = member.faults();
  if (!context_.buffer.read_at(tree_.proc_fd(), path_of(path, member.pid(), "status"), text) ||
      !parse_pid_status(text, status))
    return;
  ProcessRecord& record = member.record;
  record.peak_bytes = std::max(record.peak_bytes, status.peak_rss_bytes.value_or(-1));
  tree_.take_peak(member, status.peak_rss_bytes.value_or(0));  // no process has more than the whole job
  if (status.innermost_pid > 0 && !options_.hide_pids) record.pid = status.innermost_pid;
}

ProcessFile::Living ProcessRecorder::living() {
  return [this](const std::function<void(ProcessRecord&)>& visit) {
    for (Member& member : tree_.observed_members()) {
      fill_usage(member);
      visit(member.record);
    }
  };
}

// The first failure is told; the job goes on, and lines are tried again.
Status ProcessRecorder::report(const Status& status) {
  if (status || std::exchange(told_, true)) return ok();
  return status;
}

Status ProcessRecorder::finish(int64_t job_cpu_ns) { return report(file_.finish(living(), job_cpu_ns)); }

}  // namespace tacho
