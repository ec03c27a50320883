// The sequence at an early stop. A wrapped trainer is ended first and rewrites the marker; one that is not would make
// its container fail, so the trial must count as early-stopped before that.
#include <algorithm>

#include "base/log.h"
#include "base/units.h"
#include "katib/collect/collector.h"
#include "katib/collect/marker.h"
#include "katib/collect/refusal.h"

namespace tacho {
namespace {

constexpr int64_t kMainWaitNs = 60 * kNsPerSec;

}  // namespace

void Collector::next_stop_step(StopStep step, int64_t now_ns, std::string_view words) {
  log::info(std::string("early stop: ") + std::string(words));
  stop_ = step;
  stop_deadline_ns_ = step == StopStep::wait_main ? now_ns + kMainWaitNs : INT64_MAX;
}

// True when the early-stopping service has taken it.
bool Collector::set_status(int64_t now_ns) {
  if (options_.early_stop_address.empty()) return true;
  if (status_worker_.busy()) {
    if (!status_worker_.finished()) return false;
    if (status_result_->ok()) return true;
    log::warn(std::string("the early-stopping service does not answer (") + rpc_code_name(status_result_->code) + ": " +
              status_result_->message + "); it is asked again");
    status_retry_ns_ = now_ns + status_pause_.next_ns(is_refusal(status_result_->code));
  }
  if (now_ns < status_retry_ns_) return false;
  status_result_ = std::make_shared<RpcStatus>();
  status_worker_.start(
      [calls = calls_, trial = options_.trial, result = status_result_] { *result = calls->set_trial_status(trial); });
  return false;
}

bool Collector::is_wrapped() const { return trainer_->wrapped() && !folder_.empty(); }

bool Collector::has_gone() { return trainer_->found() && (trainer_->main().pid == 0 || trainer_->main_gone()); }

// False: training has ended by itself, and nothing is stopped.
bool Collector::stop_by_mark(int64_t now_ns) {
  if (!trainer_->found()) return true;  // restarted in the middle: it is looked for
  const bool gone = has_gone();
  if (gone && !state_.stopped && trainer_->end() != TrainingEnd::early_stopped) {
    log::info("early stop: training has ended by itself, so nothing is stopped");
    stop_ = StopStep::none;
    return false;
  }
  state_.stopped = true;
  state_file_.save(state_);
  if (is_wrapped() && !gone)
    if (const Status status = mark_early_stopped(folder_, trainer_->main().pid); !status) log::warn(status.error());
  next_stop_step(StopStep::scrape, now_ns,
                 is_wrapped() ? "marked" : "the trainer is not wrapped, so rows and status come first");
  return true;
}

void Collector::send_last_rows(int64_t now_ns, std::string_view words) {
  begin_end(now_ns, {}, false);
  limit_drain(now_ns + options_.report_deadline_ns);
  next_stop_step(StopStep::drain, now_ns, words);
}

void Collector::stop_after_scrape(int64_t now_ns) {
  if (scraper_ && !final_scrape_done_) return;
  if (!is_wrapped()) return send_last_rows(now_ns, "reporting the rows");
  next_stop_step(StopStep::kill, now_ns, "ending the trainer's processes");
  killer_.emplace(roots_, trainer_->main(), options_.grace_ns, false);
}

// True: all of the trainer's processes have ended.
bool Collector::killed(int64_t now_ns) { return now_ns >= killer_->deadline_ns() && killer_->step(now_ns); }

void Collector::wait_for_wrapper(int64_t now_ns) {
  const bool gone = has_gone(), marked = gone && read_marker(folder_, trainer_->main().pid) == Marker::completed;
  if (marked || now_ns >= stop_deadline_ns_) {
    begin_end(now_ns, {}, false);  // what the wrapper printed last
    next_stop_step(StopStep::set_status, now_ns,
                   marked ? "the wrapper has ended" : "the wrapper did not end in a minute; going on");
  } else if (gone) {
    stop_deadline_ns_ = std::min(stop_deadline_ns_, now_ns + options_.grace_ns);
    marker_wait_ns_ = stop_deadline_ns_;  // looked at again soon
  }
}

void Collector::stop_by_status(int64_t now_ns) {
  marker_wait_ns_ = 0;
  drain(now_ns);
  // The controller reads the rows as soon as the status is set.
  if (phase_ == Phase::done || !sender_->resting()) return;
  if (!set_status(now_ns)) {
    if (now_ns >= drain_deadline_ns_) finish({kFatalExit, "the early-stopping service could not be told in time"});
    return;
  }
  const bool wrapped = is_wrapped();
  next_stop_step(wrapped ? StopStep::over : StopStep::kill_last, now_ns,
                 options_.early_stop_address.empty() ? "no service is told, since -s-earlystop is not given"
                                                     : "the trial's status is set");
  if (wrapped) return finish({});
  killer_.emplace(roots_, trainer_->main(), options_.grace_ns, true);
}

// True while it is in charge.
bool Collector::stop_early(int64_t now_ns) {
  if (stop_ == StopStep::none || stop_ == StopStep::over || phase_ == Phase::done) return false;
  if (stop_ == StopStep::mark && !stop_by_mark(now_ns)) return false;
  if (stop_ == StopStep::scrape) {
    stop_after_scrape(now_ns);
    if (stop_ == StopStep::drain) return true;  // in the next turn, when a part of the rows is on its way
  }
  switch (stop_) {
    case StopStep::kill:
      if (!killed(now_ns)) break;
      killer_.reset();
      send_last_rows(now_ns, "all processes have ended; reporting the rows");
      break;
    case StopStep::drain:
      drain(now_ns);
      if (phase_ == Phase::done || !sender_->resting()) break;
      next_stop_step(is_wrapped() ? StopStep::wait_main : StopStep::set_status, now_ns, "the rows are reported");
      break;
    case StopStep::wait_main: wait_for_wrapper(now_ns); break;
    case StopStep::set_status:
      stop_by_status(now_ns);
      if (stop_ != StopStep::kill_last) break;
      [[fallthrough]];
    case StopStep::kill_last:
      if (killed(now_ns)) finish({});
      break;
    default: break;
  }
  return true;
}

}  // namespace tacho
