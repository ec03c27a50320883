#include "engine/session.h"

#include <sys/wait.h>

#include <algorithm>

#include "base/exit_status.h"
#include "base/log.h"
#include "base/units.h"
#include "discover/cgroups.h"
#include "discover/host.h"
#include "engine/deliverer.h"
#include "engine/live_panel.h"
#include "engine/outcome.h"
#include "engine/outputs.h"
#include "engine/progress.h"
#include "engine/run_facts.h"
#include "engine/run_record.h"
#include "engine/sampler.h"
#include "job/job.h"
#include "job/job_cgroup.h"
#include "probe/cgroup.h"
#include "probe/tree/process_tree.h"
#include "report/store/store.h"
#include "report/verdict/verdict.h"
#include "sink/store.h"

namespace tacho {
namespace {

constexpr int64_t kFirstLookNs = 10 * kNsPerMs;

class Session {
 public:
  Session(const Settings& settings, Clock& clock, const SessionBegun& begun)
      : settings_(settings),
        clock_(clock),
        begun_(begun),
        job_([this](const Exit& exit) { reaped(exit); }, [this](pid_t pid) { return tree_ && tree_->contains(pid); }) {}

  Result<SessionEnd> run();

 private:
  Status prepare();
  Status start();
  void make_job_cgroup();
  void loop();
  void tick();
  void look_early(int64_t now_ns);
  void reaped(const Exit& exit);
  void restart_deliverer();
  void write_row(bool closing);
  void add_to_verdict();
  void enforce_timeout(int64_t now_ns);
  void finish();
  int exit_status() const;
  int end_signal() const;
  void signal_job(int number);
  bool undelivered() const { return outputs_.failed() || !delivered_; }

  const Settings& settings_;
  Clock& clock_;
  const SessionBegun& begun_;
  Run run_;
  Summary summary_;
  VerdictFold verdict_;
  ProbeContext context_;
  std::unique_ptr<ProcessTree> tree_;
  Job job_;
  JobCgroup job_cgroup_;
  std::string own_cgroup_;  // tacho's, where one was made for the job
  Deliverer deliverer_;     // before the outputs, whose sinks wake it up
  Outputs outputs_;
  std::unique_ptr<Sampler> sampler_;
  RunRecord record_;
  OomWatch oom_;
  TotalsKeeper totals_;
  Progress progress_;
  LivePanel live_;
  Row row_;
  size_t hidden_cell_ = 0;  // process_pid, with --hide pid; 0: none
  Detail detail_;
  int64_t start_ns_ = 0, next_tick_ns_ = 0, next_look_ns_ = INT64_MAX, kill_at_ns_ = 0;
  bool timed_out_ = false, wants_detail_ = false, delivered_ = true;
  std::optional<int> ended_early_;  // by this signal, before there was a job
  bool launching_ = false;          // every output is open: what fails from now on is the command
};

Result<SessionEnd> Session::run() {
  if (Status status = prepare(); !status) {
    outputs_.discard();  // nothing ran, so nothing waits in the spool
    return status.error();
  }
  if (Status status = start(); !status) {
    outputs_.discard();
    const Error& error = status.error();
    // Found but not executable, and not found, have exit statuses of their own.
    if (launching_ && (error.code == Code::not_available || error.code == Code::denied)) {
      log::error(error.message());
      return SessionEnd{error.code == Code::denied ? kNotExecutable : kNotFound, 0, true};
    }
    return error;
  }
  if (ended_early_) {
    outputs_.discard();
    return SessionEnd{128 + *ended_early_, settings_.compatible ? 0 : *ended_early_};
  }
  loop();
  finish();
  return SessionEnd{exit_status(), end_signal()};
}

Status Session::prepare() {
  run_.mode = settings_.mode == Mode::run ? kModeRun : settings_.mode == Mode::attach ? kModeAttach : kModeWatch;
  fill_from_settings(run_, settings_);
  context_.roots = Roots::from_environment();
  find_who_started(run_, settings_, context_.roots);
  context_.interval_ns = settings_.interval_ns;
  context_.pss = settings_.pss;
  context_.hides_addresses = is_hidden(run_, "mac_address");
  if (const Status view = check_proc_view(context_.roots.proc); !view) {
    if (settings_.attach_pid == 0) log::warn(view.error().message());  // there it is the error
    context_.note(view.error().what);
  }
  SinkOptions options = sink_options(settings_);
  options.spooled = [this](SpoolSink& sink) { deliverer_.add(sink); };
  if (Status status = outputs_.open(settings_, options, deliverer_.open_service(settings_, options)); !status)
    return status;
  deliverer_.take_secrets();
  if (settings_.mode == Mode::attach && settings_.attach_pid > 0)
    if (Status status = job_.attach(settings_.attach_pid); !status) return status;
  // The place in the cgroups is known before the job starts; it inherits tacho's but for the one made for it.
  context_.cgroup = settings_.attach_cgroup.empty() ? find_cgroups(context_.roots, settings_.attach_pid)
                                                    : named_cgroup(context_.roots, settings_.attach_cgroup);
  const pid_t limited_pid = settings_.attach_cgroup.empty() ? settings_.attach_pid : kNoProcess;
  context_.limits = find_limits(context_.roots, context_.cgroup, limited_pid, machine_memory_bytes(context_.roots));
  run_.limits = context_.limits;
  if (settings_.mode == Mode::run) make_job_cgroup();
  if (!settings_.attach_cgroup.empty()) {
    const std::string& folder = !context_.cgroup.unified.empty()   ? context_.cgroup.unified
                                : !context_.cgroup.cpuacct.empty() ? context_.cgroup.cpuacct
                                                                   : settings_.attach_cgroup;
    if (Status status = job_.attach_cgroup(folder); !status) return status;
    context_.cgroup.job_only = true;
  }
  if (settings_.mode != Mode::watch) {
    tree_ = std::make_unique<ProcessTree>(context_);
    context_.tree = tree_.get();
    context_.job_pids = tree_.get();
    if (settings_.mode == Mode::run) tree_->expect_own_child();
    if (settings_.no_children) tree_->leave_children_out();
    context_.net_pid = settings_.attach_pid;
  }
  auto sampler = Sampler::create(context_, {settings_.probes_on, settings_.probes_off, settings_.compatible}, clock_);
  if (!sampler) return sampler.error();
  sampler_ = std::move(*sampler);
  const Schema& schema = sampler_->schema();
  for (size_t i = 0; is_hidden(run_, "pid") && i < schema.size(); ++i)
    if (schema[i].name == "process_pid") hidden_cell_ = i;
  summary_.begin(schema);
  verdict_ = VerdictFold(schema);
  totals_.begin(schema);
  if (Status status = outputs_.open_run_store(settings_, run_, summary_); !status) return status;
  if (run_.id.empty()) run_.id = make_run_id(clock_.realtime_ns());
  record_.open(settings_, outputs_.store_folder(), run_, tree_.get(), context_);
  if (tree_) job_.on_ending([this](pid_t pid) { tree_->ending(pid); });
  wants_detail_ = outputs_.wants_detail();
  return ok();
}

void Session::make_job_cgroup() {
  if (settings_.method == TreeMethod::tree) return;
  auto group = JobCgroup::create(context_.cgroup.unified);
  if (!group) {
    if (settings_.method == TreeMethod::cgroup)
      log::warn(group.error().message() + "; summing the process tree instead");
    else log::debug(group.error().message());
    return;
  }
  job_cgroup_ = std::move(*group);
  own_cgroup_ = context_.cgroup.unified;
  context_.cgroup.unified = job_cgroup_.path();
  context_.cgroup.job_only = true;
}

Status Session::start() {
  oom_.begin(context_.roots);
  if (tree_ && settings_.attach_pid > 0 && !tree_->follow(settings_.attach_pid, false))
    return Error{Code::gone, "there is no process", std::to_string(settings_.attach_pid), "it has just ended"};
  if (tree_ && !settings_.attach_cgroup.empty()) tree_->follow_cgroup(cgroup_folder(context_.cgroup));
  start_ns_ = clock_.monotonic_ns();
  run_.outcome.started_realtime_ns = clock_.realtime_ns();
  // At once: what an attached job uses while the outputs are begun, on a slow disk, is the run's.
  sampler_->baseline();
  run_.process_name = attached_name(settings_, context_);
  run_.pid = job_.pid();
  if (Status status = outputs_.begin(run_, sampler_->schema()); !status) return status;
  record_.begin(*sampler_, run_);
  if (wants_detail_) {
    sampler_->describe(detail_);
    outputs_.baseline(detail_);
  }
  if (settings_.mode == Mode::run) {
    Job::Launch launch{settings_.command, record_.folder(), job_cgroup_.fd(), {}};
    if (sampler_->wants_new_job()) launch.before_exec = [this](pid_t pid) { sampler_->new_job(pid); };
    launching_ = true;
    if ((ended_early_ = job_.ended_before_start())) return ok();
    if (settings_.timeout_ns) job_.wake_at(start_ns_ + *settings_.timeout_ns);
    if (Status status = job_.launch(launch); !status) return status;
    if (!job_.in_cgroup() && !job_cgroup_.path().empty()) {
      // The kernel would not start it there: the tree is summed instead, and the job's cgroup is tacho's own.
      context_.cgroup.job_only = false;
      context_.cgroup.unified = own_cgroup_;
      sampler_->rebase(kCgroupProbe.name);
      context_.note("the job could not be started in a cgroup of its own");
    }
    run_.pid = job_.pid();
    tree_->follow(run_.pid, true);
  }
  run_.host = discover_host(context_.roots);
  set_allocation(run_.host, run_.limits);
  ++run_.revision;
  if (deliverer_.is_needed()) {
    sampler_->fill_host(run_);
    const pid_t helper =
        deliverer_.start(outputs_.store_folder(), clock_.monotonic_ns(), settings_.deliver == DeliverWhen::later);
    if (tree_ && helper > 0) tree_->exclude(helper);
  }
  live_.begin(settings_, context_, *sampler_, !record_.has_devices());
  if (live_.is_shown()) job_.on_stopping([this] { live_.end(); });
  else progress_.begin(settings_.progress_ns, start_ns_);
  return begun_ ? begun_(run_, outputs_.store_folder()) : ok();
}

void Session::loop() {
  next_tick_ns_ = start_ns_ + settings_.interval_ns;
  if (settings_.mode == Mode::run && (!context_.cgroup.job_only || job_.has_terminal() || record_.has_processes()))
    next_look_ns_ = start_ns_ + kFirstLookNs;
  job_.check_alive();  // a cgroup that is empty already will not tell
  while (!job_.ended()) {
    int64_t deadline_ns = next_tick_ns_;
    // Where the kernel does not tell of the end, it is looked for twice a second, however long the interval.
    if (job_.must_be_asked()) deadline_ns = std::min(deadline_ns, clock_.monotonic_ns() + kNsPerSec / 2);
    if (settings_.timeout_ns && !timed_out_) deadline_ns = std::min(deadline_ns, start_ns_ + *settings_.timeout_ns);
    if (kill_at_ns_ > 0) deadline_ns = std::min(deadline_ns, kill_at_ns_);
    deadline_ns = std::min(deadline_ns, next_look_ns_);
    deadline_ns = std::min(deadline_ns, deliverer_.restart_at_ns());
    clock_.wait(job_.poll_set(), deadline_ns);
    if (job_.handle_events()) return;
    const int64_t now_ns = clock_.monotonic_ns();
    if (now_ns >= deliverer_.restart_at_ns()) restart_deliverer();
    enforce_timeout(now_ns);
    if (timed_out_ && settings_.mode != Mode::run) return;
    if (now_ns < next_tick_ns_) {
      look_early(now_ns);
      job_.check_alive();
      continue;
    }
    next_look_ns_ = INT64_MAX;
    tick();
    if (job_.ended()) return;
    // Absolute deadlines: no drift; after a stop or an overload missed ticks are skipped, not made up for.
    const int64_t behind = (clock_.monotonic_ns() - next_tick_ns_) / settings_.interval_ns;
    next_tick_ns_ += (behind + 1) * settings_.interval_ns;
  }
}

// What the tree must see before it is gone (a parent that lets the kernel reap its children) is mostly set up at the
// start, so that the first interval is looked into at 10, 20, 40 … ms. A cgroup needs no looking, but the terminal
// does.
void Session::look_early(int64_t now_ns) {
  if (now_ns < next_look_ns_) return;
  next_look_ns_ = start_ns_ + (now_ns - start_ns_) * 2;
  if (!context_.cgroup.job_only || record_.has_processes()) tree_->update(now_ns);
}

void Session::tick() {
  write_row(false);
  job_.check_alive();
  deliverer_.relay();
  progress_.show(run_, summary_, clock_.monotonic_ns());
}

void Session::reaped(const Exit& exit) {
  if (tree_) tree_->reaped(exit.pid, exit.usage, exit.status);
  if (deliverer_.ended(exit, clock_.monotonic_ns()) && tree_) tree_->include_again(exit.pid);
}

void Session::restart_deliverer() {
  const pid_t helper = deliverer_.restart(clock_.monotonic_ns());
  if (tree_ && helper > 0) tree_->exclude(helper);
}

void Session::write_row(bool closing) {
  sampler_->sample(row_, closing);
  if (hidden_cell_ > 0) row_.cells[hidden_cell_] = kAbsent;
  if (wants_detail_) {
    detail_ = {};
    sampler_->describe(detail_);
  }
  summary_.add(row_);
  add_to_verdict();
  totals_.update(run_, summary_, tree_.get(), context_);
  // The GPU driver may take a while to answer.
  if (closing || (!run_.host.host_gpu_count && row_.index % 8 == 1)) {
    sampler_->fill_host(run_);
    if (run_.host.host_gpu_count) ++run_.revision;
  }
  run_.outcome.duration_ns = clock_.monotonic_ns() - start_ns_;
  outputs_.write(row_, wants_detail_ ? &detail_ : nullptr);
  record_.tick(*sampler_, row_, outputs_.failed());
  if (live_.is_shown()) live_.show(run_, row_, clock_.monotonic_ns());
}

// Whose cgroup it is may change while the job runs.
void Session::add_to_verdict() {
  JudgedRun judged = JudgedRun::of(run_);
  judged.own_cgroup = context_.cgroup.job_only;
  verdict_.add(row_, judged);
}

void Session::enforce_timeout(int64_t now_ns) {
  if (settings_.timeout_ns && !timed_out_ && now_ns >= start_ns_ + *settings_.timeout_ns) {
    timed_out_ = true;
    if (settings_.mode != Mode::run) return;  // what tacho did not start it does not end: the recording ends
    kill_at_ns_ = now_ns + settings_.kill_after_ns;
    job_.wake_at(kill_at_ns_);
    tree_->update(now_ns);
    signal_job(SIGTERM);
    signal_job(SIGCONT);  // a stopped job could not end
  } else if (kill_at_ns_ > 0 && now_ns >= kill_at_ns_) {
    kill_at_ns_ = now_ns + kNsPerSec;  // again, should new processes appear
    tree_->update(now_ns);
    job_cgroup_.kill_all();
    signal_job(SIGKILL);
  }
}

// The command itself while it is ours to reap; the others as the processes that they were when they were seen.
void Session::signal_job(int number) {
  job_.signal(number);
  tree_->signal_others(number);
}

void Session::finish() {
  const int64_t end_ns = clock_.monotonic_ns();
  live_.end();
  // A clock that was set back would have it end before it began.
  run_.outcome.finished_realtime_ns = clock_.realtime_ns();
  if (run_.outcome.finished_realtime_ns < run_.outcome.started_realtime_ns)
    run_.outcome.finished_realtime_ns = run_.outcome.started_realtime_ns + end_ns - start_ns_;
  if (tree_ && settings_.mode == Mode::attach) tree_->root_ended();
  write_row(true);
  run_.outcome.duration_ns = end_ns - start_ns_;
  run_.outcome.timed_out = timed_out_;
  fill_outcome(run_, job_, exit_status());
  const bool own_oom_count = context_.cgroup.job_only && (!settings_.attach_cgroup.empty() ||
                                                          file_exists(context_.cgroup.unified + "/memory.events"));
  if (timed_out_ && settings_.mode == Mode::run) signal_job(SIGKILL);  // what the root left behind
  if (!job_cgroup_.path().empty() && !job_cgroup_.remove())
    context_.note("processes of the job live on: what they use after its end is not in the record");
  totals_.close(run_, summary_, tree_.get(), context_);
  std::string oom_note;
  oom_.end(context_, run_, summary_, own_oom_count, oom_note);
  if (!oom_note.empty()) context_.note(std::move(oom_note));
  if (std::string note = deliverer_.note(); !note.empty()) context_.note(std::move(note));
  record_.finish(run_, summary_);
  run_.notes = context_.notes;
  outputs_.end(run_);
  const bool prints = !job_.in_a_hurry() && !settings_.quiet;
  // Only where somebody reads it: a store may have a hundred thousand runs, and who started tacho waits for its end.
  const std::string shown_id = prints || deliverer_.is_needed() ? short_id_in(settings_.store_dir, run_.id) : "";
  const std::string found_by = outputs_.store_folder().empty() ? "" : shown_id;  // else it cannot be looked up
  if (prints) print_summary(settings_, run_, summary_, found_by, summary_words(verdict_.verdict(run_).judgement));
  delivered_ = deliverer_.finish(clock_, job_, shown_id);
}

int Session::exit_status() const {
  if (timed_out_) return kTimedOut;
  if (settings_.mode != Mode::run) return settings_.strict && undelivered() ? kRefused : 0;
  const int status = job_.exit() ? shell_status(job_.exit()->status) : kRefused;
  return status == 0 && settings_.strict && undelivered() ? kRefused : status;
}

// A shell loop stops at a Ctrl-C only if what it started ended by it.
int Session::end_signal() const {
  if (timed_out_ || settings_.compatible || !job_.exit() || !WIFSIGNALED(job_.exit()->status)) return 0;
  return WTERMSIG(job_.exit()->status);
}

}  // namespace

Result<SessionEnd> run_session(const Settings& settings, Clock& clock, const SessionBegun& begun) {
  return Session(settings, clock, begun).run();
}

}  // namespace tacho
