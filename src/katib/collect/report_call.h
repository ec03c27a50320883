// One call to the DB manager with rows, and the question whether an earlier call without an answer was stored after
// all: the table has no unique key, so sending twice stores twice. One call is one INSERT: all of its rows are stored,
// or none. The stored rows are compared row by row with those from before and those sent, never counted: old rows of
// the Trial and rows of other writers may be among them. Thread-safe as far as DbCalls is.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>

#include "katib/collect/row_digest.h"
#include "katib/rpc/clients.h"

namespace tacho {

// The service as the collector uses it; a seam for tests.
class DbCalls {
 public:
  virtual ~DbCalls() = default;
  // `id` is the same for the same rows, however often they are sent.
  virtual RpcStatus report(const std::string& trial, const RowPart& rows, const std::string& id) = 0;
  virtual RpcStatus get(const std::string& trial, const std::string& metric, const DbClient::Visit& visit) = 0;
  virtual RpcStatus remove(const std::string& trial) = 0;
  virtual RpcStatus healthy() = 0;
  virtual RpcStatus set_trial_status(const std::string& trial) = 0;
  // The service stores each id once: sending again doubles nothing.
  virtual bool knows_ids() const { return false; }
  // No call for a while: closes connections, and with them gRPC's threads and timers.
  virtual void rest() {}
};
// By gRPC; connections are made at the first call, so that a collector starts fast and small.
std::shared_ptr<DbCalls> make_db_calls(const RpcOptions& db, const RpcOptions& early_stopping);

// By metric: what is in the database.
using RowDigests = std::map<std::string, RowDigest, std::less<>>;

struct ReportCall {
  std::string trial;
  std::shared_ptr<const RowBatch> rows;
  size_t first = 0, count = 0;
  std::string id;
  bool in_doubt = false;  // may have been stored by an earlier call
  bool may_send = true;   // false: only look
  RowDigests before;      // in doubt: what was there before these
};

struct ReportResult {
  RpcStatus status;
  bool was_stored = false;   // by the earlier call
  bool was_missing = false;  // in doubt, and not stored by the earlier call
  bool only_looked = false;  // it is not there, and was not sent
  bool asked = false;        // the status is of the question, not of the rows
  bool serving = false;      // after a refusal: the service is well, so the rows may be what it refuses
};

ReportResult perform(DbCalls& calls, const ReportCall& call);

// What is in the database before the first row of these metrics is sent: rows of an earlier attempt whose state is
// gone.
RpcStatus look_before(DbCalls& calls, const std::string& trial, std::span<const std::string> metrics, RowDigests& out);

// Whether a call in doubt was stored, by all rows of one metric in the database.
//  - A row of the call that is not there at all, at its time within a microsecond: not stored.
//  - A bucket of the digest that holds just what it held before: not stored; that and just what was sent: stored.
//  - Rows of others in every bucket: stored if a row is there that is newer than any before; fewer rows than it must
//  be: not stored.
//  - Otherwise others write the very same rows at the very same times, and nobody can tell.
class StoredCheck {
 public:
  enum class Verdict { stored, not_stored, unclear };
  // `sent`: the rows of one metric in the call, which must outlive this; `before`: null when that is not known.
  StoredCheck(std::span<const MetricRow> sent, const RowDigest* before);
  void see(const MetricRow& in_db);  // all rows of the metric, in any order
  Verdict verdict() const;

 private:
  std::multimap<std::string_view, int64_t> missing_;  // value and time of what was sent and not seen
  const RowDigest* before_;
  RowDigest both_, seen_;  // before and sent; in the database
  bool any_newer_ = false;
};

}  // namespace tacho
