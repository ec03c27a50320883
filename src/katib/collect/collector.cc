#include "katib/collect/collector.h"

#include <poll.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/log.h"
#include "base/units.h"
#include "katib/collect/marker.h"
#include "os/clock.h"
#include "os/memory.h"

namespace tacho {
namespace {

constexpr std::array<int, 2> kSignals{SIGTERM, SIGINT};
// Changes of files are looked at so often at the most: a trainer that prints all the time wakes us five times a second.
constexpr int64_t kSettleNs = 200 * kNsPerMs;
constexpr size_t kRowsAtOnce = 4096;
// Of the usual 30 s (native sidecars: 120 s) that a pod has after SIGTERM; the rest is for what comes after us.
constexpr int64_t kTermNs = 25 * kNsPerSec, kNativeTermNs = 110 * kNsPerSec;

}  // namespace

Collector::Collector(CollectOptions options)
    : options_(std::move(options)),
      roots_(Roots::from_environment()),
      folder_(options_.folder()),
      state_file_(options_.state    ? *options_.state
                  : folder_.empty() ? ""
                                    : folder_ + "/.tacho-state"),
      signals_(kSignals) {}

void Collector::turn(int64_t now_ns) {
  handle_signals();
  look_for_trainer(now_ns);
  trainer_->others_gone();  // lets go of those that have ended
  if (now_ns >= poll_ns_) {
    poll_ns_ = now_ns + options_.poll_ns;
    const bool found = folders_.missing() && watch_ && folders_.follow(watch_->folders());
    source_changed_ = source_changed_ || found || folders_.needs_polling();
  }
  if (source_changed_ && now_ns >= read_ns_) read_source(now_ns, false);
  scrape(now_ns);
  sample_resources(now_ns, false);
  if (!stop_early(now_ns)) check_end(now_ns);
  report(now_ns);
}

CollectEnd Collector::run() {
  started_ns_ = system_clock().monotonic_ns();
  report_ns_ = started_ns_ + options_.report_ns;
  give_back_memory();  // what only the start needed
  for (;;) {
    const Phase phase = phase_;
    const StopStep step = stop_;
    const bool resting = !sender_ || sender_->resting();
    turn(system_clock().monotonic_ns());
    if (phase_ == Phase::done) return end_;
    // What changed in this turn may be what an earlier part of it waits for.
    const bool again = phase_ != phase || stop_ != step || (sender_ && sender_->resting() != resting);
    wait(again ? 0 : next_deadline_ns());
  }
}

int64_t Collector::next_deadline_ns() const {
  // All is sent, and only other containers are waited for: the time limit of delivery is none of that.
  const bool delivered = phase_ == Phase::draining && stop_ == StopStep::none && (!sender_ || sender_->resting());
  int64_t next = delivered ? INT64_MAX : drain_deadline_ns_;
  const auto at = [&](int64_t time_ns) { next = std::min(next, time_ns); };
  if (trainer_->search_again()) at(look_ns_);
  if (folders_.needs_polling() || trainer_->needs_polling()) at(poll_ns_);
  if (source_changed_) at(read_ns_);
  if (scraper_ && phase_ == Phase::training && !scraper_->busy()) at(scrape_ns_);
  if (resources_) at(resources_->deadline_ns());
  if (sender_) at(sender_->deadline_ns());
  if (sender_ && options_.report_ns > 0 && phase_ == Phase::training) at(report_ns_);
  if (options_.timeout_ns > 0 && (phase_ == Phase::training || delivered)) at(started_ns_ + options_.timeout_ns);
  if (marker_wait_ns_ > 0) at(system_clock().monotonic_ns() + 100 * kNsPerMs);
  if (stop_ != StopStep::none && stop_ != StopStep::over) {
    if (killer_) at(killer_->deadline_ns());
    at(stop_deadline_ns_);
    if (stop_ == StopStep::set_status && !status_worker_.busy()) at(status_retry_ns_);
  }
  return next;
}

void Collector::wait(int64_t deadline_ns) {
  std::vector<pollfd> fds{{signals_.fd(), POLLIN, 0}};
  const int64_t now_ns = system_clock().monotonic_ns();
  // While changes are known and wait to be looked at, the queue of further ones need not wake anybody.
  const size_t watch = fds.size();
  fds.push_back({source_changed_ ? -1 : folders_.fd(), POLLIN, 0});
  for (const int fd : trainer_->descriptors()) fds.push_back({fd, POLLIN, 0});
  if (sender_) fds.push_back({sender_->fd(), POLLIN, 0});
  if (scraper_) fds.push_back({scraper_->fd(), POLLIN, 0});
  fds.push_back({status_worker_.fd(), POLLIN, 0});
  if (deadline_ns <= now_ns && deadline_ns != INT64_MAX) deadline_ns = now_ns;
  system_clock().wait(fds, deadline_ns);
  if (fds[watch].revents != 0) source_changed_ = folders_.changed();
}

void Collector::handle_signals() {
  while (const auto event = signals_.next()) {
    if (terminated_) continue;
    log::info("asked to end; sending what is there");
    terminated_ = true;
    limit_drain(system_clock().monotonic_ns() + (native_ ? kNativeTermNs : kTermNs));
    if (sender_) sender_->hurry();
  }
}

void Collector::look_for_trainer(int64_t now_ns) {
  if (!trainer_->search_again() || now_ns < look_ns_) return;
  look_ns_ = now_ns + options_.poll_ns;
  if (!trainer_->look()) return;
  log::debug("the main process is " + std::to_string(trainer_->main().pid) +
             (trainer_->wrapped() ? "" : ", not wrapped"));
  if (resources_ && trainer_->main().pid != 0) resources_->follow(trainer_->main());
}

// Follows the source for echo, stop rules and the objective.
void Collector::read_source(int64_t now_ns, bool at_end) {
  source_changed_ = false;
  read_ns_ = now_ns + kSettleNs;
  if (!watch_) return;
  if (trainer_->has_old_log()) {  // the trainer may truncate it, and its rows are no reason to stop this one
    source_changed_ = true;
    read_ns_ = now_ns + std::max(options_.poll_ns, kSettleNs);
    return;
  }
  if (source_) source_->hold();  // it is read later, when a report is due or the objective was seen
  const auto rows_matter = [&] { return !rules_.empty() || !state_.objective_seen || options_.fail_on_bad_line; };
  std::vector<MetricRow> rows;
  for (bool more = true; more;) {
    rows.clear();
    const bool wanted = rows_matter();
    watch_->want_rows(wanted);
    const auto read = watch_->read(at_end, kRowsAtOnce, [&](const RowView& row) { rows.push_back(row); });
    if (watch_->restarted()) {
      begin_attempt();
      // Rows of the new attempt that were passed by, since those of the old one did not matter any more.
      if (!wanted && rows_matter()) {
        if (const Status status = watch_->begin_anew(); !status) log::warn(status.error());
        continue;
      }
    }
    for (const MetricRow& row : rows) observe(row);
    unread_ = read ? "" : read.error().message();
    if (!read) {
      if (read.error().code == Code::invalid) fatal_ = read.error().message();
      log::warn(read.error());
    }
    more = read && *read;
    // A trainer that writes all the time must not keep us from the rest.
    if (more && !at_end && system_clock().monotonic_ns() - now_ns > kSettleNs) {
      source_changed_ = true;
      break;
    }
  }
  // Nobody tells when it can be read again.
  if (!unread_.empty() && fatal_.empty()) {
    source_changed_ = true;
    read_ns_ = now_ns + std::max(options_.poll_ns, kSettleNs);
  }
  marks_.add(watch_->passed(), now_us());
  if (folders_.follow(watch_->folders())) source_changed_ = true;
}

// The source began anew: what was counted of the attempt before does not count any more.
void Collector::begin_attempt() {
  log::info("the source began anew: a new attempt");
  marks_.clear();
  rules_.reset();
  if (!sender_) return;
  if (options_.replace_attempts) {
    state_.objective_seen = false;
    sender_->delete_first();
  }
  sender_->begin_anew("source");
}

void Collector::observe(const MetricRow& row) {
  if (passive_) return;
  if (row.name == options_.objective() && !state_.objective_seen) {
    state_.objective_seen = true;
    if (sender_) sender_->open_stream("source");
  }
  // Training that has ended by itself is not stopped any more: its own end counts, also when its last rows meet the
  // rules.
  if (stop_ == StopStep::none && rules_.observe(row) && !trainer_->main_gone()) {
    log::info("early stop: the rules are met\n" + rules_.describe());
    stop_ = StopStep::mark;
  }
}

void Collector::keep(const MetricRow& row) {
  observe(row);
  journal_->append(row);
}

void Collector::scrape(int64_t now_ns) {
  if (!scraper_) return;
  if (scraper_->take([&](const RowView& row) { keep(row); })) final_scrape_done_ = final_scrape_started_;
  if (scraper_->busy()) return;
  const bool last = (terminated_ || stop_ == StopStep::scrape || trainer_->main_gone()) && !final_scrape_started_;
  if (!last && (phase_ != Phase::training || now_ns < scrape_ns_ || final_scrape_started_)) return;
  final_scrape_started_ = last;
  scrape_ns_ = std::max(scrape_ns_ + options_.scrape_interval_ns, now_ns + options_.scrape_interval_ns / 2);
  scraper_->start(now_ns);
}

void Collector::sample_resources(int64_t now_ns, bool last) {
  if (!resources_) return;
  if (last && !folder_.empty())
    if (const auto used_ns = read_launcher_usage_ns(folder_, trainer_->main())) resources_->know_cpu(*used_ns);
  resources_->sample(now_ns, last, [&](const RowView& row) { keep(row); });
}

void Collector::save_watch() {
  if (watch_) state_.watch_position = watch_->position();
  if (!rules_.empty()) state_.rules = rules_.state();
  if (scraper_ && !scraper_->busy()) state_.scrape = scraper_->state();
}

void Collector::report(int64_t now_ns) {
  if (!sender_) return;
  if (options_.report_ns > 0 && now_ns >= report_ns_ && phase_ == Phase::training) {
    report_ns_ = now_ns + options_.report_ns;
    save_watch();
    if (fatal_.empty()) sender_->flush(false);
  }
  const bool was_busy = !sender_->resting();
  if (was_busy && std::exchange(first_report_, false)) give_back_memory();  // room for gRPC
  sender_->step(now_ns);
  const bool rests = was_busy && sender_->resting();
  if (sender_->calls() == calls_seen_ || (calls_seen_ > 0 && !rests))
    return;  // the first call runs much that no other needs
  calls_seen_ = sender_->calls();
  if (rests) journal_->all_acknowledged();
  give_back_memory();
}

}  // namespace tacho
