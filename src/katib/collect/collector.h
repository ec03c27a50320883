// The collector's loop: follows the trainer's processes and what training prints, writes or serves, reports rows, stops
// a hopeless trial early. One thread waits in one poll for all of it; calls over the network are made by threads of
// their own. An idle collector is woken by its timers only. Not thread-safe.
#pragma once
#include <algorithm>
#include <memory>
#include <optional>
#include <string>

#include "katib/collect/collect_options.h"
#include "katib/collect/collect_state.h"
#include "katib/collect/journal.h"
#include "katib/collect/resources.h"
#include "katib/collect/row_sender.h"
#include "katib/collect/state_lock.h"
#include "katib/collect/stop_rules.h"
#include "katib/collect/trainer.h"
#include "katib/collect/tree_killer.h"
#include "katib/read/arrival_marks.h"
#include "katib/read/folder_watch.h"
#include "katib/read/scraper.h"
#include "os/line_file.h"
#include "os/signals.h"

namespace tacho {

inline constexpr int kFatalExit = 255;

// How it ended: the exit code and, unless all went well, the cause in one line.
struct CollectEnd {
  int code = 0;
  std::string cause;
};

class Collector {
 public:
  // Filters, rules and selectors are compiled here; an Error of code invalid is the caller's exit 2. Waits for another
  // collector with the same state; if that one does not end, the Error has code io.
  static Result<std::unique_ptr<Collector>> create(CollectOptions options);
  CollectEnd run();

 private:
  enum class Phase { training, draining, done };
  enum class StopStep { none, mark, scrape, kill, drain, wait_main, set_status, kill_last, over };

  explicit Collector(CollectOptions options);
  Status make_readers();
  void make_resources();
  void resume();

  // collector.cc: one turn of the loop.
  void turn(int64_t now_ns);
  int64_t next_deadline_ns() const;
  void wait(int64_t deadline_ns);
  void handle_signals();
  void look_for_trainer(int64_t now_ns);
  void read_source(int64_t now_ns, bool at_end);
  void begin_attempt();
  void scrape(int64_t now_ns);
  void sample_resources(int64_t now_ns, bool last);
  void report(int64_t now_ns);
  // A row that training made, or that was measured.
  void observe(const MetricRow& row);
  void keep(const MetricRow& row);
  void save_watch();

  // collector_end.cc: how it comes to an end.
  void check_end(int64_t now_ns);
  void begin_end(int64_t now_ns, CollectEnd end, bool success);
  void drain(int64_t now_ns);
  void limit_drain(int64_t deadline_ns) { drain_deadline_ns_ = std::min(drain_deadline_ns_, deadline_ns); }
  void end_of_training(int64_t now_ns);
  void terminate(int64_t now_ns);
  void finish(CollectEnd end);

  // collector_stop.cc: the steps of an early stop.
  bool stop_early(int64_t now_ns);
  void next_stop_step(StopStep step, int64_t now_ns, std::string_view words);
  bool is_wrapped() const;
  bool has_gone();
  bool stop_by_mark(int64_t now_ns);
  void stop_after_scrape(int64_t now_ns);
  void send_last_rows(int64_t now_ns, std::string_view words);
  bool killed(int64_t now_ns);
  void wait_for_wrapper(int64_t now_ns);
  void stop_by_status(int64_t now_ns);
  bool set_status(int64_t now_ns);

  CollectOptions options_;
  Roots roots_;
  std::string folder_;
  bool passive_ = false, native_ = false;
  StateFile state_file_;
  StateLock state_lock_;
  CollectState state_;
  LineFile echo_;
  bool echo_stalled_ = false;

  std::unique_ptr<Reader> watch_, source_;  // the same source twice: followed closely, and as far as it was reported
  ArrivalMarks marks_;
  StopRules rules_;
  std::unique_ptr<Journal> journal_;
  std::optional<Scraper> scraper_;
  std::optional<Resources> resources_;
  std::shared_ptr<DbCalls> calls_;
  std::optional<RowSender> sender_;
  std::optional<Trainer> trainer_;
  FolderWatch folders_;
  SignalQueue signals_;

  Phase phase_ = Phase::training;
  CollectEnd end_;
  std::string fatal_;   // why the end will be a failure, once that is known
  std::string unread_;  // why the source could not be read at the last try
  bool terminated_ = false, source_changed_ = true, final_scrape_started_ = false, final_scrape_done_ = false,
       success_ = false;
  bool first_report_ = true;
  int64_t started_ns_ = 0, look_ns_ = 0, read_ns_ = 0, poll_ns_ = 0, report_ns_ = 0, scrape_ns_ = 0,
          drain_deadline_ns_ = INT64_MAX;
  int64_t marker_wait_ns_ = 0, unread_until_ns_ = 0;
  uint64_t calls_seen_ = 0;

  StopStep stop_ = StopStep::none;
  std::optional<TreeKiller> killer_;
  Worker status_worker_{"tacho-status"};
  std::shared_ptr<RpcStatus> status_result_;
  ReportPause status_pause_;
  int64_t stop_deadline_ns_ = INT64_MAX, status_retry_ns_ = 0;
};

}  // namespace tacho
