// One spooled run as points of metrics: which of them are next, and what became of them. state.json says how far it
// came, so that whoever goes on sends the same bytes; what a receiver refused for good is in the dead letter before
// that is written down. Not thread-safe.
#pragma once
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "deliver/delivery.h"
#include "deliver/metric_chunks.h"
#include "deliver/metric_letters.h"

namespace tacho {

class MetricRun {
 public:
  // `run` outlives it. `alone`: each refusal is told; else one a minute, for all runs.
  MetricRun(SpoolRun& run, Delivering& shared, bool alone) : run_(run), shared_(shared), alone_(alone) {}

  // From what lies in the spool. gone: the run has not begun; invalid: a setting is wrong.
  Status open(bool ended);
  bool is_open() const { return chunks_.has_value(); }
  const MetricMeta& meta() const { return meta_; }
  // scheme://host/path, for a person.
  std::string place() const;

  // Whether there is something to send now. Else `stuck` says why not, or is empty: there is nothing.
  bool load(bool ended, std::string& stuck);
  bool has_points() const { return !ranges_.empty(); }
  bool has_read(uint32_t segment) const { return chunks_ && chunks_->has_read(segment); }

  // Those that go together now, at least one.
  std::span<const MetricPoint> points() const {
    return std::span(points_).subspan(ranges_.front().begin, ranges_.front().end - ranges_.front().begin);
  }
  // They as a message; those of several runs one after the other are a message too, in JSON with commas between.
  std::string part(bool json) const;

  // What became of points().
  void delivered(int64_t rejected, const std::string& words);
  void refused(const std::string& words);
  // From now on half of them are the next; false: there is one alone.
  bool halve();
  // They were sent, and no answer came: the receiver may have taken them.
  void unanswered() { unanswered_ = true; }
  // They wait.
  void held_up(const std::string& why, bool by_setting) { reason_ = why, blocked_ = by_setting; }
  const std::string& reason() const { return reason_; }

  // Writes down how far it came. False: what was refused cannot be kept, so that nothing more may be decided.
  bool settle();
  DeliveryProgress progress(bool ended);

 private:
  // Points of the chunk that go together, from `begin` up to `end`.
  struct Range {
    size_t begin, end;
  };

  void settle_resource(const SpoolMeta& spooled);
  void decided();
  void keep_refused(const MetricPoint& point);
  bool own_series() const;
  bool are_there() const;
  void settle_doubtful(bool there);
  void tell_refused(const std::string& words, bool kept);

  SpoolRun& run_;
  Delivering& shared_;
  bool alone_;
  MetricMeta meta_;
  MetricState state_;
  OtlpAttributes resource_;
  std::optional<MetricChunks> chunks_;
  std::optional<MetricLetters> letters_;
  std::vector<MetricPoint> points_;  // of the chunk that is under way
  std::deque<Range> ranges_;         // of it, what is not decided yet
  size_t first_ = 0;                 // of it, with which this process began
  std::vector<size_t> doubtful_;     // of it: refused as older than what is there, after an answer was lost
  std::string reason_, doubtful_words_;
  int64_t saved_ns_ = 0;
  bool dirty_ = false, blocked_ = false, told_refused_ = false;
  bool unanswered_ = true;  // a process before this one may have been killed behind the answer
};

}  // namespace tacho
