// The way to one receiver of metrics: one request at a time, with the points of one run or of several, repeated
// unchanged until it is decided; what answers mean, and how long to wait. A request that is refused is taken apart, by
// runs first, until the culprits are alone. Not thread-safe.
#pragma once
#include <deque>
#include <string>
#include <vector>

#include "base/backoff.h"
#include "deliver/metric_run.h"

namespace tacho {

class MetricLane {
 public:
  explicit MetricLane(Delivering& shared);

  // Where a run goes, and how it is spoken to there: runs of one way may go together.
  static std::string way_of(const MetricMeta& meta);

  // Sends what is due; each run has its verdict, or waits. The runs of `ready` have points and are of one way; they
  // live until they are decided, and count when nothing else is under way.
  void send(const std::vector<MetricRun*>& ready);
  bool is_under_way() const { return !batches_.empty(); }
  int64_t next_ns() const { return next_ns_; }  // not before; 0: at once
  bool is_blocked() const { return blocked_; }  // a setting is wrong
  // The end has come: a pause of our own is over; what a server asked for holds.
  void hurry();
  // Nobody goes on here: the runs are others' from now on.
  void leave() { batches_.clear(); }

 private:
  using Batch = std::vector<MetricRun*>;
  struct Sent {
    int status = 0;  // 0: no answer
    int64_t retry_after_ms = 0;
    std::string words;    // of the server, or why there is no answer
    std::string partial;  // the body of an answer that all went well, of OTLP
    bool partial_is_json = false;
    bool cancelled = false, is_setting = false;
  };

  void compose(const Batch& ready);
  Sent post(const Batch& batch, const MetricMeta& meta);
  void judge(const Sent& sent);
  void delivered(const Sent& sent);
  void refused(const Sent& sent);
  void split(const Sent& sent);
  void broken(const Sent& sent);
  void pause(const Sent& sent);
  void wrong_setting(const Sent& sent);
  void held_up(const Sent& sent, bool by_setting);
  void drop_decided();

  Delivering& shared_;
  std::deque<Batch> batches_;  // of runs that were composed, what is not decided yet
  Backoff backoff_;
  int64_t next_ns_ = 0;
  int broken_ = 0;  // answers in a row
  bool judging_ = false, asked_to_wait_ = false, blocked_ = false, told_outage_ = false, told_words_ = false;
};

}  // namespace tacho
