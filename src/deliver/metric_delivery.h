// The delivery of a spooled run as metrics, by remote write or OTLP/HTTP: one request at a time, oldest first, each
// repeated unchanged until it is decided. What a server refuses for good goes to the dead letter. Whatever is killed at
// whatever moment, the next process sends the same bytes. Not thread-safe.
#pragma once
#include <deque>
#include <memory>
#include <optional>
#include <random>
#include <string>

#include "base/backoff.h"
#include "deliver/metric_chunks.h"
#include "deliver/metric_letters.h"
#include "deliver/spooled_delivery.h"
#include "net/metrics/answers.h"

namespace tacho {

class MetricDelivery final : public SpooledDelivery {
 public:
  MetricDelivery(SpoolRun run, Role role, Delivering& shared);

  void finish(int64_t deadline_ns) override;
  bool is_registered() const override { return true; }
  bool sends_too(const SpoolMeta& leftover) const override;
  std::optional<Progress> progress() override;

 private:
  // Points of the chunk that go together, from `begin` up to `end`.
  struct Range {
    size_t begin, end;
  };
  struct Sent {
    int status = 0;  // 0: no answer
    int64_t retry_after_ms = 0;
    std::string words;  // of the server, or why there is no answer
    bool cancelled = false, is_setting = false;
  };

  Step proceed() override;
  Step left(std::string reason) override;
  Status open();
  void settle_resource(const SpoolMeta& spooled);
  bool next_chunk();
  Step send_next();
  Sent send(std::span<const MetricPoint> points);
  std::string body_of(std::span<const MetricPoint> points, bool json) const;
  Step judge(const Sent& sent);
  Step delivered();
  Step refused(const Sent& sent);
  Step halve(const Sent& sent);
  Step broken(const Sent& sent);
  Step pause(const Sent& sent, bool slow_down);
  Step wrong_setting(const Sent& sent);
  Step again_soon();
  void decided();
  void save();
  void tell_refused(const std::string& words);
  std::string lines_of(std::span<const MetricPoint> points) const;
  std::span<const MetricPoint> front() const {
    return std::span(points_).subspan(ranges_.front().begin, ranges_.front().end - ranges_.front().begin);
  }

  MetricMeta meta_;
  MetricState state_;
  OtlpAttributes resource_;
  Headers credentials_;
  std::string certificate_, partial_;
  std::optional<MetricChunks> chunks_;
  std::optional<MetricLetters> letters_;
  std::vector<MetricPoint> points_;  // of the chunk that is under way
  std::deque<Range> ranges_;         // of it, what is not decided yet
  Backoff backoff_;
  std::minstd_rand random_;
  int64_t next_ns_ = 0, saved_ns_ = 0;
  int broken_ = 0;  // answers in a row
  bool opened_ = false, judging_ = false, told_outage_ = false, told_setting_ = false, told_refused_ = false;
  bool dirty_ = false;
};

}  // namespace tacho
