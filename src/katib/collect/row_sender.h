// Brings the rows of several streams into the database, each once: builds a chunk, writes down that it is on its way,
// sends it part by part on a thread of its own, writes down that it is acknowledged. A part that failed is sent again
// without limit, with pauses. A row that the database will never take is found by halving, and dropped when others were
// taken after it was refused and it is then refused once more: a database that takes nothing for hours loses nothing.
// Not thread-safe, never blocks.
#pragma once
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "base/backoff.h"
#include "base/units.h"
#include "katib/collect/collect_state.h"
#include "katib/collect/refusal.h"
#include "katib/collect/report_call.h"
#include "katib/read/arrival_marks.h"
#include "katib/read/reader.h"
#include "katib/read/worker.h"

namespace tacho {

// Pauses between attempts: 0.5 s doubling to 30 s, ±20 %.
class ReportPause {
 public:
  int64_t next_ns(bool longest);  // `longest`: at once the longest, for what will not change soon
  void reset() { pause_ns_.reset(); }

 private:
  DoublingPause pause_ns_{500 * kNsPerMs, 30 * kNsPerSec};
  std::minstd_rand random_{std::random_device{}()};
};

class RowSender {
 public:
  // Of one call. 5,000 rows and 1 MiB are allowed; fewer bytes need less memory, and the database takes them as fast.
  static constexpr size_t kMostRows = 5'000, kMostBytes = 1u << 19;
  // What is on its way is written down, with an fsync, once for so many calls where the service stores each report
  // once: calls that are made again after a restart double nothing there. Once for each call elsewhere.
  static constexpr size_t kMostCalls = 5;

  RowSender(std::string trial, ShapeRules rules, std::shared_ptr<DbCalls> calls, CollectState& state, StateFile& file);

  // In the order in which they are read. A stream that is closed is not read; the reader and marks live as long as
  // this.
  void add_stream(std::string name, Reader& reader, const ArrivalMarks* marks, bool open);
  void open_stream(std::string_view name);
  // Streams go on where the state says; a chunk that was on its way is made again. Call once, after the streams are
  // known.
  void resume();

  // How long one call may take: a call that was then given up may still take effect for about as long (refusal.h).
  void set_call_timeout(int64_t timeout_ns) { call_timeout_ns_ = timeout_ns; }
  // There is no time left to wait for calls that were given up, nor for the end of a pause.
  void hurry() {
    hurried_ = true;
    if (retry_ns_ != INT64_MAX) retry_ns_ = 0;
  }

  // Sends all rows there are, then rests. With `at_end` nothing more will be written: a last line without its end
  // counts.
  void flush(bool at_end);
  // The stream began anew: the chunk on its way is finished, then the stream is read from the beginning, unless its
  // reader has noticed that by itself and is there already. After delete_first() it is read from the beginning in any
  // case.
  void begin_anew(std::string_view name);
  // Delete the Trial's rows before anything else is sent.
  void delete_first() { delete_wanted_ = true; }

  // Goes on as far as it can now; call when fd() is readable, at deadline_ns() and after any of the above.
  void step(int64_t now_ns);
  int fd() const { return worker_.fd(); }
  int64_t deadline_ns() const { return worker_.busy() ? INT64_MAX : resting() ? release_ns_ : retry_ns_; }
  uint64_t calls() const { return calls_made_; }
  bool resting() const { return !flushing_ && !chunk_ && !delete_wanted_ && (!worker_.busy() || releasing_); }
  bool failing() const { return failures_ > 0; }
  // Why the rest of a source could not be read though nothing more is written; empty: it was read.
  const std::string& unreadable() const { return unreadable_; }
  const RpcStatus& last_status() const { return last_status_; }

 private:
  struct Stream {
    std::string name;
    Reader* reader;
    const ArrivalMarks* marks;
    bool open;
    bool anew = false;
    int own_restarts = 0;  // noticed by the reader before begin_anew() reported them
  };
  Stream* find(std::string_view name);
  bool build_chunk();
  bool fill(Stream& stream);
  void adopt(PendingChunk pending, RowBatch raw, bool in_doubt);
  size_t next_part() const;
  bool write_down(size_t count);
  void send(int64_t now_ns);
  void take_result(int64_t now_ns);
  bool look_first(int64_t now_ns);
  void take_look();
  bool second_look() const;
  size_t first_row() const;
  void note_stored(size_t first, size_t count);
  void acknowledge(size_t count);
  void failed(const ReportResult& result, int64_t now_ns);
  void refused(Fault fault, size_t count);
  void refused_again(const RpcStatus& status);
  void halve(size_t count);
  void tell_dropped(size_t number, const std::string& why);
  bool may_pass_over() const;
  int64_t retry_pause_ns();
  void finish_chunk();

  std::string trial_;
  ShapeRules rules_;
  std::shared_ptr<DbCalls> calls_;
  CollectState& state_;
  StateFile& file_;
  Worker worker_{"tacho-report"};
  std::shared_ptr<ReportResult> result_;
  std::vector<Stream> streams_;
  // The chunk on its way; its pending record is state_.pending.
  std::shared_ptr<const RowBatch> chunk_;
  size_t part_ = 0;       // rows of the call under way, or in doubt
  size_t doubt_end_ = 0;  // rows up to here may have been stored by the collector before
  LastTimes times_after_;
  bool in_doubt_ = false, flushing_ = false, at_end_ = false, delete_wanted_ = false, deleting_ = false;
  bool looking_ = false;  // what is there before the first rows of a metric
  std::shared_ptr<RowDigests> looked_;
  int64_t doubt_ns_ = 0, settle_ns_ = 0;  // since when a call is in doubt, and how long it may still be done
  int64_t call_timeout_ns_ = 60'000'000'000;
  bool hurried_ = false, halve_if_missing_ = false;
  size_t poison_end_ = 0,
         poison_limit_ = 0;  // rows up to poison_end_ are sent in parts of poison_limit_; 0: no such search
  int poison_failures_ = 0;
  bool proving_ = false;                 // the last of `skipped` is the row in question, and the next one tells
  bool proven_ = false;                  // rows were taken in this search: the service does take some
  bool others_refused_ = false;          // the row behind the one in question was not taken either
  bool searching_ = false;               // the last failure was of the rows, and the search goes on at once
  std::string read_fault_, unreadable_;  // of the last round of reading; for good
  int read_failures_ = 0;
  uint64_t failures_ = 0, calls_made_ = 0;
  int64_t retry_ns_ = INT64_MAX;
  int64_t release_ns_ = INT64_MAX;  // when an unused connection is closed
  bool releasing_ = false;
  ReportPause pause_;
  RpcStatus last_status_;
};

}  // namespace tacho
