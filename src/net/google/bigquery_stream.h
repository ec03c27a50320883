// Rows into one table: makes or reads the table first, adapts every row to it, sends batches within the limits, one
// request at a time, and does what the answer calls for: sends them again, in halves, without a culprit, later, or
// never (cromwell-bigquery.md §1.10, §2.3–2.5). step() makes at most one request and says when it wants to be called
// again, so that one thread can serve several tables. Rows keep their insertIds whatever happens. Not thread-safe.
//
// A program that may wait calls add() for up to a batch of rows and then flush().
#pragma once
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>

#include "base/backoff.h"
#include "net/google/bigquery.h"
#include "os/clock.h"

namespace tacho {

struct BqDropped {
  const BqRow& row;
  std::string reason, location, message;
  bool out_of_bounds = false;  // older than streaming takes: for a load job
};

// What the owner of a stream wants to hear; each may be empty.
struct BqEvents {
  std::function<void(const BqRow& row)> accepted;
  std::function<void(const BqDropped& dropped)> dropped;
  std::function<void(const std::string& kind, const std::string& text)> warn;  // for a person; the same kind may repeat
};

struct BqStep {
  enum class Kind { idle, wait, blocked } kind = Kind::idle;  // idle: no row is left
  int64_t wake_ns = 0;                                        // wait, blocked: on CLOCK_MONOTONIC
};

class BqStream {
 public:
  BqStream(BigQuery& client, BqTableSpec spec, BqEvents events, Clock& clock = system_clock());

  void add(BqRow row);
  size_t pending() const { return rows_.size(); }
  size_t pending_bytes() const { return bytes_; }

  // Does what is due. Even without a row it makes sure of the table once.
  BqStep step();
  // Steps and waits until nothing is pending (idle), it is blocked, or the deadline has come (wait).
  BqStep flush(int64_t deadline_ns);
  // Forgets the back-off, for a last chance, and keeps requests short from now on.
  void hurry();

  bool made_table() const { return made_ns_ != 0; }      // by this stream
  const std::string& reason() const { return reason_; }  // the last thing that went wrong, for a person
  int64_t accepted() const { return accepted_; }
  int64_t dropped() const { return dropped_; }

 private:
  static constexpr int64_t kRecheckMs = 300'000;  // before a table that cannot be used is looked at again
  enum class Phase { look, look_for_dataset, make_dataset, make_table, patch, confirm, ready };

  // Making sure of the table.
  BqStep ensure();
  BqStep look();
  BqStep look_for_dataset();
  BqStep make_dataset();
  BqStep make_table();
  BqStep patch();
  BqStep took_table();

  // Sending.
  BqStep send();
  size_t take_batch(std::string& body);
  std::optional<std::string> wire_form(size_t index);
  BqStep settle_rows(const BqVerdict& verdict, size_t count);
  BqStep all_stopped(size_t count, const BqVerdict& verdict);
  BqStep no_such_field();
  BqStep too_large(size_t count, const BqVerdict& verdict);
  BqStep halve(size_t count, const BqVerdict& verdict);
  void accept(size_t index);
  void drop(size_t index, const BqRowError& error, bool out_of_bounds = false);
  void erase(size_t index);

  // What an answer asks for.
  BqStep failed(const BqVerdict& verdict, const char* what);
  BqStep refused_token(const BqVerdict& verdict);
  BqStep blocked(const std::string& why, int64_t recheck_ms);
  BqStep wait_ms(int64_t ms);
  BqStep at_once() { return wait_ms(0); }
  void warn(const std::string& kind, const std::string& text);
  std::string name() const;
  bool with_added() const { return now_ns() >= without_added_until_ns_; }
  int64_t now_ns() const { return clock_.monotonic_ns(); }

  BigQuery& client_;
  BqTableSpec spec_;
  BqEvents events_;
  Clock& clock_;
  Phase phase_ = Phase::look;
  BqAdapter adapter_;
  BqTableInfo info_;
  std::deque<BqRow> rows_;
  size_t bytes_ = 0, cap_rows_, cap_bytes_ = kBqRequestBytes, batch_rows_;
  Backoff backoff_{1'000, 32'000}, quota_{10'000, 300'000};
  int64_t next_ns_ = 0, made_ns_ = 0, reread_at_ns_ = 0, without_added_until_ns_ = 0, accepted_ = 0, dropped_ = 0;
  int confirmed_ = 0, patches_ = 0, refusals_ = 0, stops_ = 0;
  bool gave_up_adding_ = false, dataset_unseen_ = false, reread_ = false, blocked_ = false, hurried_ = false;
  std::string reason_;
};

}  // namespace tacho
