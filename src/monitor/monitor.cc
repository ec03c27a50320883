#include "monitor/monitor.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>

#include "base/exit_status.h"
#include "base/hex.h"
#include "base/log.h"
#include "base/text.h"
#include "base/time_text.h"
#include "base/units.h"
#include "engine/deliverer_process.h"
#include "monitor/command_watch.h"
#include "monitor/end_requests.h"
#include "monitor/mount_list.h"
#include "monitor/schedule.h"
#include "monitor/task_meta.h"
#include "monitor/task_sampler.h"
#include "monitor/task_spool.h"
#include "monitor/text_log.h"
#include "os/environment.h"
#include "os/process.h"
#include "os/signals.h"
#include "os/unique.h"
#include "spool/bq_record.h"
#include "spool/contract.h"
#include "spool/layout.h"

namespace tacho {
namespace {

// With what schedulers warn before they kill: it would end this program without the last sample, as it ends any other.
constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM, SIGXCPU, SIGCHLD};
constexpr int64_t kBatchReport_ns = 10 * kNsPerSec, kReport_ns = 60 * kNsPerSec;
constexpr int64_t kEndBudget_ns = 7500 * kNsPerMs;  // of the eight seconds that there are
constexpr int64_t kRestartPause_ns = 30 * kNsPerSec;
constexpr int64_t kBusyFolderPause_ns = 200 * kNsPerMs;

double random_share() { return static_cast<double>(parse_hex<uint32_t>(random_hex(6)).value_or(0)) / 0x1000000; }

ChosenMounts find_mounts(const MonitorSettings& settings) {
  MountChoice choice{settings.disk_mounts, read_link("/proc/self/cwd"), settings.remote_mounts, file_exists};
  const auto mountinfo = read_whole_file(Roots::from_environment().proc + "/self/mountinfo");
  ChosenMounts chosen = choose_mounts(choice, mountinfo ? std::string_view(*mountinfo) : std::string_view());
  for (const std::string& path : chosen.left_out)
    log::warn("the remote file system " + path + " is left out of the disk columns; --remote-mounts takes it in");
  return chosen;
}

// 0 when it is not there.
size_t index_of(const std::vector<std::string>& words, const std::string& word) {
  const auto found = std::find(words.begin(), words.end(), word);
  return found == words.end() ? 0 : static_cast<size_t>(found - words.begin());
}

// Where credentials are and where they go is said to tacho-deliver by the environment: what lies in a spool has no say
// in that.
void hand_over(const MonitorSettings& settings) {
  const std::pair<const char*, const std::string&> variables[] = {
      {"BIGQUERY_EMULATOR_HOST", settings.bigquery.endpoint},
      {"GCE_METADATA_HOST", settings.google.metadata_host},
      {"TACHO_GOOGLE_ACCESS_TOKEN_FILE", settings.google.access_token_file},
      {"TACHO_GOOGLE_CREDENTIALS", settings.google.credentials},
      {"TACHO_GOOGLE_TOKEN_URI", settings.google.token_uri}};
  for (const auto& [name, value] : variables)
    if (!value.empty()) ::setenv(name, value.c_str(), 1);
}

class TaskMonitor {
 public:
  TaskMonitor(const MonitorSettings& settings, Clock& clock)
      : settings_(settings),
        clock_(clock),
        start_ns_(clock.monotonic_ns()),
        start_realtime_ns_(clock.realtime_ns()),
        signals_(kSignals),
        mounts_(find_mounts(settings).mounts),
        working_mount_(working_mount(mounts_)),
        run_id_(random_hex(16)),
        grid_(start_ns_, settings.measure_interval_ns),
        reports_(start_ns_, settings.report_interval_ns, default_report_ns(), random_share()),
        text_log_(index_of(mounts_, working_mount_)) {}

  Result<int> run();

 private:
  int64_t default_report_ns() const {
    const auto is_batch = [](const std::string& mount) { return mount.starts_with("/mnt/disks/"); };
    return std::any_of(mounts_.begin(), mounts_.end(), is_batch) ? kBatchReport_ns : kReport_ns;
  }
  bool sends() const { return !settings_.bigquery.dataset.empty(); }

  Status prepare();
  void begin_spool();
  void watch();
  void loop();
  void listen(const std::array<int, 5>& descriptors) {
    for (size_t i = 0; i < fds_.size(); ++i) fds_[i] = {descriptors[i], POLLIN, 0};
  }
  void handle_events();
  void take_signals();
  void sample(std::string_view event);
  void write_runtime();
  void put_row(char table, int64_t time_us, std::string_view row);
  void report();
  void start_deliverer();
  void hurry(std::string_view event);
  bool delivered() const { return !spool_ || !spool_->is_open() || !file_exists(spool_->folder()); }
  void finish();

  const MonitorSettings& settings_;
  Clock& clock_;
  int64_t start_ns_, start_realtime_ns_;
  SignalQueue signals_;
  std::vector<std::string> mounts_;
  std::string working_mount_, run_id_, delivering_;
  SampleGrid grid_;
  ReportTimes reports_;
  TextLog text_log_;
  std::unique_ptr<TaskSampler> sampler_;
  std::unique_ptr<TaskSpool> spool_;
  std::unique_ptr<CommandWatch> command_;
  std::optional<LineFile> output_;
  std::string runtime_members_, metrics_members_;  // of the rows in it
  DelivererProcess deliverer_;
  Fd parent_;
  pid_t parent_pid_ = 0;
  std::array<pollfd, 5> fds_{};
  MetricsSample sample_;
  MachineIdentity fallback_;
  Writer row_, line_;
  int64_t seq_ = 0, next_start_ns_ = 0, folder_quiet_ns_ = 0;
  EndRequests end_;
  bool wrote_runtime_ = false, command_ended_ = false, preempted_ = false, preempted_now_ = false, undelivered_ = false;
};

Result<int> TaskMonitor::run() {
  hand_over(settings_);
  if (Status status = prepare(); !status) return status.error();
  if (sends()) begin_spool();
  if (!sampler_->waits_for_gpu()) write_runtime();
  if (sends()) start_deliverer();
  watch();
  loop();
  finish();
  return settings_.strict && undelivered_ ? kRefused : 0;
}

Status TaskMonitor::prepare() {
  auto sampler = TaskSampler::create(settings_, mounts_, clock_);
  if (!sampler) return sampler.error();
  sampler_ = std::move(*sampler);
  sampler_->baseline();
  if (!settings_.output.empty()) {
    auto file = LineFile::open(settings_.output);
    if (!file) return file.error();
    if (const Status emptied = file->empty(); !emptied) return emptied;
    output_ = std::move(*file);
    // With BigQuery the metadata server is asked who this machine is, later and elsewhere; two answers would not do.
    const MachineIdentity machine =
        sends() ? MachineIdentity() : local_identity(sampler_->context().roots, sampler_->facts().cpu_model);
    runtime_members_ = local_members(settings_, machine, run_id_, 'R');
    metrics_members_ = local_members(settings_, machine, run_id_, 'M');
  }
  if (settings_.output != "-" && (settings_.form != MonitorForm::image || !sends())) text_log_.begin(sampler_->facts());
  return ok();
}

void TaskMonitor::begin_spool() {
  TaskSpoolOptions options;
  options.roots = task_spool_roots(settings_.spool_dir, working_mount_);
  const SpoolLimit limit = spool_limit("The usual bound is kept");
  options.cap_bytes = limit.bytes.value_or(0);
  if (!limit.complaint.empty()) log::warn(limit.complaint);
  spool_ = std::make_unique<TaskSpool>(std::move(options), compact_utc(start_realtime_ns_));
  fallback_ = local_identity(sampler_->context().roots, sampler_->facts().cpu_model);
  spool_->set_meta(task_meta(settings_, fallback_, run_id_, false));
  if (const Status status = spool_->write_meta(); !status && spool_->is_open()) log::warn(status.error());
}

void TaskMonitor::watch() {
  std::vector<std::string> folders{working_mount_};
  if (const std::string here = read_link("/proc/self/cwd"); here != working_mount_) folders.push_back(here);
  command_ = std::make_unique<CommandWatch>(std::move(folders));
  if (settings_.form != MonitorForm::script) return;
  parent_pid_ = ::getppid();
  if (parent_pid_ > 0) parent_ = open_pidfd(parent_pid_);
}

void TaskMonitor::start_deliverer() {
  next_start_ns_ = clock_.monotonic_ns() + kRestartPause_ns;
  if (!spool_->is_open()) return;
  DelivererProcess::Start start;
  delivering_ = spool_->folder();
  start.folders = {delivering_};
  start.locks = {spool_->lock_fd()};
  start.remove_environment = secret_variables();
  if (const Status status = deliverer_.start(start); !status) {
    Error error = status.error();
    error.what = "nothing is sent for now: " + error.what;
    log::warn(error.message() + "; the rows stay in " + spool_->folder() + ", send them with tacho deliver");
    return;
  }
  sampler_->exclude(deliverer_.pid());
}

void TaskMonitor::put_row(char table, int64_t time_us, std::string_view row) {
  if (spool_) spool_->append(table, time_us, row);
  if (!output_) return;
  line_.clear();
  line_.put(table == 'R' ? R"({"table":"runtime","row":{)" : R"({"table":"metrics","row":{)");
  line_.put(table == 'R' ? runtime_members_ : metrics_members_);
  line_.put(row.substr(1));
  line_.put("}\n");
  if (const Status status = output_->write(line_.view()); !status) log::warn(status.error());
}

// Sent at once; only where a GPU driver still has to tell its devices, with the first report.
void TaskMonitor::write_runtime() {
  if (std::exchange(wrote_runtime_, true)) return;
  RuntimeFacts facts = sampler_->facts();
  facts.run_id = run_id_;
  facts.start_realtime_ns = start_realtime_ns_;
  facts.report_interval_ms = reports_.interval_ns() / kNsPerMs;
  row_.clear();
  write_runtime_row(row_, facts);
  put_row('R', start_realtime_ns_ / kNsPerUs, row_.view());
  if (spool_) spool_->seal();
}

void TaskMonitor::sample(std::string_view event) {
  sample_.seq = seq_++;
  sample_.event = event;
  sampler_->sample(sample_, deliverer_.running() ? deliverer_.pid() : 0);
  sample_.rows_dropped = spool_ ? spool_->dropped() : 0;
  row_.clear();
  write_metrics_row(row_, sample_);
  put_row(event.empty() ? 'M' : 'E', sample_.realtime_ns / kNsPerUs, row_.view());
  text_log_.write(sample_);
  // Who is gone within the first second has left a row all the same.
  if (sample_.seq == 0) report();
}

void TaskMonitor::report() {
  if (seq_ > 1 || !sampler_->waits_for_gpu()) write_runtime();
  if (!spool_) return;
  if (const Status status = spool_->write_meta(); !status && spool_->is_open()) log::warn(status.error());
  spool_->seal();
  if (deliverer_.running() && spool_->is_open() && spool_->folder() != delivering_) {
    deliverer_.poke(control::end_line(1000));  // its folder is gone; another one sees to the new one
    start_deliverer();
  }
  if (!deliverer_.running() && clock_.monotonic_ns() >= next_start_ns_) start_deliverer();
  deliverer_.poke(control::kNewsLine);
}

// A moment that must not be lost: a sample now, sent now, and the next ones every second.
void TaskMonitor::hurry(std::string_view event) {
  sample(event);
  report();
  reports_.hurry(clock_.monotonic_ns());
}

void TaskMonitor::loop() {
  while (!end_.asked()) {
    const int64_t now_ns = clock_.monotonic_ns();
    const bool folder_may_wake = now_ns >= folder_quiet_ns_;
    const int folder_fd = folder_may_wake && !command_ended_ ? command_->inotify_fd() : -1;
    const int event_fd = command_ended_ ? -1 : command_->event_fd();
    listen({signals_.fd(), deliverer_.messages_fd(), event_fd, folder_fd, parent_.get()});
    int64_t deadline_ns = std::min(grid_.next_ns(), reports_.next_ns());
    if (!folder_may_wake) deadline_ns = std::min(deadline_ns, folder_quiet_ns_);
    clock_.wait(fds_, deadline_ns);
    handle_events();
    if (end_.asked()) return;
    if (clock_.monotonic_ns() >= grid_.next_ns()) {
      sample({});
      grid_.taken(clock_.monotonic_ns());
    }
    if (clock_.monotonic_ns() >= reports_.next_ns()) {
      report();
      reports_.sent(clock_.monotonic_ns());
    }
  }
}

// What lies there together was sent together.
void TaskMonitor::take_signals() {
  std::vector<int> numbers;
  while (const auto event = signals_.next()) {
    if (event->number != SIGCHLD) numbers.push_back(event->number);
    else
      while (reap_one()) {}
  }
  if (!numbers.empty()) end_.signals(numbers, clock_.monotonic_ns());
}

void TaskMonitor::handle_events() {
  if (fds_[0].revents != 0) take_signals();
  if (fds_[1].revents != 0)
    deliverer_.relay([this](std::string_view line) {
      const bool preempted = line == kPreemptedMessage;
      preempted_now_ = preempted_now_ || preempted;
      return preempted;
    });
  // Where the kernel has no pidfds, its parent's end is seen with the next sample.
  if (fds_[4].revents != 0 || (parent_pid_ > 0 && ::getppid() != parent_pid_)) {
    end_.parent_gone();
    parent_pid_ = 0;
  }
  if (end_.asked()) return;
  if (preempted_now_ && !std::exchange(preempted_, true)) hurry("preempted");
  if (fds_[2].revents == 0 && fds_[3].revents == 0) return;
  folder_quiet_ns_ = clock_.monotonic_ns() + kBusyFolderPause_ns;  // a task may make thousands of files there
  if (command_->ended() && !std::exchange(command_ended_, true)) hurry("command_end");
}

void TaskMonitor::finish() {
  const int64_t deadline_ns = clock_.monotonic_ns() + kEndBudget_ns;
  sample("final");
  write_runtime();
  if (!spool_) return;
  spool_->set_meta(task_meta(settings_, fallback_, run_id_, true));
  if (!deliverer_.running()) next_start_ns_ = 0;  // one that died gets a last chance
  report();
  const int64_t budget_ms = (deadline_ns - clock_.monotonic_ns()) / kNsPerMs;
  deliverer_.poke(control::end_line(budget_ms));
  while (deliverer_.running() && !end_.insists() && clock_.monotonic_ns() < deadline_ns) {
    listen({signals_.fd(), deliverer_.messages_fd(), -1, -1, -1});
    clock_.wait(fds_, deadline_ns);
    handle_events();
  }
  deliverer_.farewell();
  spool_->sync(std::max<int64_t>(0, std::min(deadline_ns - clock_.monotonic_ns(), kNsPerSec)) + 100 * kNsPerMs);
  undelivered_ = !delivered() || spool_->ring_bytes() > 0;
  if (undelivered_ && spool_->is_open())
    log::error("not all rows are delivered; they are kept in " + spool_->folder() + " (send them with: tacho deliver " +
               spool_->folder() + ")");
}

}  // namespace

Result<int> run_monitor(const MonitorSettings& settings, Clock& clock) { return TaskMonitor(settings, clock).run(); }

}  // namespace tacho
