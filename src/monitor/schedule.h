// When samples are taken and reports are sent (cromwell-bigquery.md 1.6, 1.8), on the monotonic clock. Pure; not
// thread-safe.
#pragma once
#include <cstdint>
#include <optional>

namespace tacho {

// start + n × interval, no drift; missed points are not made up for. The first sample comes a moment after the base, so
// that even a very short task has one.
class SampleGrid {
 public:
  SampleGrid(int64_t start_ns, int64_t interval_ns);
  int64_t next_ns() const { return next_ns_; }
  void taken(int64_t now_ns);  // one was: the next is the first point behind now

 private:
  int64_t start_ns_, interval_ns_, next_ns_;
};

// The first report comes after two seconds, the second one at a random time within an interval, so that thousands of
// machines that start at once do not report at once; then every interval. An interval that was set is kept from the
// start. After an event (the command's end, preemption) a report comes every second.
class ReportTimes {
 public:
  // random: 0 to 1.
  ReportTimes(int64_t start_ns, std::optional<int64_t> chosen_ns, int64_t default_ns, double random);
  int64_t interval_ns() const { return interval_ns_; }
  int64_t next_ns() const { return next_ns_; }
  void sent(int64_t now_ns);
  void hurry(int64_t now_ns);

 private:
  int64_t interval_ns_, next_ns_;
  double random_;  // of the first interval after the first report; below 0: over
};

}  // namespace tacho
