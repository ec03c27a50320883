// How a collector comes to an end: training ends, or we are asked to end.
#include "base/log.h"
#include "base/units.h"
#include "katib/collect/collector.h"
#include "katib/collect/marker.h"

namespace tacho {
namespace {

constexpr int64_t kUnreadNs = 10 * kNsPerSec;

}  // namespace

void Collector::finish(CollectEnd end) {
  phase_ = Phase::done;
  end_ = std::move(end);
}

// No more rows come: the last of each source is read, and what is left is sent.
void Collector::begin_end(int64_t now_ns, CollectEnd end, bool success) {
  phase_ = Phase::draining;
  end_ = std::move(end);
  success_ = success;
  trainer_->forget_ignored();
  const bool over = trainer_->main_gone() || stop_ != StopStep::none;
  read_source(now_ns, over);
  sample_resources(now_ns, true);
  if (!sender_) return;
  if (scraper_) scraper_->finish([&](const RowView& row) { keep(row); });
  if (!fatal_.empty() && end_.code == 0) end_ = {kFatalExit, fatal_}, success_ = false;
  if (success_ && !state_.objective_seen && !journal_->holds(options_.objective(), kUnavailable)) {
    const bool now = !options_.is_log();
    log::error("no value of the objective " + options_.objective() + " was found" +
               (unread_.empty() ? "" : ", since what training wrote cannot be read (" + unread_ + ")") +
               "; it is reported as unavailable");
    journal_->append(
        {now ? TimeStamp::at(now_us()) : zero_time(), options_.objective(), std::string(kUnavailable), {}, {}});
  }
  save_watch();
  if (fatal_.empty()) sender_->flush(over);
}

void Collector::drain(int64_t now_ns) {
  const bool sent = !sender_ || sender_->resting();
  if (!sent && now_ns >= drain_deadline_ns_) {
    const std::string why = sender_->failing() ? std::string(" (") + rpc_code_name(sender_->last_status().code) + ": " +
                                                     sender_->last_status().message + ")"
                                               : "";
    return finish({kFatalExit, "rows could not be delivered in time" + why +
                                   "; the state file is kept, so a restart goes on there"});
  }
  if (!sent || stop_ != StopStep::none) return;
  if (sender_ && end_.code == 0 && !sender_->unreadable().empty())
    end_ = {kFatalExit, "not everything that training wrote could be read: " + sender_->unreadable()};
  // Other containers are waited for, but not by a native sidecar and not when asked to end.
  if (terminated_ || trainer_->others_gone() || end_.code != 0) return finish(end_);
  if (options_.timeout_ns > 0 && now_ns - started_ns_ >= options_.timeout_ns)
    finish({kFatalExit,
            "timed out: training has ended and its rows are reported, but another container still runs after -timeout "
            "(-w false waits for the trainer only)"});
}

void Collector::end_of_training(int64_t now_ns) {
  if (scraper_ && !final_scrape_done_) return;
  // What cannot be read may be read in a moment: a rotation, a file server that comes back.
  if (!unread_.empty() && !terminated_) {
    if (unread_until_ns_ == 0) unread_until_ns_ = now_ns + kUnreadNs;
    if (now_ns < unread_until_ns_) return;
  }
  const std::string pid = std::to_string(trainer_->main().pid);
  switch (passive_ ? TrainingEnd::success : trainer_->end()) {
    case TrainingEnd::none: return;
    case TrainingEnd::success: begin_end(now_ns, {}, true); break;
    case TrainingEnd::early_stopped:
      // The wrapper has not rewritten our mark yet.
      if (marker_wait_ns_ == 0) marker_wait_ns_ = now_ns + options_.grace_ns;
      if (now_ns < marker_wait_ns_) return;
      stop_ = StopStep::mark;
      return;
    case TrainingEnd::failed:
      begin_end(now_ns,
                {kFatalExit, "training failed: " + (trainer_->main().pid == 0 ? "the trainer" : "process " + pid) +
                                 " ended without its marker in " + folder_},
                false);
      break;
    case TrainingEnd::damaged:
      begin_end(now_ns,
                {kFatalExit, "the marker " + marker_path(folder_, trainer_->main().pid) +
                                 " holds neither completed nor early-stopped; training counts as failed"},
                false);
      break;
  }
  marker_wait_ns_ = 0;
  limit_drain(now_ns + options_.report_deadline_ns);
}

void Collector::terminate(int64_t now_ns) {
  if (scraper_ && !final_scrape_done_) return;
  if (trainer_->main_gone() && trainer_->end() != TrainingEnd::none) end_of_training(now_ns);
  if (phase_ == Phase::training) begin_end(now_ns, {}, false);
}

void Collector::check_end(int64_t now_ns) {
  if (phase_ == Phase::draining) return drain(now_ns);
  if (phase_ != Phase::training) return;
  if (terminated_) return terminate(now_ns);
  if (trainer_->main_gone()) return end_of_training(now_ns);
  if (options_.timeout_ns == 0 || now_ns - started_ns_ < options_.timeout_ns) return;
  begin_end(now_ns,
            {kFatalExit, trainer_->found() ? "timed out: training still runs after -timeout"
                                           : "timed out: no main process was found within -timeout"},
            false);
  limit_drain(now_ns + options_.report_deadline_ns);
}

}  // namespace tacho
